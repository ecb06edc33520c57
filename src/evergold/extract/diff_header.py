"""The header of one file in a diff, and the question it raises: which file is this?

`diff --git a/x b/x b/x b/x` cannot be split by looking for ` b/`. It can be split by knowing that both names are the same
file unless `rename` or `copy` lines say otherwise: then the two halves have equal length and differ in the prefix only.
Prefixes are git's own (`a/ b/`, the mnemonic `i/ w/ c/ o/`, `1/ 2/`) or none. Where these rules give no answer there is
an error, so that a hunk never lands on a wrong file.
"""

from evergold.errors import BadInput
from evergold.repo.quoting import path_text, quoted_prefix, unquote

_PREFIX_PAIRS = frozenset((b"%c/" % old, b"%c/" % new) for old in b"abciow12" for new in b"abciow12" if old != new)
_NOWHERE = b"/dev/null"

Index = tuple[str | None, str | None, str | None]
"""The blobs, None where a row of zeros stands for no file, and the mode where both sides have the same."""


class Header:
    """What stands between `diff --git` (on line `at`) and the first hunk. Most headers set few of these."""

    minus: bytes | None = None
    plus: bytes | None = None
    source: bytes | None = None
    destination: bytes | None = None
    renamed = copied = added = deleted = binary = False
    old_blob: str | None = None
    new_blob: str | None = None
    old_mode: str | None = None
    new_mode: str | None = None

    def __init__(self, at: int, names: bytes = b"") -> None:
        self.at = at
        self.names = names

    @property
    def name(self) -> str:
        """For messages only."""
        raw = self.destination or self.plus or self.minus or self.names
        return raw.decode("utf-8", "backslashreplace")

    @property
    def needs_hunks(self) -> bool:
        return self.minus is not None or self.plus is not None

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
        path = _one_path(self.names)
        # `diff --git` of a rename without prefixes cannot be split; the two name lines say which files they are.
        if path is None and (pair := _pair(self.minus, self.plus, plain=not self.names)):
            return pair
        if path is not None and self._agrees(path):
            return path, path
        raise bad_diff(
            self.at,
            f"cannot tell which file {self.name!r} is; make the diff with git's default prefixes, or with --no-prefix",
        )

    def _agrees(self, path: bytes) -> bool:
        """Whether the `---` and `+++` lines mean this file too."""
        return all(name is None or name == _NOWHERE or unquote(name).endswith(path) for name in (self.minus, self.plus))


def read_usual(lines: list[bytes]) -> tuple[str, Index] | None:
    """The path and the index of four lines that are the header of a plain change, its name spelled the same four times.

    Nearly every file has one of these, and it raises none of the questions that the others do.
    """
    names, index, minus, plus = lines
    name = plus[6:]
    # The name is taken from the last line and put back into the others: equality proves all four without parsing.
    if names != b"diff --git a/%b b/%b" % (name, name) or minus != b"--- a/" + name or not plus.startswith(b"+++ b/"):
        return None
    return (path_text(name), _index(_line(index))) if index.startswith(b"index ") else None


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


def read_plain_header(lines: list[bytes], at: int) -> Header:
    """The two lines that begin a file in a diff that git did not write."""
    header = Header(at)
    header.minus, header.plus = _file_name(_line(lines[at])), _file_name(_line(lines[at + 1]))
    return header


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
    if line.startswith(b"index "):
        header.old_blob, header.new_blob, mode = _index(line)
        if mode:
            header.old_mode = header.new_mode = mode
    elif line.startswith(b"--- "):
        header.minus = _file_name(line)
    elif line.startswith((b"similarity index ", b"dissimilarity index ")):
        pass
    elif line.startswith((b"rename ", b"copy ")):
        _take_move(header, line)
    elif line.startswith(b"new file mode "):
        header.added, header.new_mode = True, _mode(line)
    elif line.startswith(b"deleted file mode "):
        header.deleted, header.old_mode = True, _mode(line)
    elif line.startswith(b"old mode "):
        header.old_mode = _mode(line)
    elif line.startswith(b"new mode "):
        header.new_mode = _mode(line)
    elif line.startswith(b"Binary files ") or line == b"GIT binary patch":
        header.binary = True
    else:
        return False
    return True


def _index(line: bytes) -> Index:
    blobs, _, mode = line[len(b"index ") :].decode("ascii", "replace").partition(" ")
    old, _, new = blobs.partition("..")
    return old if old.strip("0") else None, new if new.strip("0") else None, mode or None


def _take_move(header: Header, line: bytes) -> None:
    verb, side, name = line.split(b" ", 2)
    header.renamed, header.copied = verb == b"rename", verb == b"copy"
    if side in (b"from", b"old"):
        header.source = name
    else:
        header.destination = name


def _mode(line: bytes) -> str:
    return line.rsplit(b" ", 1)[1].decode("ascii", "replace")


def _line(line: bytes) -> bytes:
    """A header line without the carriage return that a mail program or an editor may have added."""
    return line[:-1] if line.endswith(b"\r") else line


def _file_name(line: bytes) -> bytes:
    """The name of a `---` or `+++` line; git ends a name with spaces by a tab, diff puts a time after it."""
    name = line[4:]
    if name.startswith(b'"'):
        return quoted_prefix(name) or name
    return name.partition(b"\t")[0]


def _one_path(names: bytes) -> bytes | None:
    """The path of `a/PATH b/PATH`, or None where the two halves are not one path."""
    if not names:
        return None
    if quoted := quoted_prefix(names):
        old, new = unquote(quoted), unquote(names[len(quoted) + 1 :])
    else:
        # Two equal names with one space between: the middle of the text is that space.
        middle = len(names) // 2
        old, new = names[:middle], names[middle + 1 :]
        if names[middle : middle + 1] != b" ":
            return None
    if old == new:
        return old
    return old[2:] if _prefixed(old, new) and old[2:] == new[2:] else None


def _pair(minus: bytes | None, plus: bytes | None, plain: bool) -> tuple[bytes, bytes] | None:
    """Two different files of a diff with prefixes or, in a plain diff, as they are spelled."""
    if minus is None or plus is None:
        return None
    old, new = unquote(minus), unquote(plus)
    if old == _NOWHERE or new == _NOWHERE:
        path = new if old == _NOWHERE else old
        return (path[2:], path[2:]) if path[:2] in (b"a/", b"b/") else (path, path)
    if _prefixed(old, new):
        return old[2:], new[2:]
    return (old, new) if plain else None


def _prefixed(old: bytes, new: bytes) -> bool:
    return (old[:2], new[:2]) in _PREFIX_PAIRS
