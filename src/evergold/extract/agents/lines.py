"""Map what an agent was shown of files to lines of the base commit, and collect it for one commit's part of a session.

Code repeats itself: braces, blank lines, `return nil`. So equal runs of lines count (`align`) where a line of them stands once in
both texts, or between two such runs.

A file of the work tree (`WorkFile`) is its lines and, beside each, its number at base (0 for none). An edit takes
lines out and puts lines in; those that came have no line at base, those below moved but are the same. Changes nobody
saw (a formatter, a person, another agent) show when the file is next seen whole: the two are aligned, and what is
equal keeps its number.

The text a tool printed is the witness (`seen_of`). Where it agrees with the file as the session's edits have left it,
a line is what that file says it is. Where it does not, something happened unseen: the text is looked for in the file
and then in the base itself. A line that is found nowhere, or that was written during the session, is no line of base
and is counted instead.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import takewhile
from operator import eq
from typing import Any, NamedTuple

from evergold.extract.agents.events import (
    Changed,
    Event,
    FileRef,
    Lines,
    LineSpan,
    Looked,
    Moved,
    Replacement,
    text_lines,
)
from evergold.extract.agents.session import Boundary, Checkouts, Session
from evergold.extract.ranges import Span, merge
from evergold.model.flow import Flow
from evergold.repo.git import Repo


def align(texts: Sequence[str], base: Sequence[str], whole: bool = False) -> list[int]:
    """For each line of `texts` the number (from 1) of its line in `base`; 0 where it has none.

    `whole` says that both are complete files, so that their beginnings and ends belong together.
    """
    result = [0] * len(texts)
    blocks = SequenceMatcher(None, texts, base).get_matching_blocks()[:-1]
    if not whole:
        ours, theirs = Counter(texts), Counter(base)
        # Blank lines are no anchors even where there is only one: their text says nothing.
        once = {line for line in ours if ours[line] == 1 == theirs[line] and line.strip()}
        sure = [at for at, block in enumerate(blocks) if not once.isdisjoint(texts[block.a : block.a + block.size])]
        # Outside the first and the last anchor there is no known neighbour, so equal lines prove nothing.
        blocks = blocks[sure[0] : sure[-1] + 1] if sure else []
    for block in blocks:
        result[block.a : block.a + block.size] = range(block.b + 1, block.b + block.size + 1)
    return result


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
        known = align(lines, self.lines, whole=True)
        self.origin = [self.origin[number - 1] if number else 0 for number in known]
        self.lines = list(lines)

    def change(self, change: Changed) -> bool:
        """Take an edit in; False where its place could not be found, so that the file is another one than we think."""
        # The content before the edit corrects what changed unseen since the last look.
        if change.before is not None:
            self.see(_clean(change.before))
        if change.after is not None:
            self.see(_clean(change.after))
            return True
        for patch in change.patches:
            # A patch that does not fit means that the file is not the one we think; it would shift every line below.
            if patch.start - 1 + patch.removed > len(self.lines):
                return False
            self.splice(patch.start, patch.removed, [line.rstrip("\r") for line in patch.added])
        # All are tried, also after one that has no place.
        applied = [self._replace(replacement) for replacement in change.replacements]
        return bool(change.patches) or all(applied)

    def _replace(self, replacement: Replacement) -> bool:
        """The lines a text stands in, without those that stay as they are at its two ends."""
        text = "\n".join(self.lines) + "\n"
        old, new = replacement.old.replace("\r\n", "\n"), replacement.new.replace("\r\n", "\n")
        # Codex names a line (`@@ def f`) that the change stands behind; without it the whole file is searched.
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
        before = text_lines(text[begin:finish] + "\n")
        after = text_lines(text[begin:at] + new + text[at + len(old) : finish] + "\n")
        # Whole lines that vanish leave no empty line behind.
        if old.endswith("\n") and not new and at == begin:
            finish = at + len(old)
            before, after = text_lines(text[begin:finish]), []
        # Lines that are the same on both sides keep their number at base.
        head = len([*takewhile(bool, map(eq, before, after))])
        tail = len([*takewhile(bool, map(eq, reversed(before[head:]), reversed(after[head:])))])
        start = text.count("\n", 0, begin) + 1 + head
        self.splice(start, len(before) - head - tail, after[head : len(after) - tail])


def _clean(text: str) -> Lines:
    lines = text_lines(text) if text else []
    return [line.rstrip("\r") for line in lines] if "\r" in text else lines


# Below this share the file differs in more than a line or two from what the numbers refer to.
TRUSTED_SHARE = 0.8


class Seen(NamedTuple):
    """Numbers at position, in order of the file; lines written during the session; lines whose text is nowhere."""

    at_base: list[int]
    new: int = 0
    unproved: int = 0


def seen_of(look: Looked, file: WorkFile) -> Seen:
    """The base lines a look showed."""
    if look.numbered:
        # Numbers are believed where most of the text stands there; otherwise the text decides.
        numbered = look.numbered
        first, last = next(iter(numbered)), next(reversed(numbered))
        if last - first + 1 == len(numbered) and list(numbered.values()) == file.lines[first - 1 : last]:
            # Lines in order, exactly as they stand in the file: nothing is left to decide.
            origins = file.origin[first - 1 : last]
            if 0 not in origins:
                return Seen(origins)
        _learn(numbered, file)
        # Blank lines agree nearly everywhere; only lines with text are counted as witnesses.
        telling = [number for number in numbered if numbered[number].strip()] or list(numbered)
        right = sum(_is_line(file, number, numbered[number]) for number in telling)
        trusted = right >= TRUSTED_SHARE * len(telling)
        in_order = sorted(numbered.items())
        positions = [number if trusted and _is_line(file, number, text) else 0 for number, text in in_order]
        return _resolve([text.strip() for _, text in in_order], positions, file)
    if look.shown is None:
        return Seen([])
    shown = [line.strip() for line in look.shown]
    if look.span is not None and (printed := _match_span(look.span, shown, file)):
        return printed
    # Text without a number may belong to another file that was printed too, so what is unproved is not counted.
    return _resolve(shown, [0] * len(shown), file)._replace(unproved=0)


def _learn(numbered: dict[int, str], file: WorkFile) -> None:
    """A file that was shown from its first line to beyond its last is known whole."""
    count = len(numbered)
    if count >= len(file.lines) > 0 and 1 in numbered and max(numbered) == count:
        lines = [numbered[number].rstrip("\r") for number in range(1, count + 1)]
        # Some tools number one empty line more than the file has: what stands behind its last line end.
        file.see(lines[:-1] if lines[-1] == "" and count == len(file.lines) + 1 else lines)


def _is_line(file: WorkFile, number: int, text: str) -> bool:
    return number <= len(file.lines) and file.lines[number - 1].rstrip() == text.rstrip()


def _resolve(texts: Lines, positions: list[int], file: WorkFile) -> Seen:
    """Lines with a known position in the file keep it; the others are looked for in the file, then at base."""
    at_base: list[int] = []
    new = unproved = 0
    missing = [at for at, position in enumerate(positions) if not position]
    if missing:
        result = align(texts, [line.strip() for line in file.lines])
        positions = [position or other for position, other in zip(positions, result, strict=True)]
    origins = [file.origin[position - 1] if position else 0 for position in positions]
    if not all(positions):
        result = align(texts, [line.strip() for line in file.base])
        origins = [
            # A line that is known in the file and has no origin was written in the session: base is not asked for it.
            origin or (0 if position else other)
            for origin, position, other in zip(origins, positions, result, strict=True)
        ]
    for text, position, origin in zip(texts, positions, origins, strict=True):
        if origin:
            at_base.append(origin)
        # Blank lines are neither new nor unproved: their text says nothing about where they come from.
        elif text:
            new += bool(position)
            unproved += not position
    return Seen(sorted(set(at_base)), new, unproved)


def _match_span(span: LineSpan, shown: Lines, file: WorkFile) -> Seen | None:
    """Of the lines that were asked for, those that were printed; None where the text has to tell."""
    count = len(file.lines)
    first = span.first if span.first > 0 else max(1, count + span.first + 1)
    last = min(span.last or count, count)
    wanted = [line.strip() for line in file.lines[first - 1 : last]]
    # The exact comparison first: it is the common case, and alignment costs far more.
    printed = [1] * len(wanted) if wanted == shown[: len(wanted)] else align(wanted, shown)
    hits = [first + at for at, position in enumerate(printed) if position]
    # Less than half arrived: the numbers refer to another state of the file.
    if wanted and len(hits) * 2 < len(wanted):
        return None
    origins = [file.origin[number - 1] for number in hits]
    return Seen([origin for origin in origins if origin], new=origins.count(0))


OUTSIDE, NOT_AT_BASE = "paths outside the repository", "paths that base does not have"
NEW_LINES, UNPROVED, LOOSE = "lines written in the session", "lines found nowhere at base", "edits without a place"


@dataclass
class Shown:
    """One path, with the spans of base lines that were shown of it; none: only the path was seen. `written`: the agent
    wrote them itself, before the commit that is base."""

    path: str
    spans: list[Span]
    asked: bool
    result: bool
    written: bool = False


@dataclass
class DraftPart:
    """What one session did for one commit, the number `at` of the session; `flow` is the session's head."""

    flow: Flow
    at: int
    boundary: Boundary
    began: datetime
    requests: list[str]
    shown: list[Shown] = field(default_factory=list)
    edited: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    calls: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class BaseTree:
    """The files of a base commit. `renamed` maps the new names a case gives to the old ones base has."""

    repo: Repo
    commit: str
    renamed: dict[str, str]

    def find(self, path: str) -> tuple[str | None, Lines]:
        """Find a file at base: its path there (None where it has none) and its lines."""
        # The path itself first: a file of the old name may exist beside the renamed one.
        for name in (path, self.renamed.get(path)):
            if name and (result := self.repo.objects.read_at(self.commit, name)) and result.kind == "blob":
                return name, _blob_lines(self.repo, result.id)
        return None, []


# Files are read once for many cases: successive commits share nearly all of their blobs.
@lru_cache(maxsize=512)
def _blob_lines(repo: Repo, blob: str) -> Lines:
    return _clean(repo.objects.read(blob).decode("utf-8", "replace"))


class PartReader:
    """Walks the steps of a segment, keeping each file as its edits leave it."""

    def __init__(self, checkouts: Checkouts, tree: BaseTree) -> None:
        self._checkouts, self._tree = checkouts, tree
        self._files: dict[tuple[str, str], tuple[str | None, WorkFile]] = {}

    def fill(self, part: DraftPart, session: Session, first: int, remembered: set[str]) -> None:
        """Take in the steps from `first` on, after those before them that showed files of `remembered`, which the agent
        still knew."""
        if first > 0 and remembered:
            # A reader of its own: what the agent knew before must not move the line numbers of this part.
            earlier = PartReader(self._checkouts, self._tree)
            known = earlier._walk(session, range(first), Counter(), remembered)
            part.shown += [shown for shown in known if shown.spans]
        part.shown += self._walk(session, range(first, part.boundary.index + 1), part.counts)
        part.edited = session.edited_paths(self._checkouts, part.boundary.index)

    def _walk(
        self, session: Session, steps: range, counts: Counter[str], only: set[str] | None = None
    ) -> Iterator[Shown]:
        """What steps showed. With `only`, of those files alone, and no edit is followed: the text has to tell."""
        for at in steps:
            for event in session.steps[at].events:
                if only is not None:
                    yield from self._recall(event, only)
                elif isinstance(event, Looked):
                    yield from self._look(event, counts)
                elif isinstance(event, Changed):
                    if (opened := self._open(event.ref)) and not opened[1].change(event):
                        counts[LOOSE] += 1
                elif isinstance(event, Moved) and self._open(event.old):
                    old, new = self._checkouts.locate(*event.old), self._checkouts.locate(*event.new)
                    if old and new:
                        self._files[new] = self._files.pop(old)

    def _recall(self, event: Event, only: set[str]) -> Iterator[Shown]:
        """What an earlier step showed of a file, or wrote into it: both are lines the agent knew when it came back."""
        if not isinstance(event, Looked | Changed):
            return
        located = self._checkouts.locate(*event.ref)
        if located is None or self._tree.renamed.get(located[1], located[1]) not in only:
            return
        if isinstance(event, Looked):
            yield from self._look(event, Counter())
        elif written := event.written_lines():
            for shown in self._look(Looked(event.ref, shown=written), Counter()):
                yield replace(shown, asked=True, result=False, written=True)

    def _look(self, look: Looked, counts: Counter[str]) -> Iterator[Shown]:
        opened = self._open(look.ref)
        if opened is None:
            counts[OUTSIDE] += 1
            return
        name, file = opened
        if name is None:
            counts[NOT_AT_BASE] += 1
            return
        seen = seen_of(look, file)
        counts[NEW_LINES] += seen.new
        counts[UNPROVED] += seen.unproved
        result = bool(seen.at_base)
        # A lookup by text that matched nothing may have matched another file; it proves no path.
        lookup = look.shown is not None and look.span is None and not look.asked
        if result or not lookup:
            spans = merge((number, number) for number in seen.at_base)
            yield Shown(name, spans, look.asked, result=result or not look.asked)

    def _open(self, ref: FileRef) -> tuple[str | None, WorkFile] | None:
        located = self._checkouts.locate(*ref)
        if located is None:
            return None
        if located not in self._files:
            # A file that base lacks is followed as well: later edits of it must not look like edits without a position.
            name, lines = self._tree.find(located[1])
            self._files[located] = (name, WorkFile(lines))
        return self._files[located]
