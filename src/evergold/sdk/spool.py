"""Keep undelivered records on the disk: one file per process while the server is away, sealed when it is back.

A file is locked while its process writes it; a file that nobody locks is ripe for delivery, whoever wrote it. So the
spool of a process that was killed is delivered by the next one. Delivering twice does no harm: records carry ids.
"""

import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from evergold.machine import lock

# A file of this size is ended, so that it can be delivered while further records are written to the next.
SEALED_BYTES = 4_000_000
PRIVATE = 0o600  # what people said lies here as they said it: nobody else may read it


class Spool:
    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._active: BinaryIO | None = None

    def keep(self, records: list[dict[str, Any]]) -> int:
        """Write records down; returns how many found room."""
        room = self._max_bytes - self.size()
        lines = [orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE) for record in records]
        kept: list[bytes] = []
        for line in lines:
            room -= len(line)
            if room < 0:
                break
            kept.append(line)
        if kept:
            active = self._active or self._begin()
            active.write(b"".join(kept))
            active.flush()
            if active.tell() > SEALED_BYTES:
                self.seal()
        return len(kept)

    def seal(self) -> None:
        """End the file being written, so that it can be delivered."""
        if self._active is not None:
            self._active.close()
            self._active = None

    def forget(self) -> None:
        """Let go without closing: in a child process, where the file being written is the parent's."""
        self._active = None

    def size(self) -> int:
        return sum(map(_size_of, self._files()))

    def ripe(self) -> Iterator[tuple[list[dict[str, Any]], int, Path]]:
        """Files nobody writes, oldest first: their records, how many lines were torn, and the file to forget."""
        for path in self._files():
            try:
                handle = path.open("rb")
            except FileNotFoundError:  # another process has delivered it
                continue
            with handle:
                try:
                    lock(handle, wait=False)
                except BlockingIOError:
                    continue
                records, torn = _read(handle)
                yield records, torn, path

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.jsonl")) if self._folder.is_dir() else []

    def _begin(self) -> BinaryIO:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # A clock that never goes back sorts the names; the wall clock may be set while the server is away.
        # In nanoseconds: a coarser one gives files that follow each other at once the same moment.
        moment = f"{time.monotonic_ns():020}"
        path = self._folder / f"{moment}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        self._active = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb")
        lock(self._active)
        return self._active


def _size_of(path: Path) -> int:
    """The size of a file; 0 where another process has just delivered and removed it."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _read(handle: BinaryIO) -> tuple[list[dict[str, Any]], int]:
    records: list[dict[str, Any]] = []
    torn = 0
    for line in handle:
        try:
            records.append(orjson.loads(line))
        except orjson.JSONDecodeError:
            torn += 1
    return records, torn
