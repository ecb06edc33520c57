"""Packed files: gzip and zstd, recognised by their first bytes when read and by the ending of their name when written."""

import gzip
import io
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

from evergold.errors import BadInput, Unavailable

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
ENDINGS = (".gz", ".zst")
CHUNK = 1 << 16
INSTALL = "pip install 'evergold[zstd]'"


def open_read(path: Path) -> io.BufferedReader:
    """The bytes of a file or object, unpacked where it is gzip or zstd."""
    return unpack_stream(path.open("rb"), str(path))


def unpack_stream(handle: io.BufferedReader, name: str) -> io.BufferedReader:
    """What an open file holds, unpacked where it is packed."""
    head = handle.peek(len(ZSTD))
    if head.startswith(GZIP):
        # 31 = 15 (largest window) + 16 (expect a gzip header).
        return io.BufferedReader(_Unpacked(handle, name, "gzip", lambda: zlib.decompressobj(31)), CHUNK)
    if head.startswith(ZSTD):
        frame = _zstandard().ZstdDecompressor().decompressobj
        return io.BufferedReader(_Unpacked(handle, name, "zstd", frame), CHUNK)
    return handle


def pack_stream(handle: BinaryIO, path: Path) -> BinaryIO | None:
    """A file that packs what is written to it, where the name asks for that; closing it leaves `handle` open."""
    if path.suffix == ".gz":
        # No name and no time in the header: the same content packs to the same bytes.
        return cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=handle, mtime=0))
    if path.suffix == ".zst":
        writer = _zstandard().ZstdCompressor(level=3).stream_writer(handle, closefd=False)
        return cast(BinaryIO, writer)
    return None


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise Unavailable(f"zstd files need the extra: {INSTALL}") from None
    return zstandard


class _Unpacked(io.RawIOBase):
    """A stream of packed members, one behind the other; one that breaks off is an error, not the end of the file."""

    def __init__(self, handle: io.BufferedReader, name: str, kind: str, begin: Callable[[], Any]) -> None:
        self.name = name
        self._handle = handle
        self._kind = kind
        self._begin = begin
        self._member = begin()
        self._begun = False
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            if not self._read_more():
                return 0
        data = self._ready[: len(buffer)]
        buffer[: len(data)] = data
        self._ready = self._ready[len(data) :]
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._handle.close()
        super().close()

    def _read_more(self) -> bool:
        """Unpack the next piece; False at the end of the file."""
        # What is behind the end of a member begins the next one (`cat a.gz b.gz`).
        left = self._member.unused_data if self._member.eof else b""
        if self._member.eof:
            self._member, self._begun = self._begin(), False
        data = left or self._handle.read1(CHUNK)
        if not self._begun and not data.strip(b"\0"):  # zeros behind the last member are padding
            data = b"" if not data else self._handle.read1(CHUNK)
        if not data:
            if self._begun:
                raise BadInput(f"{self.name}: not a whole {self._kind} file: it ends in the middle")
            return False
        self._begun = True
        try:
            self._ready = memoryview(self._member.decompress(data))
        # zlib.error and ZstdError have no base class in common, and zstandard may not be installed.
        except Exception as problem:
            raise BadInput(f"{self.name}: not a whole {self._kind} file: {problem}") from problem
        return True
