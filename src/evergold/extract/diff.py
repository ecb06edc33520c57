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

from evergold.extract.diff_header import Header, bad_diff, begins_plain_file, read_header, read_plain_header, read_usual
from evergold.repo.quoting import path_text

_HUNK = re.compile(rb"@@ -(\d{1,18})(?:,(\d{1,18}))? \+(\d{1,18})(?:,(\d{1,18}))? @@")
_COMBINED = (b"diff --cc ", b"diff --combined ", b"@@@ ")
_SUBMODULE = re.compile(rb"Submodule (.+?) (?:[0-9a-f]+\.{2,3}[0-9a-f]+|contains )")
_SIGNS = (b" ", b"+", b"-", b"\\")
_BODY = re.compile(rb"[ +\-\\]*")
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


_MODIFIED = ChangeType.MODIFIED  # looked up once: a member of an enumeration is slow to come by


class FileChange(NamedTuple):
    """A run of removed and added lines with no unchanged line between them.

    `old_line` is the first removed line or, with none removed, the old line the added ones come before; `new_line` likewise.
    """

    old_line: int
    removed: int
    new_line: int
    added: int


class Hunk(NamedTuple):
    """`body` holds the lines of the hunk as they stand in the diff; `signs` the first byte of each, without remarks."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    signs: bytes
    body: list[bytes]

    @property
    def first_lines(self) -> tuple[int, int]:
        """The line of either side that the hunk begins at; a side it shows nothing of is numbered by the line before."""
        return self.old_start + (not self.old_count), self.new_start + (not self.new_count)

    @property
    def has_context(self) -> bool:
        """Whether unchanged lines are shown: then a change at the end of the hunk is one at the end of the file."""
        return b" " in self.signs

    @property
    def changes(self) -> list[FileChange]:
        old_line, new_line = self.first_lines
        changes: list[FileChange] = []
        for at, removed, added in runs(self.signs):
            changes.append(FileChange(old_line + at, removed, new_line + at, added))
            old_line -= added
            new_line -= removed
        return changes

    def parted(self) -> list["Hunk"]:
        """One hunk per change, each with the unchanged line before and after it."""
        lines: list[list[bytes]] = []
        for line in self.body:
            if line.startswith(b"\\") and lines:
                lines[-1].append(line)
            elif not line.startswith(b"\\"):
                # A remark (`\ No newline at end of file`) belongs to the line before it and is none of its own.
                lines.append([line])
        return [self._part(lines, max(0, at - 1), at + removed + added + 1) for at, removed, added in runs(self.signs)]

    def _part(self, lines: list[list[bytes]], begin: int, end: int) -> "Hunk":
        before, signs = self.signs[:begin], self.signs[begin:end]
        old_count, new_count = len(signs) - signs.count(b"+"), len(signs) - signs.count(b"-")
        old_line, new_line = self.first_lines
        return Hunk(
            old_line + begin - before.count(b"+") - (not old_count),
            old_count,
            new_line + begin - before.count(b"-") - (not new_count),
            new_count,
            signs,
            [line for held in lines[begin:end] for line in held],
        )

    def old_lines(self) -> list[bytes]:
        """The old side of the hunk as it stands in the file, line ends included."""
        return self._side(b"-")

    def new_lines(self) -> list[bytes]:
        return self._side(b"+")

    def _side(self, sign: bytes) -> list[bytes]:
        # The short way for -U0 diffs, which are nearly all: every line begins with a sign that is known.
        if not self.has_context and len(self.body) == self.old_count + self.new_count:  # no remarks either
            return [line[1:] + b"\n" for line in self.body if line.startswith(sign)]
        kept: list[bytes] = []
        ours = False
        for line in self.body:
            if line.startswith(b"\\"):
                if ours:
                    kept[-1] = kept[-1][:-1]
                continue
            # An editor or mail program strips the space of an empty
            # context line; git apply accepts that, and so does this.
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


def runs(signs: bytes) -> list[tuple[int, int, int]]:
    """Runs of changed lines in the signs of a hunk: where each begins, how many lines it removes and how many it adds."""
    results: list[tuple[int, int, int]] = []
    at = 0
    for run in signs.split():  # unchanged lines are the space between
        at = signs.index(run, at)
        removed = run.count(b"-")
        results.append((at, removed, len(run) - removed))
        at += len(run)
    return results


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
        # A context line whose space was stripped may begin with the carriage return of its line end.
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
            at = _add_usual_file(files, text, at) or _add_file(files, *read_header(lines, at), text)
        elif line.startswith(b"--- ") and begins_plain_file(lines, at):
            at = _add_file(files, read_plain_header(lines, at), at + 2, text)
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


def _add_usual_file(files: list[FileDiff], text: _Text, at: int) -> int | None:
    """Take in a file that was changed and nothing else; None where the header says more than that."""
    header = text.lines[at : at + 4]
    usual = read_usual(header) if len(header) == 4 else None
    if usual is None:
        return None
    path, (old_blob, new_blob, mode) = usual
    hunks, after = _read_hunks(text, at + 4, path)
    if not hunks:
        return None
    files.append(FileDiff(path, path, _MODIFIED, old_blob, new_blob, mode, mode, False, hunks))
    return after


def _add_file(files: list[FileDiff], header: Header, at: int, text: _Text) -> int:
    """Read the hunks that follow a header; returns the line after them."""
    hunks, after = _read_hunks(text, at, header.name)
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
    return after


def _read_hunks(text: _Text, at: int, name: str) -> tuple[list[Hunk], int]:
    """The hunks of one file, and the line after them. `name` is for messages.

    A hunk reads on while lines look like its own, and is nearly always followed by one that does not; where that was too
    far (an empty line, a signature, the `---` of a plain diff), it is cut at its exact end.
    """
    lines, signs = text
    hunks: list[Hunk] = []
    end = len(lines)
    while at < end and (match := _HUNK.match(lines[at])):
        old_start, old_count, new_start, new_count = map(int, match.groups(b"1"))
        begin = at + 1
        at = _BODY.match(signs, begin).end()  # type: ignore[union-attr] # matches nothing, too
        shown = signs[begin:at].replace(b"\\", b"")  # a remark is no line of either side
        # Both sums agree in all but a few hunks; only then is the body read sign by sign.
        if len(shown) - shown.count(b"+") != old_count or len(shown) - shown.count(b"-") != new_count:
            at, shown = _cut_hunk(signs, begin, old_count, new_count, name)
        hunks.append(_made(Hunk, (old_start, old_count, new_start, new_count, shown, lines[begin:at])))
    if at < end and lines[at].startswith(b"@@ -"):
        raise bad_diff(at, f"the hunk header of {name} is not of the form '@@ -a,b +c,d @@'")
    if hunks and at < end and signs[at] in b"+- \\" and _is_stray(lines, at):
        raise bad_diff(at, f"{name} has more lines than its hunk header says")
    return hunks, at


def _cut_hunk(signs: bytes, begin: int, old_count: int, new_count: int, name: str) -> tuple[int, bytes]:
    """The line after the hunk that begins here, and its signs without remarks."""
    end = _end_of_hunk(signs, begin, old_count, new_count)
    shown = signs[begin:end].replace(b"\\", b"")
    if len(shown) - shown.count(b"+") != old_count or len(shown) - shown.count(b"-") != new_count:
        raise bad_diff(end - 1, f"the lines of {name} do not add up to its hunk header; is the diff cut off?")
    return end, shown


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
