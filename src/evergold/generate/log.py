"""Every request and reply, on disk before anybody builds on it; and the memory of a generation that was cut off.

One JSON object a line, only ever appended. A request that got an answer is not sent again: the generation is run anew,
and what is in the log is read from it. So a killed process loses the calls under way and nothing else, and there is no
second place that could disagree with the log about what was done. `fresh` writes a line after which the earlier answers
no longer count.
"""

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Self

import orjson

from evergold.calls.caller import Journal
from evergold.errors import BadInput, Conflict
from evergold.machine import lock
from evergold.model.values import content_hash

Entry = dict[str, Any]
FRESH = "fresh"


class CallLog:
    """The log of one output. Open for one process at a time."""

    def __init__(self, handle: BinaryIO, path: Path, secrets: Sequence[str]) -> None:
        self._handle = handle
        self._path = path
        self._secrets = [secret.encode() for secret in secrets if secret.strip()]
        self._offsets: dict[str, tuple[int, int]] = {}
        self._journal: Journal[bytes] = Journal(self._append)

    @classmethod
    def open(cls, path: Path, *, fresh: bool = False, secrets: Sequence[str] = ()) -> Self:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Appending mode: two writes can never overwrite each other, whatever the position of the reader.
        handle = open(path, "a+b")  # noqa: SIM115 - closed by `close`
        try:
            lock(handle, wait=False)
        except BlockingIOError:
            handle.close()
            raise Conflict(f"another process generates into {path.parent} under this name; wait for it") from None
        log = cls(handle, path, secrets)
        try:
            log._remember()
            if fresh:
                log._offsets.clear()
                log._write([orjson.dumps({"key": FRESH, "at": _now()}) + b"\n"])
        except BaseException:
            handle.close()
            raise
        return log

    def known(self, key: str) -> Entry | None:
        """The entry of a request that was answered already."""
        entry_range = self._offsets.get(key)
        if entry_range is None:
            return None
        entry: Entry = orjson.loads(os.pread(self._handle.fileno(), entry_range[1], entry_range[0]))
        return entry

    async def add(self, entry: Entry) -> None:
        """Returns when the entry is on the disk."""
        line = orjson.dumps({**entry, "at": _now()})
        # A reply may quote the key that was sent; the bytes are replaced in the finished line, wherever it stands.
        for secret in self._secrets:
            line = line.replace(secret, b"[SECRET]")
        await self._journal.add(line + b"\n")

    async def close(self) -> None:
        await self._journal.close()
        self._handle.close()

    async def _append(self, lines: Sequence[bytes]) -> None:
        self._write(lines)

    def _write(self, lines: Sequence[bytes]) -> None:
        self._handle.write(b"".join(lines))
        self._handle.flush()
        os.fsync(self._handle.fileno())

    def _remember(self) -> None:
        """Where each answer is. A last line that a killed process left unfinished is taken away."""
        end = 0
        for start, line in _lines(self._handle):
            try:
                entry = orjson.loads(line)
            except orjson.JSONDecodeError as problem:
                # Only the last line can be torn by a crash. A broken one in
                # the middle was changed by hand, and nothing is guessed.
                raise BadInput(f"{self._path} is damaged at byte {start:,}: {problem}; move it away") from None
            if not isinstance(entry, dict) or not isinstance(entry.get("key"), str):
                raise BadInput(f"{self._path} is damaged at byte {start:,}: no entry with a key; move it away")
            if entry["key"] == FRESH:
                self._offsets.clear()
            # A failed call is in the log for people; it is asked again.
            elif entry.get("error") is None:
                self._offsets[entry["key"]] = (start, len(line))
            end = start + len(line)
        self._handle.truncate(end)


def request_key(target: str, request: Any) -> str:
    """What makes two requests the same: who is asked, and every word of what."""
    return content_hash({"target": target, "request": request})


def _lines(handle: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Whole lines with where they begin."""
    handle.seek(0)
    start = 0
    for line in handle:
        if line.endswith(b"\n"):
            yield start, line
        start += len(line)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
