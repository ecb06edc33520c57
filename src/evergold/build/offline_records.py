"""Read offline records: a file or an object in a store → blocks of whole lines → the fields of each line as their bytes.

Values are never decoded and encoded again. msgspec checks that the line is JSON and hands every field over as the bytes
it was written in. So a number like `1E400` or `0.10`, a date-like string, a 39-digit integer or a repeated key deep inside
`metadata` arrives as it left.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, cast

import msgspec

from evergold.errors import BadInput, NotFound
from evergold.formats.lines import open_rows
from evergold.formats.tables import PARQUET
from evergold.machine import open_file
from evergold.storage import RemotePath, location
from evergold.storage.compression import GZIP, ZSTD

BLOCK_BYTES = 512 << 10
"""Read at once: few enough for the processor's cache."""
MAX_LINE_BYTES = 8 << 20
PACKED = (GZIP, ZSTD, PARQUET)
BOM = b"\xef\xbb\xbf"
OPENED = "rag"
"""The one field whose members are fields of the record too."""
Fields: TypeAlias = dict[str, bytes]
"""Dotted path → the bytes of its value."""

_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class State(NamedTuple):
    """What tells one content of a source from the next without reading it."""

    size: int
    stamp: str


class Block(NamedTuple):
    """Whole lines of a file. A line that is too long to be held is a block of its own, without its bytes."""

    offset: int
    size: int
    data: bytes | None


class Refusal(Exception):
    """Why one line cannot become a record: a reason to count by, and the detail for a person."""

    task_id: str | None = None

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail


def open_source(name: str) -> BinaryIO:
    """Open a file or object for reading from any offset; a worker on another machine opens it the same way."""
    return cast(BinaryIO, location(name).open("rb"))


def state_of(name: str) -> State:
    """Return size and time of the last change; raises NotFound when nothing is there."""
    path = location(name)
    if path.exists() and not path.is_file():
        if path.is_dir():
            raise BadInput(f"{name} is a folder; name the JSONL file of the offline dataset in it")
        raise BadInput(f"{name} is no file with an end; a build reads its source more than once: write it to a file")
    if not path.exists():
        raise NotFound(f"no offline dataset at {name}; give --offline-dataset FILE, or generate one first")
    status = path.stat()
    # An object store has no modification time of such precision; its entity tag changes with the content.
    return State(status.st_size, path.state() if isinstance(path, RemotePath) else str(status.st_mtime_ns))


def is_packed(name: str) -> bool:
    """Whether the records must be unpacked before they can be read from any offset."""
    with open_source(name) as source:
        return source.read(len(PARQUET)).startswith(PACKED)


def copy_plain_lines(name: str, scratch: Path) -> Path:
    """Copy a packed file or a table as plain lines into a folder that the caller removes."""
    copy = scratch / "offline_dataset.jsonl"
    with open_rows(location(name), as_written=True) as lines, open_file(copy, "wb") as out:
        out.writelines(lines)
    return copy


def read_blocks(
    source: BinaryIO,
    max_line: int = MAX_LINE_BYTES,
    block_bytes: int = BLOCK_BYTES,
    on_read: Callable[[bytes], object] = len,
) -> Iterator[Block]:
    """Read a file from its beginning in blocks of whole lines, in bounded memory. `on_read` gets every byte in order."""
    offset = size = 0  # where the block begins, and how much of its first line was in the chunks before
    held: list[bytes] = []
    while chunk := source.read(block_bytes):
        on_read(chunk)
        # The first line of the chunk began in an earlier one and is too long by now: only its end is looked for.
        if size > max_line and (first := chunk.find(b"\n") + 1):
            yield Block(offset, size + first, None)
            offset, size, held, chunk = offset + size + first, 0, [], chunk[first:]
        end = chunk.rfind(b"\n") + 1
        if end:
            data = b"".join((*held, memoryview(chunk)[:end])) if held else chunk[:end]
            yield Block(offset, len(data), data)
            offset, size, held, chunk = offset + len(data), 0, [], chunk[end:]
        size += len(chunk)
        if size > max_line:
            held.clear()
        else:
            held.append(chunk)
    if size:
        yield Block(offset, size, None if size > max_line else b"".join(held))


def require_utf8(line: bytes) -> None:
    try:
        line.decode()
    except UnicodeDecodeError as problem:
        raise Refusal("not UTF-8", f"byte {problem.start + 1} of the line is 0x{line[problem.start]:02x}") from None


def bare_line(raw: bytes, offset: int) -> bytes:
    """Return the line without white space around it; a carriage return between two values is as good as a space."""
    # The byte order mark stands at the very beginning of a file and nowhere else.
    if offset == 0:
        raw = raw.removeprefix(BOM)
    if b"\r" in raw:
        raw = raw.replace(b"\r", b" ")
    return raw.strip()


def read_fields(line: bytes) -> Fields:
    """Read the fields of a JSON object that is UTF-8, one level of `rag` opened."""
    fields = members_of(line)
    opened = fields.pop(OPENED, b"null")
    if opened[:1] == b"{":
        for name, value in members_of(opened).items():
            fields[f"{OPENED}.{name}"] = value
    elif opened != b"null":
        raise Refusal("wrong type", f"{OPENED} must be an object, not {show_value(opened)}")
    return fields


def members_of(data: bytes) -> dict[str, bytes]:
    """Read the members of a JSON object, none of them given twice."""
    try:
        members = {key: bytes(raw) for key, raw in _decode_object(data).items()}
        if not _is_all(data, members):
            names = [key for key, _ in json.loads(data, object_pairs_hook=list, parse_int=str, parse_float=str)]
            for name in names:
                if names.count(name) > 1:
                    raise Refusal("repeated key", f"{name!r} is given {names.count(name)} times in one object")
    except msgspec.ValidationError as problem:
        raise Refusal("not an object", str(problem)) from None
    except RecursionError:
        raise Refusal("not JSON", "nested too deeply") from None
    except msgspec.DecodeError as problem:
        raise Refusal("not JSON", _why_not(data, str(problem))) from None
    return members


def _is_all(data: bytes, members: Mapping[str, bytes]) -> bool:
    """Whether these members, with the usual spacing or none, are the very bytes of the object.

    Of a key that is given twice the decoder keeps only the last, and the bytes differ. Comparing is far cheaper than parsing
    the keys a second time.
    """
    colon, comma = (b'": ', b', "') if data.find(b'": ', 0, 200) >= 0 else (b'":', b',"')
    pieces: list[bytes] = []
    for key, value in members.items():
        pieces += (comma, key.encode(), colon, value)
    pieces[:1] = (b'{"',)
    pieces.append(b"}")
    return data == b"".join(pieces)


def _why_not(line: bytes, message: str) -> str:
    """Python writes two things that are not JSON; whoever meets them wants to know which."""
    try:
        # parse_int avoids Python's limit on the digits of an integer.
        json.loads(line, parse_int=str)
    except (ValueError, RecursionError):
        return message
    return "NaN and Infinity are not JSON, and half of a surrogate pair is not text"


def show_value(value: bytes, most: int = 60) -> str:
    """Return the beginning of a value, for a message."""
    text = value[: 4 * most].decode("utf-8", "replace")
    return text if len(text) <= most else text[:most] + "…"


_RECENT_IDS = 1 << 16


class SeenIds:
    """A set of ids as 64-bit fingerprints, 8 bytes for each where Python's own set takes over 100.

    A build of ten gigabytes has a million ids and must still fit beside everything else in a hundred megabytes. Of a million
    ids, two share a fingerprint with a chance of one in thirty million.
    """

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._older: Any = None

    def add(self, content: bytes) -> bool:
        """Whether an id is new; it is remembered either way."""
        return self.add_fingerprint(fingerprint(content))

    def add_fingerprint(self, value: int) -> bool:
        if value in self._recent:
            return False
        if self._older is not None:
            at = self._older.searchsorted(self._older.dtype.type(value))
            if at < len(self._older) and self._older[at] == value:
                return False
        self._recent.add(value)
        if len(self._recent) >= _RECENT_IDS:
            import numpy as np  # only a large build pays for the import

            recent = np.fromiter(self._recent, np.uint64, len(self._recent))
            self._older = np.sort(recent if self._older is None else np.concatenate((self._older, recent)))
            self._recent.clear()
        return True


def fingerprint(content: bytes) -> int:
    """64 bits that stand for an id, or for any other bytes."""
    return int.from_bytes(blake2b(content, digest_size=8).digest())
