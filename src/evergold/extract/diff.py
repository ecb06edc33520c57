"""A git diff → the files it touches and the runs of lines it changes.

Extraction stands on this page, so it is strict: a hunk shorter or longer than its header says, a hunk without a file, a
combined diff or a path that cannot be told is an error with its line number, never a guess. It is also complete: pure
renames, deletions, mode changes, binary files and submodules are listed though they have no hunks. One pass over the
lines; those of a hunk are kept as they stand, because the text of the old lines proves a range later.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from operator import itemgetter
from typing import NamedTuple

from evergold.extract.diff_header import Header, bad_diff, begins_plain_file, read_header, read_plain_header
from evergold.repo.quoting import path_text

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_COMBINED = (b"diff --cc ", b"diff --combined ", b"@@@ ")
_SUBMODULE = re.compile(rb"Submodule (.+?) (?:[0-9a-f]+\.{2,3}[0-9a-f]+|contains )")
_SIGNS = (b" ", b"+", b"-", b"\\")
_BODY = re.compile(rb"[ +\-\\]*")
_RUNS = re.compile(rb"([ \\]*)([+\-][+\-\\]*)")
_SPACE = 32
_first_byte = itemgetter(0)
_made = tuple.__new__  # a named tuple without the detour over its keyword arguments
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


class _Text(NamedTuple):
    """The lines of a diff, and the first byte of each in one string: in that, a hunk is a run of four signs, and what
    changed is found at the speed of a search instead of line by line."""

    lines: list[bytes]
    signs: bytes

    @classmethod
    def of(cls, data: bytes) -> "_Text":
        lines = data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        try:
            signs = bytes(map(_first_byte, lines))
        except IndexError:  # an empty line: an unchanged one that lost its space, or one between files
            signs = bytes([line[0] if line else _SPACE for line in lines])
        return cls(lines, signs.replace(b"\r", b" "))


def parse_diff(diff: bytes | str) -> list[FileDiff]:
    """Every file of the diff, in its order. Raises BadInput, naming the line, for what is not a whole plain diff."""
    text = _Text.of(diff.encode("utf-8", "surrogatepass") if isinstance(diff, str) else diff)
    lines = text.lines
    files: list[FileDiff] = []
    at, end = 0, len(lines)
    while at < end:
        line = lines[at]
        if line.startswith(b"diff --git "):
            header, at = read_header(lines, at)
            at = _add_file(files, header, text, at)
        elif line.startswith(b"--- ") and begins_plain_file(lines, at):
            at = _add_file(files, read_plain_header(lines, at), text, at + 2)
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


def _add_file(files: list[FileDiff], header: Header, text: _Text, at: int) -> int:
    """Read the hunks that follow a header; returns the line after them."""
    lines = text.lines
    hunks: list[Hunk] = []
    end = len(lines)
    while at < end and lines[at].startswith(b"@@ -"):
        hunk, at = _read_hunk(text, at, header)
        hunks.append(hunk)
    if hunks and at < end and text.signs[at] in b"+- \\" and _is_stray(lines, at):
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


def _read_hunk(text: _Text, at: int, header: Header, end: int | None = None) -> tuple[Hunk, int]:
    """The hunk whose header stands at `at`, and the line after it.

    It reads on while lines look like the hunk's, and a hunk is nearly always followed by one that does not; where it read
    too far (an empty line, a signature, the `---` of a plain diff), it is read once more up to its exact `end`.
    """
    lines, signs = text
    match = _HUNK.match(lines[at])
    if match is None:
        raise bad_diff(at, f"the hunk header of {header.name} is not of the form '@@ -a,b +c,d @@'")
    old_text, old_length, new_text, new_length = match.groups()
    old_start, old_count = int(old_text), 1 if old_length is None else int(old_length)
    new_start, new_count = int(new_text), 1 if new_length is None else int(new_length)
    old_line, new_line = old_start + (not old_count), new_start + (not new_count)
    old_end, new_end = old_line + old_count, new_line + new_count
    begin = at + 1
    after = _BODY.match(signs, begin).end() if end is None else end  # type: ignore[union-attr] # matches nothing, too
    changes: list[Change] = []
    left = signs.count(b" ", begin, after)
    for same, changed in _RUNS.findall(signs, begin, after):
        unchanged, minus, plus = same.count(b" "), changed.count(b"-"), changed.count(b"+")
        changes.append(_made(Change, (old_line + unchanged, minus, new_line + unchanged, plus)))
        old_line += unchanged + minus
        new_line += unchanged + plus
        left -= unchanged
    if old_line + left != old_end or new_line + left != new_end:
        if end is None:
            return _read_hunk(text, at, header, _end_of_hunk(signs, begin, old_count, new_count))
        raise bad_diff(end - 1, f"the lines of {header.name} do not add up to its hunk header; is the diff cut off?")
    return _made(Hunk, (old_start, old_count, new_start, new_count, changes, lines[begin:after])), after


def _end_of_hunk(signs: bytes, at: int, old_left: int, new_left: int) -> int:
    """The line after the last one both sides of the hunk can hold, a remark about it included."""
    while at < len(signs) and (old_left > 0 or new_left > 0) and signs[at : at + 1] in _SIGNS:
        sign = signs[at : at + 1]
        old_left -= sign in (b" ", b"-")
        new_left -= sign in (b" ", b"+")
        at += 1
    return at + (signs[at : at + 1] == b"\\")


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
