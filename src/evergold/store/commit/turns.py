"""Several processes write to one SQLite file: they wait for each other and take turns.

SQLite itself lets a process ask for its lock again and again, with pauses of up to a tenth of a second. One that commits without
a pause takes the lock back before another has asked once more, for as long as it has work. So whoever wants the lock first
locks a file beside the database (`…-turn`), and unlocks it as soon as it has the database's: of those that wait one asks for
the database, and the one that has just written waits behind it.

The file decides nothing but the order: where it cannot be locked, SQLite's own lock keeps the writers apart as ever.
"""

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from evergold.errors import Unavailable
from evergold.machine import lock, unlock
from evergold.store.commit.lock_holder import lock_holder

ASK_SECONDS = 0.005  # between two looks at the file of turns
LOG_SECONDS = 5.0
BUSY_MS = 20  # in which SQLite itself asks again, with pauses of 1 to 10 ms
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)

log = logging.getLogger(__name__)


class WriteTurns:
    """The writers of an SQLite file; `file` is None for a database in memory, which has no others."""

    def __init__(self, file: Path | None, seconds: float) -> None:
        self._file = file
        self._queue = file.with_name(f"{file.name}-turn") if file else None
        self.seconds = seconds  # that one of them waits at most

    def ask(self, locking: Callable[[], object]) -> None:
        """Run `locking`, a statement that takes the lock for writing, until it has it; `Unavailable` after all patience."""
        wait = _Wait(self._file, self.seconds)
        with self._first(wait):
            while True:
                try:
                    locking()
                    return
                except (sqlite3.OperationalError, DBAPIError) as problem:
                    if not _is_busy(problem) or self._file is None:
                        raise
                    wait.go_on()

    @contextmanager
    def _first(self, wait: "_Wait") -> Iterator[None]:
        """Be the one that asks for the database."""
        try:
            descriptor = (
                -1 if self._queue is None else os.open(self._queue, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            )
        except OSError:  # a folder that cannot be written; SQLite says so better
            descriptor = -1
        if descriptor < 0:
            yield
            return
        try:
            while not _locked(descriptor):
                time.sleep(ASK_SECONDS)
                wait.go_on()
            try:
                yield
            finally:
                # Not left to the closing: a process forked meanwhile has the same open file.
                unlock(descriptor)
        finally:
            os.close(descriptor)


class _Wait:
    """One wait: since when, and when it was last logged."""

    def __init__(self, file: Path | None, seconds: float) -> None:
        self._file, self._seconds = file, seconds
        self._began = self._logged = time.monotonic()

    def go_on(self) -> None:
        """Raise `Unavailable` when it has lasted too long; log it, which a command shows on stderr, when it lasts long."""
        now = time.monotonic()
        if now - self._began >= self._seconds:
            raise Unavailable(
                f"database {str(self._file)!r} was locked for {self._seconds:g} s by {lock_holder(self._file)}; nothing of this "
                "was written: try again when it has ended, or use PostgreSQL for many writers"
            )
        if now - self._logged >= LOG_SECONDS:
            self._logged = now
            log.warning("waiting for the database, locked by %s (%.0f s)", lock_holder(self._file), now - self._began)


def _locked(descriptor: int) -> bool:
    try:
        lock(descriptor, wait=False)
    except BlockingIOError:
        return False
    except OSError:  # a file system without such locks: everybody is first
        return True
    return True


def _is_busy(problem: Exception) -> bool:
    cause = problem.orig if isinstance(problem, DBAPIError) else problem
    code = getattr(cause, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _BUSY
