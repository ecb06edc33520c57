"""Text of other encodings as UTF-8: what spreadsheets and older programs write, and what broke on its way.

UTF-16 is known by its first bytes. Bytes that are no UTF-8 are Windows-1252 (which holds Latin-1), but broken where their
line has more characters of UTF-8 than of them. Whoever opened the file asks for the `note`: nothing is replaced without a word.
"""

import io
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from typing import Any

from evergold.errors import BadInput

CHUNK = 1 << 16
PARQUET = b"PAR1"
UNDEFINED = b"\x81\x8d\x8f\x90\x9d"  # mean nothing in Windows-1252
TEXT = bytes({*range(32, 256), *b"\t\n\v\f\r\x1b"})  # what packed files hold beside these is no text
HIGH = bytes(range(128, 256))
# Western European texts have letters such as ñ one by one; Cyrillic, Greek and Asian ones have them in rows.
OTHER_LETTERS = re.compile(rb"[\x80-\xff]{4}")


def encoding_of(head: bytes) -> str | None:
    """The encoding that the beginning of a text tells; None of a binary file."""
    if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" not in head and not head.startswith(PARQUET):
        return None if len(head.translate(None, TEXT)) > len(head) // 50 else "utf-8"
    return "utf-16-le" if len(head) > 3 and head[0] and head[2] and head[1] == head[3] == 0 else None


class ReadHandle(io.RawIOBase):
    """A stream that reads from a handle and closes it."""

    def __init__(self, name: str, handle: Any) -> None:
        self.name, self._handle = name, handle

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self._handle.close()
        super().close()


class Utf8Stream(ReadHandle):
    """A stream as UTF-8, without the mark that some editors put before the text."""

    def __init__(self, handle: io.BufferedReader, name: str, encoding: str) -> None:
        super().__init__(name, handle)
        self._encoding = encoding
        self._wide = None if encoding == "utf-8" else getincrementaldecoder(encoding)("replace")
        self._waiting, self._ready = b"", memoryview(b"")
        self._begun = self._ended = False
        head = handle.peek(CHUNK)[:CHUNK]
        self._returns = b"\r" in head and b"\n" not in head  # lines end as those of old Macs, and of some spreadsheets
        self.western = self.broken = 0

    @property
    def is_dense(self) -> bool:
        """Whether it was packed more than any data of people is."""
        return getattr(getattr(self._handle, "raw", None), "is_dense", False)

    @property
    def note(self) -> str:
        """What was done to the text as far as it was read; empty where it is UTF-8."""
        save = "save the file as UTF-8 where letters look wrong"
        notes = [f"read as {self._encoding.upper()}"] if self._wide else []
        notes += [f"{self.western} bytes are no UTF-8 and were read as Windows-1252; {save}"] if self.western else []
        notes += [f"{self.broken} bytes are no UTF-8 and became U+FFFD"] if self.broken else []
        return "; ".join(notes)

    def readinto(self, buffer: io.BytesIO) -> int:  # type: ignore[override]
        while not self._ready and not self._ended:
            data = self._handle.read1(CHUNK)
            self._ended = not data
            text = self._wide.decode(data, not data).encode() if self._wide else self._as_utf8(data)
            if text and not self._begun:
                text, self._begun = text.removeprefix(BOM_UTF8), True
            self._ready = memoryview(text.replace(b"\r", b"\n") if self._returns else text)
        view = memoryview(buffer)  # type: ignore[arg-type]
        size = min(len(view), len(self._ready))
        view[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _as_utf8(self, data: bytes) -> bytes:
        data, self._waiting = self._waiting + data, b""
        try:
            data.decode()
            return data
        except UnicodeDecodeError as problem:
            # The first bytes of a character whose others come next.
            if problem.end == len(data) and len(data) - problem.start < 4 and not self._ended:
                self._waiting = data[problem.start :]
                return data[: problem.start]
        if not self._ended:
            end = data.rfind(b"\n") + 1 or len(data.rstrip(HIGH))
            data, self._waiting = data[:end], data[end:]
        return b"".join(map(self._mend, data.splitlines(keepends=True)))

    def _mend(self, line: bytes) -> bytes:
        text = line.decode("utf-8", "surrogateescape")
        bad = sum("\udc80" <= sign <= "\udcff" for sign in text)
        if not bad:
            return line
        if sum(sign > "\x7f" for sign in text) > 2 * bad:
            self.broken += bad
            return line.decode("utf-8", "replace").encode()
        if any(len(set(run)) > 2 for run in OTHER_LETTERS.findall(line)):
            raise BadInput(
                f"{self.name}: its text is neither UTF-8 nor Windows-1252 ({line.strip()[:40]!a}); save the file as UTF-8"
            )
        undefined = len(line) - len(line.translate(None, UNDEFINED))
        self.broken += undefined
        self.western += bad - undefined
        return line.decode("cp1252", "replace").encode()
