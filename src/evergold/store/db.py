"""A database, and its one writer.

SQLite takes one writer at a time, so we give it exactly one: a thread that drains a queue of small functions, runs
each in a savepoint and commits them together. A caller that waits for its result has waited for the commit; many
callers share one fsync; and one caller's failure rolls back nobody else. PostgreSQL goes through the same door.
"""

import threading
from asyncio import wrap_future
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import Connection, event

from evergold.store.database.engines import WRITE_LOCK_SECONDS, DatabaseLimits, DatabaseWatch, open_engines, sqlite_file
from evergold.store.database.failures import explain_errors, met_another_server
from evergold.store.sqlite_lock import WriteLock
from evergold.store.writer import Job, Writer

T = TypeVar("T")
Work = Callable[[Connection], T]

PATIENT_SECONDS = 120  # for SQLite's lock, where no request waits for an answer: commands and programs
SUBMIT = "submit_write"  # the option by which a reader's connection has a write done without waiting for it
TAKE_ANY_TIME = "SET LOCAL statement_timeout = 0"  # for backups, which read whole tables
CONTENDED_TRIES = 3  # for what PostgreSQL undid because two writers waited for each other


class _Rehearsed(Exception):
    """Takes a rehearsal back and carries its result out."""

    def __init__(self, result: Any) -> None:
        super().__init__("rehearsed")
        self.result = result


class Database:
    """A database, open for reading by anybody and for writing through one queue."""

    def __init__(self, url: str, limits: DatabaseLimits | None = None) -> None:
        self.url = url
        self._writer_engine, self._reader_engine = open_engines(url, limits or DatabaseLimits())
        self._lock = WriteLock(sqlite_file(url), PATIENT_SECONDS)
        self._reader_engine.update_execution_options(**{SUBMIT: self.submit})
        if self.dialect == "sqlite":
            self._choose_begin()
        self._writer = Writer(url, self._writer_engine)
        self._watch = (
            None if self.dialect == "sqlite" else DatabaseWatch(url, (self._writer_engine, self._reader_engine))
        )

    @property
    def dialect(self) -> str:
        return self._writer_engine.dialect.name

    @property
    def waiting(self) -> int:
        """Jobs that wait for the writer."""
        return self._writer.waiting

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one consistent state."""
        with explain_errors(self.url), self._reader_engine.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection that sees the database as it is now for as long as it is open; PostgreSQL's default is a statement."""
        with explain_errors(self.url), self._reader_engine.connect() as connection:
            if self.dialect == "postgresql":
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
                connection.exec_driver_sql(TAKE_ANY_TIME)
            yield connection

    def submit(self, work: Work[T], *, alone: bool = False, wanted: Callable[[], bool] = lambda: True) -> Future[T]:
        """Queue `work`; its future is done when the commit is. `alone`: it is large enough for a transaction of its own.

        It is left out when `wanted` says, at its turn, that nobody waits for it any more.
        """
        done: Future[T] = Future()
        self._writer.put(Job(work, done, alone, wanted=wanted))
        return done

    def write(self, work: Work[T]) -> T:
        """Run `work(connection)` on the writer and return its result after the commit."""
        with explain_errors(self.url):
            return self.submit(work).result()

    def write_again(self, work: Work[T]) -> T:
        """Like `write`, and again where it met another server, three times at most; `work` must leave nothing behind but rows."""
        return _again(lambda: self.write(work))

    def write_async(self, work: Work[T]) -> Awaitable[T]:
        return wrap_future(self.submit(work))

    def rewrite(self) -> None:
        """Write the file of SQLite anew, so that nothing deleted is left in its free space or its log; other writes wait.

        PostgreSQL clears deleted rows away by itself.
        """
        if self.dialect == "sqlite":
            job = Job(self._written_anew, Future(), alone=True, whole_file=True)
            with explain_errors(self.url):
                self._writer.put(job)
                job.done.result()

    def rehearse(self, work: Work[T]) -> T:
        """What `work` returns, with everything it wrote taken back."""

        def undone(connection: Connection) -> None:
            raise _Rehearsed(work(connection))

        try:
            self.write(undone)
        except _Rehearsed as done:
            result: T = done.result
            return result
        raise AssertionError("a rehearsal ends by being taken back")

    def answer_soon(self) -> None:
        """From now on wait for the lock of SQLite no longer than somebody who sent a request does."""
        self._lock.seconds = WRITE_LOCK_SECONDS

    def close(self) -> None:
        """Finish what is queued, then let go of the files."""
        if not self._writer.close():
            return
        if self._watch is not None:
            self._watch.close()
        self._reader_engine.dispose()

    def close_within(self, seconds: float) -> None:
        """From now on allow what is queued so long; whatever then waits for the database fails, so that a server can end.

        Returns at once; `close` is called as always.
        """
        timer = threading.Timer(seconds, self._abandon)
        timer.daemon = True
        timer.start()

    def _choose_begin(self) -> None:
        # IMMEDIATE takes the write lock at once; a lock taken later could fail in the middle of a transaction.
        @event.listens_for(self._writer_engine, "begin")
        def begin_writing(connection: Connection) -> None:
            connection.exec_driver_sql(f"PRAGMA busy_timeout={self._lock.busy_ms}")
            self._lock.take(lambda: connection.exec_driver_sql("BEGIN IMMEDIATE"))

        @event.listens_for(self._reader_engine, "begin")
        def begin_reading(connection: Connection) -> None:
            connection.exec_driver_sql("BEGIN")

    def _written_anew(self, connection: Connection) -> None:
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.execute(f"PRAGMA busy_timeout={self._lock.busy_ms}")
        self._lock.take(lambda: driver.execute("VACUUM").fetchall())
        driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _abandon(self) -> None:
        self._writer.abandon()
        if self._watch is not None:
            self._watch.disconnect()


def _again(write: Callable[[], T]) -> T:
    for _ in range(CONTENDED_TRIES - 1):
        try:
            return write()
        except Exception as problem:
            # The other server has gone on meanwhile.
            if not met_another_server(problem):
                raise
    return write()
