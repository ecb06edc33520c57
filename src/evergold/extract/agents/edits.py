"""What a session wrote into files, line by line, and which commits hold it: work is bound to commits by its content.

A squash, a rebase or a deleted branch leaves neither the ids nor the subjects a log remembers, and a commit of the same
minute may be somebody else's. The lines an agent wrote are still in the commit that its work became. A commit holds the
edits of a session where, in one of its files, half of what it adds was written there, or half of what was written
there is added: work of several sessions may be one commit, and that of one session several.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from evergold.extract.agents.events import Changed, Moved, text_lines
from evergold.extract.diff import FileDiff
from evergold.extract.ranges import paths_of

# Lines that stand in every file say nothing of who wrote them.
_EVERYWHERE = frozenset(
    ("else:", "else", "try:", "try {", "finally:", "pass", "return", "return;", "break", "break;", "end", "done")
)
_SIGNS = re.compile(r"\w")

OwnLine = tuple[str, str]  # a path, and the text of a line without the space around it


class Written(NamedTuple):
    """When a line was written; `new`: the log shows that the file did not have it before."""

    step: int
    time: datetime
    new: bool


class FileLines(NamedTuple):
    """The telling lines a commit adds to a file, and those it takes out where it adds none."""

    added: frozenset[str]
    removed: frozenset[str]


def telling_lines(lines: Iterable[str]) -> frozenset[str]:
    """The lines that say something, without the space around them."""
    return frozenset(
        text for line in lines if len(_SIGNS.findall(text := line.strip())) > 1 and text not in _EVERYWHERE
    )


def lines_of_commit(files: Iterable[FileDiff]) -> dict[str, FileLines]:
    """The telling lines of a commit by path; a file whose text is not known has none."""
    results: dict[str, FileLines] = {}
    for file in files:
        new = (line for hunk in file.hunks for line in hunk.new_lines())
        old = (line for hunk in file.hunks for line in hunk.old_lines())
        added, removed = (telling_lines(line.decode("utf-8", "replace") for line in side) for side in (new, old))
        # A session may have known a file that was renamed since by either name.
        results |= dict.fromkeys(paths_of(file), FileLines(added, frozenset() if added else removed))
    return results


class Edits:
    """The lines of a session by path, as its last edit left them; `unseen`: paths it changed in a way the log does not show."""

    def __init__(self) -> None:
        self.written: dict[str, dict[str, Written]] = {}
        self.removed: dict[str, dict[str, Written]] = {}
        self.unseen: dict[str, int] = {}

    def paths(self, held: Container[OwnLine] = ()) -> set[str]:
        """The paths of lines that are not `held` by a commit which is known."""
        sides = (self.written, self.removed)
        return {path for side in sides for path in side if any((path, line) not in held for line in side[path])}

    def add(self, path: str, event: Changed | Moved, step: int, time: datetime) -> None:
        for old, new, known in _sides(event):
            gone, came = old - new, new - old
            lines = self.written.setdefault(path, {})
            for line in gone:
                lines.pop(line, None)
            lines |= dict.fromkeys(came, Written(step, time, known))
            # A line that was replaced is no sign: somebody else may have replaced it by another one.
            if gone and not came:
                self.removed.setdefault(path, {}).update(dict.fromkeys(gone, Written(step, time, known)))
        if isinstance(event, Moved) or not (event.replacements or event.patches or event.after is not None):
            self.unseen[path] = step

    def find_own(self, commit: Mapping[str, FileLines], held: Container[OwnLine] = ()) -> dict[OwnLine, Written]:
        """The lines of a commit that this session wrote or took out; none where too few are to be more than chance."""
        own: dict[OwnLine, Written] = {}
        for path, theirs in commit.items():
            for mine, wanted in ((self.written, theirs.added), (self.removed, theirs.removed)):
                lines = {line: at for line, at in mine.get(path, {}).items() if (path, line) not in held}
                both = lines.keys() & wanted
                if both and 2 * len(both) >= min(len(lines), len(wanted)):
                    own |= {(path, line): lines[line] for line in both}
        return own


def _sides(event: Changed | Moved) -> Iterator[tuple[frozenset[str], frozenset[str], bool]]:
    """The old and the new telling lines of each part of a change, and whether the old ones are known."""
    if isinstance(event, Moved):
        return
    for replacement in event.replacements:
        yield telling_lines(text_lines(replacement.old)), telling_lines(text_lines(replacement.new)), True
    yield from ((frozenset(), telling_lines(patch.added), True) for patch in event.patches)
    if event.after is not None:
        before = telling_lines(text_lines(event.before)) if event.before is not None else frozenset[str]()
        yield before, telling_lines(text_lines(event.after)), event.before is not None
