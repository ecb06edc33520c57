"""A file of a build as it grows: written, hashed, counted, and on its way to the disk before the last byte is written."""

import hashlib
import os
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO

_FLUSHED_BYTES = 16 << 20


class Flusher:
    """Has the system write files out while they grow.

    A build is only done when its files are on the disk. A system with much memory begins to write late, and whoever asks then
    waits for all of it. One thread that asks all the time waits while the others work.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "flusher")
        self._last: Future[None] | None = None

    def __enter__(self) -> "Flusher":
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)

    def flush(self, handle: BinaryIO) -> bool:
        """Begin to write the file out, unless that is being done for another; an error of the last time is raised."""
        if self._last is not None:
            if not self._last.done():
                return False
            self._last.result()
        self._last = self._thread.submit(os.fdatasync, handle.fileno())
        return True

    def finish(self) -> None:
        """Wait for what was begun: the system tells of an error only once."""
        if self._last is not None:
            self._last.result()


class Output:
    """One file of a build."""

    def __init__(self, handle: BinaryIO, flusher: Flusher) -> None:
        self._handle = handle
        self._flusher = flusher
        self._digest = hashlib.sha256()
        self._unflushed = 0
        self.bytes = 0
        self.count = 0

    def write(self, data: bytes, records: int) -> None:
        self._handle.write(data)
        self._digest.update(data)
        self.bytes += len(data)
        self.count += records
        self._unflushed += len(data)
        if self._unflushed >= _FLUSHED_BYTES and self._flusher.flush(self._handle):
            self._unflushed = 0

    def entry(self, path: str) -> dict[str, Any]:
        return {"path": path, "count": self.count, "bytes": self.bytes, "sha256": self._digest.hexdigest()}
