"""The background thread: takes records from a bounded queue, delivers them in batches, spools what cannot be delivered.

Handing a record over costs the app a lock and an append. When the queue is full the record is dropped and counted;
when the server is away it goes to the disk and is delivered when the server is back. Nothing is lost silently:
`Counts` says what became of every record.

The spool has one file per process while the server is away, sealed when it is back. A file is locked while its process
writes it; a file that nobody locks is ripe for delivery, whoever wrote it. So the spool of a process that was killed is
delivered by the next one. Delivering twice does no harm: records carry ids.
"""

import atexit
import logging
import os
import secrets
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from evergold.machine import lock, make_folder, open_file
from evergold.sdk.transports import Away, Transport, encode_record

log = logging.getLogger("evergold.sdk")

BATCH = 200
# How long the thread waits for company for a record: a request for each would cost the app more.
LINGER_SECONDS = 0.2
CLOSE_SECONDS = 30.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
# A file of this size is ended, so that it can be delivered while further records are written to the next.
SEALED_BYTES = 4_000_000


class Spool:
    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder, self._max_bytes = folder, max_bytes
        self._active: BinaryIO | None = None

    def keep(self, records: list[dict[str, Any]]) -> int:
        """Write records down; returns how many found room."""
        room = self._max_bytes - self.size()
        kept: list[bytes] = []
        for record in records:
            line = orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
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
        total = 0
        for path in self._files():
            with suppress(FileNotFoundError):  # another process has just delivered and removed it
                total += path.stat().st_size
        return total

    def list_ripe(self) -> Iterator[tuple[list[dict[str, Any]], int, Path]]:
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
                records: list[dict[str, Any]] = []
                torn = 0
                for line in handle:
                    try:
                        records.append(orjson.loads(line))
                    except orjson.JSONDecodeError:
                        torn += 1
                yield records, torn, path

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.jsonl")) if self._folder.is_dir() else []

    def _begin(self) -> BinaryIO:
        make_folder(self._folder, private=True)
        # A clock that never goes back sorts the names; the wall clock may be set while the server is away.
        # In nanoseconds: a coarser one gives files that follow each other at once the same moment.
        moment = f"{time.monotonic_ns():020}"
        path = self._folder / f"{moment}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        self._active = open_file(path, "xb", private=True)
        lock(self._active)
        return self._active


@dataclass
class Counts:
    """What became of every record: handed over, delivered, on the disk, refused by the other side, dropped."""

    recorded: int = 0
    delivered: int = 0
    spooled: int = 0
    refused: int = 0
    dropped: int = 0
    last_error: str | None = None


class Delivery:
    def __init__(self, transport: Transport, spool: Spool, *, max_records: int, max_bytes: int) -> None:
        self._transport, self._spool = transport, spool
        self._max_records, self._max_bytes = max_records, max_bytes
        self._counts = Counts()
        self._pause = 0.0
        self._away_until = 0.0
        self._in_flight: list[dict[str, Any]] = []
        self._reset()
        atexit.register(self.close)
        # A forked child has none of its parent's threads, and locks may be held for ever in its copy of the memory.
        os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        """A child process begins anew: its parent's records, connection and files are its parent's to deliver."""
        self._transport.forget()
        self._spool.forget()
        self._counts = Counts()
        self._reset()

    def _reset(self) -> None:
        self._queue: deque[tuple[str, dict[str, Any], int]] = deque()
        self._bytes = 0
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._closing = False
        self._thread: threading.Thread | None = None

    def hand(self, kind: str, record: dict[str, Any], size: int) -> None:
        """Take a record over. Never blocks on anything but a short lock, never raises."""
        with self._lock:
            self._counts.recorded += 1
            if len(self._queue) >= self._max_records or self._bytes + size > self._max_bytes or self._closing:
                self._counts.dropped += 1
                return
            self._queue.append((kind, record, size))
            self._bytes += size
            self._idle.clear()
            if self._thread is None:
                _close_with_the_worker(self.close)
                self._thread = threading.Thread(target=self._run, name="evergold-sdk", daemon=True)
                self._thread.start()
        # Outside the lock; the thread looks at the queue itself, so a missed or an extra wake-up does no harm.
        if len(self._queue) >= BATCH:
            self._woken.set()

    def refuse(self, why: str) -> None:
        """Count a record that was wrong from the start."""
        self._count(recorded=1, refused=1)
        log.warning("evergold: %s", why)

    def _count(self, **more: int) -> None:
        with self._lock:
            for name, number in more.items():
                setattr(self._counts, name, max(0, getattr(self._counts, name) + number))

    def counts(self) -> Counts:
        with self._lock:
            return replace(self._counts)

    def flush(self, timeout: float) -> bool:
        """Wait until everything handed over is delivered or on the disk; False when the time was too short."""
        if self._thread is None:
            return True
        self._woken.set()
        return self._idle.wait(timeout)

    def close(self, timeout: float = CLOSE_SECONDS) -> None:
        """Deliver or spool what is left, then end the thread. Closing twice is fine.

        When even `timeout` is too short, what is left goes to the disk from here; what was under way goes there too,
        and if it arrives after all, its ids make it one.
        """
        thread, closed = self._thread, self._closing
        self._closing = True
        if thread is None or closed:
            return
        self._woken.set()
        thread.join(timeout)
        if thread.is_alive():
            # A plain reference: the thread replaces the list and never changes it.
            left = self._in_flight
            while batch := self._take():
                left = left + self._encode(batch)
            self._keep(left)

    def _run(self) -> None:
        self._deliver_spool()
        while True:
            if not self._closing:
                self._woken.wait(LINGER_SECONDS)
                self._woken.clear()
            self._deliver_spool()
            while batch := self._take():
                self._deliver(self._encode(batch))
            self._deliver_spool()
            with self._lock:
                if not self._queue:
                    # Only under the lock: a record handed over in between would otherwise be reported as delivered.
                    self._idle.set()
            if self._closing and not self._queue:
                self._spool.seal()
                self._transport.close()
                return

    def _take(self) -> list[tuple[str, dict[str, Any], int]]:
        with self._lock:
            batch = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
            self._bytes -= sum(size for _, _, size in batch)
        return batch

    def _deliver(self, records: list[dict[str, Any]]) -> None:
        self._in_flight = records
        try:
            # While the pause lasts new records go straight to the disk; the server is not asked again.
            if time.monotonic() < self._away_until:
                raise Away(self._counts.last_error or "away")
            self._send(records)
        except Away as problem:
            self._wait_longer(str(problem))
            self._keep(records)
        except Exception as problem:
            self._report(f"{type(problem).__name__}: {problem}")
            self._keep(records)
        self._in_flight = []

    def _send(self, records: list[dict[str, Any]]) -> None:
        """Deliver. Records over which the other side stumbles are tried one by one, so that a bad one holds up no other."""
        try:
            refused = self._transport.send(records)
        except Away:
            raise
        except Exception as problem:
            if len(records) > 1:
                for record in records:
                    self._send([record])
                return
            refused = [f"{type(problem).__name__}: {problem}"]
        self._pause = self._away_until = 0.0
        self._count(delivered=len(records) - len(refused), refused=len(refused))
        for line in refused:
            self._report(line)

    def _keep(self, records: list[dict[str, Any]]) -> None:
        try:
            kept = self._spool.keep(records)
        except OSError as problem:
            self._report(f"cannot spool: {problem}")
            kept = 0
        self._count(spooled=kept, dropped=len(records) - kept)

    def _deliver_spool(self) -> None:
        """Send what lies on the disk, once the pause is over; a file goes when all of it has arrived."""
        if time.monotonic() < self._away_until:
            return
        try:
            self._spool.seal()
            for records, torn, path in self._spool.list_ripe():
                for start in range(0, len(records), BATCH):
                    self._send(records[start : start + BATCH])
                # Only when every batch has arrived: a crash before this sends the file again, which ids make harmless.
                path.unlink(missing_ok=True)
                self._count(spooled=-len(records), dropped=torn)
        except Away as problem:
            self._wait_longer(str(problem))
        except Exception as problem:
            self._report(f"{type(problem).__name__}: {problem}")
            self._wait_longer(str(problem))

    def _wait_longer(self, why: str) -> None:
        if time.monotonic() >= self._away_until:
            self._pause = min(LONGEST_PAUSE, max(FIRST_PAUSE, self._pause * 2))
            self._away_until = time.monotonic() + self._pause
        # The same reason once: a server that is away for an hour must not fill the app's log.
        if self._counts.last_error != why:
            self._report(why)

    def _report(self, why: str) -> None:
        with self._lock:
            self._counts.last_error = why
        log.warning("evergold: %s", why)

    def _encode(self, batch: list[tuple[str, dict[str, Any], int]]) -> list[dict[str, Any]]:
        """Make records plain JSON, with times as text. One that cannot be written as JSON is refused."""
        ready: list[dict[str, Any]] = []
        for kind, record, _ in batch:
            try:
                ready.append(encode_record(kind, record))
            except Exception as problem:
                self._count(refused=1)
                self._report(f"{kind} cannot be written as JSON: {problem}")
        return ready


def _close_with_the_worker(close: Callable[[], None]) -> None:
    """A process that `multiprocessing` started leaves without asking `atexit`; it asks its own list."""
    util = sys.modules.get("multiprocessing.util")
    process = sys.modules.get("multiprocessing.process")
    if util is not None and process is not None and process.parent_process() is not None:
        util.Finalize(None, close, exitpriority=0)
