"""A file of a build as it grows: written, hashed, counted, and on its way to the disk before the last byte is written."""

import hashlib
import os
from typing import Any, BinaryIO

from evergold.storage.remote import ObjectUpload

# Bytes between two hints to the kernel.
_SENT_BYTES = 16 << 20


class Output:
    """One file of a build."""

    def __init__(self, handle: BinaryIO) -> None:
        self._handle = handle
        self._digest = hashlib.sha256()
        self._sent = 0
        self.bytes = 0
        self.count = 0

    def write(self, data: bytes, records: int) -> None:
        self._handle.write(data)
        self._digest.update(data)
        self.bytes += len(data)
        self.count += records
        if self.bytes - self._sent >= _SENT_BYTES:
            self._send()

    def _send(self) -> None:
        """Has the system write out what is new, without waiting for it.

        A build is only done when its files are on the disk. A system with much memory begins to write late, and whoever asks
        then waits for all of it.
        """
        if hasattr(os, "posix_fadvise") and not isinstance(self._handle, ObjectUpload):
            os.posix_fadvise(self._handle.fileno(), self._sent, self.bytes - self._sent, os.POSIX_FADV_DONTNEED)
        self._sent = self.bytes

    def entry(self, path: str) -> dict[str, Any]:
        return {"path": path, "count": self.count, "bytes": self.bytes, "sha256": self._digest.hexdigest()}
