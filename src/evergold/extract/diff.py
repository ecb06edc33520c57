"""A git diff → the files it touches and the runs of lines it changes.

Extraction stands on this page, so it is strict: a hunk shorter or longer than its header says, a hunk without a file, a
combined diff or a path that cannot be told is an error with its line number, never a guess. It is also complete: pure
renames, deletions, mode changes, binary files and submodules are listed though they have no hunks. One pass over the
lines; those of a hunk are kept as they stand, because the text of the old lines proves a range later.

Which file a header is about is a question of its own: `diff --git a/x b/x b/x b/x` cannot be split by looking for ` b/`. It
can be split by knowing that both names are the same file unless `rename` or `copy` lines say otherwise: then the two halves
have equal length and differ in the prefix only.
Prefixes are git's own (`a/ b/`, the mnemonic `i/ w/ c/ o/`, `1/ 2/`) or none. Where these rules give no answer there is
an error, so that a hunk never lands on a wrong file.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from evergold.errors import BadInput
from evergold.repo.git import path_text, read_quoted, unquote

_PREFIX_PAIRS = frozenset((b"%c/" % old, b"%c/" % new) for old in b"abciow12" for new in b"abciow12" if old != new)
_NOWHERE = b"/dev/null"


class Header:
    """What stands between `diff --git` (on line `at`) and the first hunk. Most headers set few of these."""

    source: bytes | None = None
    destination: bytes | None = None
    renamed = copied = added = deleted = False

    def __init__(self, at: int, names: bytes = b"", minus: bytes | None = None, plus: bytes | None = None) -> None:
        self.at, self.names, self.minus, self.plus = at, names, minus, plus
        self.file = FileDiff(None, None, ChangeType.MODIFIED)

    @property
    def name(self) -> str:
        """For messages only."""
        raw = self.destination or self.plus or self.minus or self.names
        return raw.decode("utf-8", "backslashreplace")

    def paths(self) -> tuple[str | None, str | None]:
        """(old, new); None on the side where the file does not exist."""
        old, new = self._raw_paths()
        old_path = path_text(old)
        new_path = old_path if old == new else path_text(new)
        return (
            None if self.added or self.minus == _NOWHERE else old_path,
            None if self.deleted or self.plus == _NOWHERE else new_path,
        )

    def _raw_paths(self) -> tuple[bytes, bytes]:
        if self.source is not None and self.destination is not None:
            return unquote(self.source), unquote(self.destination)
        path, sides = _one_path(self.names), (self.minus, self.plus)
        # `diff --git` of a rename without prefixes cannot be split; the two name lines say which files they are.
        if path is None and (pair := _pair(*sides, plain=not self.names)):
            return pair
        # The `---` and `+++` lines must mean this file too.
        if path is not None and all(name in (None, _NOWHERE) or unquote(name).endswith(path) for name in sides):
            return path, path
        raise bad_diff(
            self.at,
            f"cannot tell which file {self.name!r} is; make the diff with git's default prefixes, or with --no-prefix",
        )


def read_header(lines: list[bytes], at: int) -> tuple[Header, int]:
    """The header that begins with `diff --git` at `at`, and the line after it."""
    header = Header(at, _line(lines[at])[len(b"diff --git ") :])
    at, end = at + 1, len(lines)
    while at < end:
        line = lines[at]
        if line.endswith(b"\r"):
            line = _line(line)
        if line.startswith(b"+++ "):
            header.plus = _file_name(line)
            at += 1
            break
        if not _take(header, line):
            break
        at += 1
    # A header that ends after one of the two names was cut off; without hunks git writes neither.
    if (header.minus is None) != (header.plus is None):
        raise bad_diff(at - 1, f"{header.name} has only one of its two file names; the diff is cut off")
    return header, at


def begins_plain_file(lines: list[bytes], at: int) -> bool:
    """Whether `---`, `+++` and a hunk follow each other here: a line removed from a file may also begin with `--`."""
    starts = (b"--- ", b"+++ ", b"@@ -")
    return at + 2 < len(lines) and all(
        line.startswith(start) for line, start in zip(lines[at : at + 3], starts, strict=True)
    )


def bad_diff(at: int, reason: str) -> BadInput:
    return BadInput(f"line {at + 1} of the diff: {reason}")


def _take(header: Header, line: bytes) -> bool:
    """Take one header line in; False where the header has ended."""
    file = header.file
    if line.startswith(b"index "):
        blobs, _, mode = line[len(b"index ") :].decode("ascii", "replace").partition(" ")
        old, _, new = blobs.partition("..")
        # A row of zeros stands for no file; the mode stands here where both sides have the same.
        file.old_blob, file.new_blob = (blob if blob.strip("0") else None for blob in (old, new))
        if mode:
            file.old_mode = file.new_mode = mode
    elif line.startswith(b"--- "):
        header.minus = _file_name(line)
    elif line.startswith((b"similarity index ", b"dissimilarity index ")):
        pass
    elif line.startswith((b"rename ", b"copy ")):
        verb, side, name = line.split(b" ", 2)
        header.renamed, header.copied = verb == b"rename", verb == b"copy"
        if side in (b"from", b"old"):
            header.source = name
        else:
            header.destination = name
    elif line.startswith(b"new file mode "):
        header.added, file.new_mode = True, _mode(line)
    elif line.startswith(b"deleted file mode "):
        header.deleted, file.old_mode = True, _mode(line)
    elif line.startswith(b"old mode "):
        file.old_mode = _mode(line)
    elif line.startswith(b"new mode "):
        file.new_mode = _mode(line)
    elif line.startswith(b"Binary files ") or line == b"GIT binary patch":
        file.binary = True
    else:
        return False
    return True


def _mode(line: bytes) -> str:
    return line.rsplit(b" ", 1)[1].decode("ascii", "replace")


def _line(line: bytes) -> bytes:
    """A header line without the carriage return that a mail program or an editor may have added."""
    return line[:-1] if line.endswith(b"\r") else line


def _file_name(line: bytes) -> bytes:
    """The name of a `---` or `+++` line; git ends a name with spaces by a tab, diff puts a time after it."""
    name = line[4:]
    return read_quoted(name) or name if name.startswith(b'"') else name.partition(b"\t")[0]


def _one_path(names: bytes) -> bytes | None:
    """The path of `a/PATH b/PATH`, or None where the two halves are not one path."""
    if not names:
        return None
    if quoted := read_quoted(names):
        old, new = unquote(quoted), unquote(names[len(quoted) + 1 :])
    else:
        # Two equal names with one space between: the middle of the text is that space.
        middle = len(names) // 2
        old, new = names[:middle], names[middle + 1 :]
        if names[middle : middle + 1] != b" ":
            return None
    if old == new:
        return old
    return old[2:] if _has_prefixes(old, new) and old[2:] == new[2:] else None


def _pair(minus: bytes | None, plus: bytes | None, plain: bool) -> tuple[bytes, bytes] | None:
    """Two different files of a diff with prefixes or, in a plain diff, as they are spelled."""
    if minus is None or plus is None:
        return None
    old, new = unquote(minus), unquote(plus)
    if old == _NOWHERE or new == _NOWHERE:
        path = new if old == _NOWHERE else old
        return (path[2:], path[2:]) if path[:2] in (b"a/", b"b/") else (path, path)
    if _has_prefixes(old, new):
        return old[2:], new[2:]
    return (old, new) if plain else None


def _has_prefixes(old: bytes, new: bytes) -> bool:
    return (old[:2], new[:2]) in _PREFIX_PAIRS


_HUNK = re.compile(rb"@@ -(\d{1,18})(?:,(\d{1,18}))? \+(\d{1,18})(?:,(\d{1,18}))? @@")
_COMBINED = (b"diff --cc ", b"diff --combined ", b"@@@ ")
_SUBMODULE = re.compile(rb"Submodule (.+?) (?:[0-9a-f]+\.{2,3}[0-9a-f]+|contains )")
_SIGNS = (b" ", b"+", b"-", b"\\")
SUBMODULE_MODE = "160000"


class ChangeType(StrEnum):
    MODIFIED = "modified"
    ADDED = "added"
    DELETED = "deleted"
    RENAMED = "renamed"
    COPIED = "copied"
    MODE = "mode"


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

    def split_changes(self) -> list["Hunk"]:
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


def parse_diff(diff: bytes | str) -> list[FileDiff]:
    """Every file of the diff, in its order. Raises BadInput, naming the line, for what is not a whole plain diff."""
    lines = (diff.encode("utf-8", "surrogatepass") if isinstance(diff, str) else diff).split(b"\n")
    if not lines[-1]:
        lines.pop()
    # The first byte of each line in one string: in that, a hunk is a run of four signs, and what changed is found at the
    # speed of a search. An empty line is an unchanged one that lost its space (it may begin with the carriage return of its
    # line end), or one between files.
    signs = b"".join([line[:1] or b" " for line in lines]).replace(b"\r", b" ")
    files: list[FileDiff] = []
    at, end = 0, len(lines)
    while at < end:
        line = lines[at]
        if line.startswith(b"diff --git "):
            at = _add_file(files, *read_header(lines, at), lines, signs)
        elif line.startswith(b"--- ") and begins_plain_file(lines, at):
            minus, plus = (_file_name(_line(name)) for name in lines[at : at + 2])
            at = _add_file(files, Header(at, b"", minus, plus), at + 2, lines, signs)
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


def _add_file(files: list[FileDiff], header: Header, at: int, lines: list[bytes], signs: bytes) -> int:
    """Read the hunks that follow a header; returns the line after them."""
    file = header.file
    file.hunks, after = _read_hunks(lines, signs, at, header.name)
    if (header.minus is not None or header.plus is not None) and not file.hunks:
        raise bad_diff(at - 1, f"{header.name} has file names but no hunk; the diff is cut off")
    file.old_path, file.new_path = header.paths()
    if file.old_path is None:
        file.type = ChangeType.ADDED
    elif file.new_path is None:
        file.type = ChangeType.DELETED
    elif header.copied or header.renamed:
        file.type = ChangeType.COPIED if header.copied else ChangeType.RENAMED
    elif file.old_mode != file.new_mode and not file.hunks and not file.binary:
        file.type = ChangeType.MODE
    files.append(file)
    return after


def _read_hunks(lines: list[bytes], signs: bytes, at: int, name: str) -> tuple[list[Hunk], int]:
    """The hunks of one file, and the line after them. `name` is for messages."""
    hunks: list[Hunk] = []
    end = len(lines)
    while at < end and (match := _HUNK.match(lines[at])):
        old_start, old_count, new_start, new_count = map(int, match.groups(b"1"))
        begin = at + 1
        at = _end_of_hunk(signs, begin, old_count, new_count)
        shown = signs[begin:at].replace(b"\\", b"")  # a remark is no line of either side
        if len(shown) - shown.count(b"+") != old_count or len(shown) - shown.count(b"-") != new_count:
            raise bad_diff(at - 1, f"the lines of {name} do not add up to its hunk header; is the diff cut off?")
        hunks.append(Hunk(old_start, old_count, new_start, new_count, shown, lines[begin:at]))
    if at < end and lines[at].startswith(b"@@ -"):
        raise bad_diff(at, f"the hunk header of {name} is not of the form '@@ -a,b +c,d @@'")
    if hunks and at < end and signs[at] in b"+- \\" and _is_stray(lines, at):
        raise bad_diff(at, f"{name} has more lines than its hunk header says")
    return hunks, at


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
