"""A git diff → the files it touches and the runs of lines it changes.

Extraction stands on this page, so it is strict: a hunk shorter or longer than its header says, a hunk without a file, a
combined diff or a path that cannot be told is an error with its line number, never a guess. It is also complete: pure
renames, deletions, mode changes, binary files and submodules are listed though they have no hunks. One pass over the
lines; those of a hunk are kept as they stand, because the text of the old lines proves a range later.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from evergold.extract.diff_header import Header, bad_diff, begins_plain_file, read_header, read_plain_header
from evergold.repo.quoting import path_text

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_COMBINED = (b"diff --cc ", b"diff --combined ", b"@@@ ")
_SUBMODULE = re.compile(rb"Submodule (.+?) (?:[0-9a-f]+\.{2,3}[0-9a-f]+|contains )")
_SIGNS = (b" ", b"+", b"-", b"\\", b"\r", b"")
SUBMODULE_MODE = "160000"


class ChangeType(StrEnum):
    MODIFIED = "modified"
    ADDED = "added"
    DELETED = "deleted"
    RENAMED = "renamed"
    COPIED = "copied"
    MODE = "mode"


class Change(NamedTuple):
    """A run of removed and added lines with no unchanged line between them.

    `old_line` is the first removed line or, with none removed, the old line the added ones come before; `new_line` likewise.
    """

    old_line: int
    removed: int
    new_line: int
    added: int


class Hunk(NamedTuple):
    """`body` holds the lines of the hunk as they stand in the diff, each with its sign."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    changes: list[Change]
    body: list[bytes]

    @property
    def has_context(self) -> bool:
        """Whether unchanged lines are shown: then a change at the end of the hunk is one at the end of the file."""
        return sum(change.removed for change in self.changes) < self.old_count

    def old_lines(self) -> list[bytes]:
        """The old side of the hunk as it stands in the file, line ends included."""
        return self._side(b"-")

    def new_lines(self) -> list[bytes]:
        return self._side(b"+")

    def _side(self, sign: bytes) -> list[bytes]:
        kept: list[bytes] = []
        ours = False
        for line in self.body:
            if line.startswith(b"\\"):
                if ours:
                    kept[-1] = kept[-1][:-1]
                continue
            bare = not line or line.startswith(b"\r")
            ours = bare or line.startswith((sign, b" "))
            if ours:
                kept.append((line if bare else line[1:]) + b"\n")
        return kept


@dataclass(slots=True)
class FileDiff:
    """One file of a diff. A path is None on the side where the file does not exist."""

    old_path: str | None
    new_path: str | None
    type: ChangeType
    old_blob: str | None = None
    new_blob: str | None = None
    old_mode: str | None = None
    new_mode: str | None = None
    binary: bool = False
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def submodule(self) -> bool:
        return SUBMODULE_MODE in (self.old_mode, self.new_mode)

    @property
    def path(self) -> str:
        """The path at base, or the new one of a file that base does not have."""
        return self.old_path or self.new_path or ""


def parse_diff(diff: bytes | str) -> list[FileDiff]:
    """Every file of the diff, in its order. Raises BadInput, naming the line, for what is not a whole plain diff."""
    data = diff.encode("utf-8", "surrogatepass") if isinstance(diff, str) else diff
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    files: list[FileDiff] = []
    at, end = 0, len(lines)
    while at < end:
        line = lines[at]
        if line.startswith(b"diff --git "):
            header, at = read_header(lines, at)
            at = _add_file(files, header, lines, at)
        elif line.startswith(b"--- ") and begins_plain_file(lines, at):
            at = _add_file(files, read_plain_header(lines, at), lines, at + 2)
        else:
            _look_between_files(files, line, at)
            at += 1
    return files


def _look_between_files(files: list[FileDiff], line: bytes, at: int) -> None:
    """A line outside every file: a message or nothing, a submodule's log, or a sign that this is no plain diff."""
    if line.startswith(b"@@ -"):
        raise bad_diff(at, "a hunk stands before any file name; give the whole diff")
    if line.startswith(_COMBINED):
        raise bad_diff(
            at,
            "a combined diff of a merge has no single base side; make it against the first parent "
            "(git diff COMMIT^1 COMMIT)",
        )
    if submodule := _SUBMODULE.match(line):
        path = path_text(submodule[1])
        files.append(FileDiff(path, path, ChangeType.MODIFIED, new_mode=SUBMODULE_MODE))


def _add_file(files: list[FileDiff], header: Header, lines: list[bytes], at: int) -> int:
    """Read the hunks that follow a header; returns the line after them."""
    hunks: list[Hunk] = []
    end = len(lines)
    while at < end and lines[at].startswith(b"@@ -"):
        hunk, at = _read_hunk(lines, at, header)
        hunks.append(hunk)
    if hunks and at < end and _is_stray(lines, at):
        raise bad_diff(at, f"{header.name} has more lines than its hunk header says")
    if header.needs_hunks and not hunks:
        raise bad_diff(at - 1, f"{header.name} has file names but no hunk; the diff is cut off")
    old_path, new_path = header.paths()
    files.append(
        FileDiff(
            old_path,
            new_path,
            _change_type(header, old_path, new_path, bool(hunks)),
            header.old_blob,
            header.new_blob,
            header.old_mode,
            header.new_mode,
            header.binary,
            hunks,
        )
    )
    return at


def _read_hunk(lines: list[bytes], at: int, header: Header, end: int | None = None) -> tuple[Hunk, int]:
    """The hunk whose header stands at `at`, and the line after it.

    This loop is where the time of a large diff goes: hence the plain numbers, no call and one count per line. It reads on while
    lines look like the hunk's, and a hunk is nearly always followed by one that does not; where it read too far
    (an empty line, a signature, the `---` of a plain diff), it is read once more up to its exact `end`.
    """
    match = _HUNK.match(lines[at])
    if match is None:
        raise bad_diff(at, f"the hunk header of {header.name} is not of the form '@@ -a,b +c,d @@'")
    old_start, old_count, new_start, new_count = map(int, match.groups(b"1"))
    old_line, new_line = old_start + (not old_count), new_start + (not new_count)
    old_end, new_end = old_line + old_count, new_line + new_count
    begin = at + 1
    same = minus = plus = remarks = 0
    changes: list[Change] = []
    for line in lines[begin : end or begin + old_count + new_count + 2]:
        sign = line[0] if line else 32
        if sign == 32 or sign == 13:  # a space, or a carriage return that lost it
            if minus or plus:
                changes.append(Change(old_line + same, minus, new_line + same, plus))
                old_line += minus
                new_line += plus
                minus = plus = 0
            same += 1
        elif sign == 43:  # +
            plus += 1
        elif sign == 45:  # -
            minus += 1
        elif sign == 92:  # a backslash begins a remark about the line before it
            remarks += 1
        else:
            break
    if minus or plus:
        changes.append(Change(old_line + same, minus, new_line + same, plus))
    if old_line + same + minus != old_end or new_line + same + plus != new_end:
        if end is None:
            return _read_hunk(lines, at, header, _end_of_hunk(lines, begin, old_count, new_count))
        raise bad_diff(end - 1, f"the lines of {header.name} do not add up to its hunk header; is the diff cut off?")
    after = begin + sum(change.removed + change.added for change in changes) + same + remarks
    return Hunk(old_start, old_count, new_start, new_count, changes, lines[begin:after]), after


def _end_of_hunk(lines: list[bytes], at: int, old_left: int, new_left: int) -> int:
    """The line after the last one both sides of the hunk can hold."""
    while at < len(lines) and (old_left > 0 or new_left > 0):
        sign = lines[at][:1]
        if sign not in _SIGNS:
            break
        old_left -= sign not in (b"+", b"\\")
        new_left -= sign not in (b"-", b"\\")
        at += 1
    return at + (lines[at : at + 1] != [] and lines[at].startswith(b"\\"))


def _is_stray(lines: list[bytes], at: int) -> bool:
    """Whether the line after a hunk can only be a line of the hunk. `-- ` begins a mail signature."""
    line = lines[at]
    if line.startswith((b"+", b" ", b"\\")):
        return True
    return line.startswith(b"-") and line.rstrip() != b"--" and not begins_plain_file(lines, at)


def _change_type(header: Header, old_path: str | None, new_path: str | None, has_hunks: bool) -> ChangeType:
    if old_path is None:
        return ChangeType.ADDED
    if new_path is None:
        return ChangeType.DELETED
    if header.copied:
        return ChangeType.COPIED
    if header.renamed:
        return ChangeType.RENAMED
    mode_only = header.old_mode != header.new_mode and not has_hunks and not header.binary
    return ChangeType.MODE if mode_only else ChangeType.MODIFIED
