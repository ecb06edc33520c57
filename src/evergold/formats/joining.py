"""Ways to join the files of an export's parts: each takes their bytes in order and writes the file of all cases.

A format that workers of a cluster may write has the attribute `joining`: given the name of one of its files and a way to open
that file, it gives who joins the parts of it. The outcome is, byte for byte or row for row, what one process writes.
"""

from collections.abc import Callable
from functools import cached_property
from typing import BinaryIO, Protocol

Opener = Callable[[], BinaryIO]


class JoinedFile(Protocol):
    """The file of all cases as it grows, part by part."""

    def add(self, content: bytes) -> None: ...

    def close(self) -> None: ...


Joining = Callable[[str, Opener], JoinedFile]


class JoinedLines:
    """Lines after lines."""

    def __init__(self, _name: str, opener: Opener) -> None:
        self._out = opener()

    def add(self, content: bytes) -> None:
        self._out.write(content)

    def close(self) -> None:
        """There is nothing behind the last line."""


class JoinedArray:
    """JSON arrays, one record to a line, as one array."""

    def __init__(self, _name: str, opener: Opener) -> None:
        self._out = opener()
        self._begun = False

    def add(self, content: bytes) -> None:
        records = content.strip().removeprefix(b"[").removesuffix(b"]").strip()
        if records:
            self._out.write(b",\n" if self._begun else b"[\n")
            self._out.write(records)
            self._begun = True

    def close(self) -> None:
        self._out.write(b"\n]\n" if self._begun else b"[]\n")


class JoinedYaml:
    """Lists of YAML under one key, in the first line of each part."""

    def __init__(self, _name: str, opener: Opener) -> None:
        self._open = opener
        self._empty = b""

    @cached_property
    def _out(self) -> BinaryIO:
        return self._open()

    def add(self, content: bytes) -> None:
        key, _, listed = content.partition(b"\n")
        if not listed:
            self._empty = content  # `key: []`
            return
        if "_out" not in vars(self):
            self._out.write(key + b"\n")
        self._out.write(listed)

    def close(self) -> None:
        if "_out" not in vars(self):
            self._out.write(self._empty)
