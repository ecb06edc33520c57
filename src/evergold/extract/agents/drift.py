"""A file of the work tree while an agent edits it, each of its lines knowing which line of the base commit it is.

An edit takes lines out and puts lines in. Those that came have no line at base; those below moved but are the same. So a
file is its lines and, beside each, its number at base (0 for none), and an edit changes both alike. Changes nobody saw
(a formatter, a person, another agent) show when the file is next seen whole: the two are aligned, and what is equal keeps
its number.
"""

from collections.abc import Iterable, Sequence

from evergold.extract.agents.alignment import align
from evergold.extract.agents.events import Changed, Lines, Patch, Replacement, text_lines


class WorkFile:
    """`lines` and `origin` are replaced, never changed in place: whoever kept them keeps what was true then."""

    def __init__(self, base: Iterable[str]) -> None:
        self.base: Sequence[str] = list(base)
        self.lines: Lines = list(self.base)
        self.origin: list[int] = list(range(1, len(self.lines) + 1))

    def splice(self, start: int, removed: int, added: Lines) -> None:
        """From line `start` on, `removed` lines are replaced by others."""
        # A patch of a file that differs from what is known may point beyond its end; the nearest position is taken.
        at = min(max(start - 1, 0), len(self.lines))
        end = min(at + removed, len(self.lines))
        self.lines = [*self.lines[:at], *added, *self.lines[end:]]
        self.origin = [*self.origin[:at], *([0] * len(added)), *self.origin[end:]]

    def see(self, lines: Lines) -> None:
        """The file as it really is. What differs from what was known of it changed unseen."""
        if lines == self.lines:
            return
        base_numbers = align(lines, self.lines, whole=True)
        self.origin = [self.origin[number_at_base - 1] if number_at_base else 0 for number_at_base in base_numbers]
        self.lines = list(lines)

    def change(self, change: Changed) -> bool:
        """Take an edit in; False where its place could not be found, so that the file is another one than we think."""
        # The content before the edit corrects what changed unseen since the last look.
        if change.before is not None:
            self.see(_clean(change.before))
        if change.after is not None:
            self.see(_clean(change.after))
            return True
        if change.patches:
            return self._patch(change.patches)
        applied = [self._replace(replacement) for replacement in change.replacements]
        return all(applied)

    def _patch(self, patches: Iterable[Patch]) -> bool:
        for patch in patches:
            # A patch that does not fit means that the file is not the
            # one we think; applying it would shift every line below.
            if patch.start - 1 + patch.removed > len(self.lines):
                return False
            self.splice(patch.start, patch.removed, [line.rstrip("\r") for line in patch.added])
        return True

    def _replace(self, replacement: Replacement) -> bool:
        """The lines a text stands in, without those that stay as they are at its two ends."""
        text = "\n".join(self.lines) + "\n"
        old, new = replacement.old.replace("\r\n", "\n"), replacement.new.replace("\r\n", "\n")
        # Codex names a line (`@@ def f`) that the change stands
        # behind; a hint that is missing falls back to the whole file.
        hinted = text.find(replacement.hint) if replacement.hint else 0
        at = text.find(old, max(hinted, 0))
        at = text.find(old) if at < 0 else at
        # An empty old text is an insertion into an empty file; in any other file its position is unknown.
        if at < 0 or (not old and self.lines):
            return False
        while at >= 0:
            self._replace_at(text, at, old, new)
            if not replacement.everywhere or not old:
                return True
            text = "\n".join(self.lines) + "\n"
            # The search goes on behind the new text, which may contain the old one.
            at = text.find(old, at + len(new))
        return True

    def _replace_at(self, text: str, at: int, old: str, new: str) -> None:
        begin = text.rfind("\n", 0, at) + 1
        finish = text.find("\n", at + len(old))
        finish = len(text) if finish < 0 else finish
        before, after = (
            text_lines(text[begin:finish] + "\n"),
            text_lines(text[begin:at] + new + text[at + len(old) : finish] + "\n"),
        )
        # Whole lines that vanish leave no empty line behind.
        if old.endswith("\n") and not new and at == begin:
            finish = at + len(old)
            before, after = text_lines(text[begin:finish]), []
        # Lines that are the same on both sides keep their number at base.
        head = 0
        while head < min(len(before), len(after)) and before[head] == after[head]:
            head += 1
        tail = 0
        while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
            tail += 1
        start = text.count("\n", 0, begin) + 1 + head
        self.splice(start, len(before) - head - tail, after[head : len(after) - tail])


def _clean(text: str) -> Lines:
    return [line.rstrip("\r") for line in text_lines(text)] if text else []
