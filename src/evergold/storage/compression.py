"""Packed files: gzip and zstd, recognised by their first bytes when read and by the ending of their name when written.

A file of a few kilobytes may unpack to gigabytes. So members are fed in pieces that unpack to some megabytes at most, and a line
is given up once it is longer than any record; only a document that is not packed suspiciously well may be longer.
"""

import gzip
import io
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

from evergold.errors import BadInput, Unavailable
from evergold.storage.charset import ReadHandle, Utf8Stream, encoding_of

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
ENDINGS = (".gz", ".zst")
CHUNK = 1 << 16
LONGEST_RECORD = 16 << 20  # bytes of a line, or of what is read at once, beyond which a file must not be dense
MOST_DENSE = 40  # times its packed size: JSON of people packs to a fifth or a thirtieth
WINDOW = 32 << 20  # bytes of memory that a zstd frame may ask for; level 20 and below ask for no more
FED = {"gzip": 1 << 14, "zstd": 1 << 9}  # bytes at once: 1 byte is 1,032 of gzip at most, 4 bytes are 128 KB of zstd
INSTALL = "pip install 'evergold[zstd]'"


def open_read(path: Path) -> io.BufferedReader:
    """The bytes of a file or object, unpacked where it is gzip or zstd; of a text, as UTF-8."""
    return read_as_utf8(unpack_stream(path.open("rb"), str(path)), str(path))


def read_as_utf8(plain: io.BufferedReader, name: str) -> io.BufferedReader:
    """What an open file holds; a text as UTF-8."""
    encoding = encoding_of(plain.peek(CHUNK)[:CHUNK])
    return plain if encoding is None else PackedReader(Utf8Stream(plain, name, encoding))


def note_on(stream: io.BufferedReader) -> str:
    """What was done to the text of an open file, as far as it was read, so that it is UTF-8."""
    return stream.raw.note if isinstance(stream.raw, Utf8Stream) else ""


def unpack_stream(handle: io.BufferedReader, name: str) -> io.BufferedReader:
    """What an open file holds, unpacked where it is packed."""
    head = handle.peek(len(ZSTD))
    if head.startswith(GZIP):
        # 31 = 15 (largest window) + 16 (expect a gzip header).
        return PackedReader(_Unpacked(handle, name, "gzip", lambda: zlib.decompressobj(31)))
    if head.startswith(ZSTD):
        frame = _zstandard().ZstdDecompressor(max_window_size=WINDOW).decompressobj
        return PackedReader(_Unpacked(handle, name, "zstd", frame))
    return handle


def pack_stream(handle: BinaryIO, path: Path) -> BinaryIO | None:
    """A file that packs what is written to it, where the name asks for that; closing it leaves `handle` open."""
    if path.suffix == ".gz":
        # No name and no time in the header: the same content packs to the same bytes.
        return cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=handle, mtime=0))
    if path.suffix == ".zst":
        return cast(BinaryIO, _zstandard().ZstdCompressor(level=3).stream_writer(handle, closefd=False))
    return None


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise Unavailable(f"zstd files need the extra: {INSTALL}") from None
    return zstandard


class _Unpacked(ReadHandle):
    """A stream of packed members, one behind the other; one that breaks off is an error, not the end of the file."""

    def __init__(self, handle: io.BufferedReader, name: str, kind: str, begin: Callable[[], Any]) -> None:
        super().__init__(name, handle)
        self._kind, self._begin = kind, begin
        self._member = begin()
        self._begun = False
        self._input = memoryview(b"")
        self._ready = memoryview(b"")
        self.read_bytes = self.given_bytes = 0

    @property
    def is_dense(self) -> bool:
        """Whether it unpacks to more than any data of people would."""
        return self.given_bytes > MOST_DENSE * self.read_bytes

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            if not self._read_more():
                return 0
        data = self._ready[: len(buffer)]
        buffer[: len(data)] = data
        self._ready = self._ready[len(data) :]
        return len(data)

    def _read_more(self) -> bool:
        """Unpack the next piece; False at the end of the file."""
        # What is behind the end of a member begins the next one (`cat a.gz b.gz`).
        if self._member.eof:
            self._input = memoryview(bytes(self._member.unused_data) + bytes(self._input))
            self._member, self._begun = self._begin(), False
        if not self._input:
            self._input = memoryview(self._handle.read1(CHUNK))
            self.read_bytes += len(self._input)
        data, self._input = self._input[: FED[self._kind]], self._input[FED[self._kind] :]
        if not data:
            if self._begun:
                raise BadInput(f"{self.name}: not a whole {self._kind} file: it ends in the middle")
            return False
        if not self._begun and not bytes(data).strip(b"\0"):  # zeros behind the last member are padding
            return True
        self._begun = True
        try:
            self._ready = memoryview(self._member.decompress(data))
        # zlib.error and ZstdError have no base class in common, and zstandard may not be installed.
        except Exception as problem:
            raise BadInput(f"{self.name}: not a whole {self._kind} file: {problem}") from problem
        self.given_bytes += len(self._ready)
        return True


class PackedReader(io.BufferedReader):
    """Reads a packed file, without holding more of it than a record may have."""

    raw: Any  # _Unpacked or Utf8Stream

    def __init__(self, raw: Any) -> None:
        super().__init__(raw, CHUNK)

    def __next__(self) -> bytes:
        if line := self.readline():
            return line
        raise StopIteration

    def readline(self, size: int | None = -1, /) -> bytes:
        asked = -1 if size is None else size
        line = super().readline(LONGEST_RECORD + 1 if asked < 0 else min(asked, LONGEST_RECORD + 1))
        if len(line) <= LONGEST_RECORD or line.endswith(b"\n"):
            return line
        # A document on one line, as programs export them.
        self._require_plain("a line")
        return line + super().readline(asked - len(line) if asked >= 0 else -1)

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and 0 <= size <= LONGEST_RECORD:
            return super().read(size)
        pieces, held = [], 0
        while piece := super().read(1 << 20 if size is None or size < 0 else min(1 << 20, size - held)):
            pieces.append(piece)
            held += len(piece)
            if held > LONGEST_RECORD:
                self._require_plain("the file")
        return b"".join(pieces)

    def _require_plain(self, what: str) -> None:
        if self.raw.is_dense:
            raise BadInput(
                f"{self.raw.name}: {what} unpacks to more than {LONGEST_RECORD:,} bytes and {MOST_DENSE} times its packed "
                "size; write one record a line, or several files"
            )
