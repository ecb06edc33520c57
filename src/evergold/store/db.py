"""The engine, and the one writer.

SQLite takes one writer at a time, so we give it exactly one: a thread that drains a queue of small functions, runs
each in a savepoint and commits them together. A caller that waits for its result has waited for the commit; many
callers share one fsync; and one caller's failure rolls back nobody else. PostgreSQL goes through the same door.
"""

import os
import socket
import threading
from asyncio import wrap_future
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from evergold.errors import BadInput, Unavailable
from evergold.model.ident import unit_interval
from evergold.store.commit.turns import BUSY_MS, WriteTurns
from evergold.store.commit.writer import Job, Writer
from evergold.store.failures import explained, met_another_server, shown
from evergold.store.watch import CONNECT_SECONDS, DatabaseWatch

T = TypeVar("T")
Work = Callable[[Connection], T]

# How long to wait for a lock or a connection before the caller is answered. One request may wait for a connection and then
# for a reader's lock, so those two together stay under the ten seconds that an exporter waits for its answer.
WRITE_LOCK_SECONDS = 8
READ_LOCK_SECONDS = POOL_SECONDS = 4
PATIENT_SECONDS = 120  # for SQLite's lock, where no request waits for an answer: commands and programs
# Pages of SQLite that a connection keeps. Readers have several connections, whose caches fill over hours and are emptied by
# every commit of the writer; the system keeps the file's pages as well.
WRITER_CACHE_KB, READER_CACHE_KB = 32_000, 8_000
FEWEST_CONNECTIONS = 4  # an upgrade uses three at once
KEPT_CONNECTIONS = 5  # stay open between two uses
LONGEST_STATEMENT = 2_000_000  # seconds; PostgreSQL counts milliseconds in 32 bits
TAKE_ANY_TIME = "SET LOCAL statement_timeout = 0"  # for upkeep and backups, which read whole tables
# PostgreSQL compresses long texts by lz4 where it can and nobody has chosen another way: a third less of its processor time
# for a span than by its own, older default.
COMPRESSION = (
    "SELECT set_config('default_toast_compression', 'lz4', false) FROM pg_settings "
    "WHERE name = 'default_toast_compression' AND source = 'default' AND 'lz4' = ANY (enumvals)"
)
POSTGRES = "postgresql+psycopg"
CONTENDED_TRIES = 3  # for what PostgreSQL undid because two writers waited for each other
SESSIONS = "evergold/"  # how the sessions of every process of ours are called in PostgreSQL


@dataclass(frozen=True)
class DatabaseLimits:
    """What a process may take of PostgreSQL: connections that read, and seconds for one of their statements (0: any time)."""

    connections: int = 15
    statement_seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.connections < FEWEST_CONNECTIONS:
            raise BadInput(f"database.connections = {self.connections} is not {FEWEST_CONNECTIONS} or more")
        if self.statement_seconds < 0:
            raise BadInput(f"database.statement_seconds = {self.statement_seconds:g} is below 0; 0 sets no limit")
        if not self.statement_seconds <= LONGEST_STATEMENT:
            raise BadInput(
                f"database.statement_seconds = {self.statement_seconds:g} is over {LONGEST_STATEMENT}; 0 sets no limit"
            )


class _Rehearsed(Exception):
    """Takes a rehearsal back and carries its result out."""

    def __init__(self, result: Any) -> None:
        super().__init__("rehearsed")
        self.result = result


class Database:
    """A database, open for reading by anybody and for writing through one queue."""

    def __init__(self, url: str, limits: DatabaseLimits | None = None) -> None:
        self.url = url
        self._turns = WriteTurns(sqlite_file(url) if _driver_of(url) == "sqlite" else None, PATIENT_SECONDS)
        self._writer_engine, self._reader_engine = _engines(url, limits or DatabaseLimits(), self._turns)
        self._writer = Writer(url, self._writer_engine, _log_of(url), self._reader_engine)
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
        with explained(self.url), self._reader_engine.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection that sees the database as it is now for as long as it is open; PostgreSQL's default is a statement."""
        with explained(self.url), self._reader_engine.connect() as connection:
            if self.dialect == "postgresql":
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
                connection.exec_driver_sql(TAKE_ANY_TIME)
            yield connection

    @contextmanager
    def aside(self) -> Iterator[Connection]:
        """A transaction beside the queue, for upkeep of PostgreSQL that may take long; SQLite has one writer alone."""
        with explained(self.url), self._reader_engine.begin() as connection:
            if self.dialect == "postgresql":
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
        with explained(self.url):
            return self.submit(work).result()

    def write_again(self, work: Work[T]) -> T:
        """Like `write`, and again where it met another server, three times at most; `work` must leave nothing behind but rows."""
        return _again(lambda: self.write(work))

    def write_with_own_keys(self, work: Work[T]) -> T:
        """Like `write_again`, alone, without following foreign keys on SQLite: it deletes what names the rows it deletes."""

        def alone() -> T:
            job = Job(work, Future(), alone=True, own_keys=True)
            with explained(self.url):
                self._writer.put(job)
                result: T = job.done.result()
                return result

        return _again(alone)

    def write_async(self, work: Work[T]) -> Awaitable[T]:
        return wrap_future(self.submit(work))

    def rewrite(self) -> None:
        """Write the file of SQLite anew, so that nothing deleted is left in its free space or its log; other writes wait.

        PostgreSQL clears deleted rows away by itself.
        """
        if self.dialect == "sqlite":
            job = Job(self._written_anew, Future(), alone=True, whole_file=True)
            with explained(self.url):
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
        self._turns.seconds = WRITE_LOCK_SECONDS

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

    def _written_anew(self, connection: Connection) -> None:
        driver = connection.connection.driver_connection
        assert driver is not None
        self._turns.ask(lambda: driver.execute("VACUUM").fetchall())
        # Readers keep the log; they are waited for, as they are not for a transaction.
        driver.execute(f"PRAGMA busy_timeout={1000 * WRITE_LOCK_SECONDS}")
        try:
            driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            driver.execute(f"PRAGMA busy_timeout={BUSY_MS}")

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


def _engines(url: str, limits: DatabaseLimits, turns: WriteTurns) -> tuple[Engine, Engine]:
    driver = _driver_of(url)
    try:
        if driver == "sqlite":
            # IMMEDIATE takes the write lock at once; a lock taken later could fail in the middle of a transaction.
            writer = _sqlite(url, WRITE_LOCK_SECONDS, WRITER_CACHE_KB)
            reader = _sqlite(url, READ_LOCK_SECONDS, READER_CACHE_KB)

            @event.listens_for(writer, "connect")
            def hurry(connection: Any, _: Any) -> None:
                connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")  # `WriteTurns` asks again

            @event.listens_for(writer, "begin")
            def begin_writing(connection: Connection) -> None:
                turns.ask(lambda: connection.exec_driver_sql("BEGIN IMMEDIATE"))

            @event.listens_for(reader, "begin")
            def begin_reading(connection: Connection) -> None:
                connection.exec_driver_sql("BEGIN")

            return writer, reader
        # One connection for the one writer thread.
        writer = _postgres(url, pool_size=1, max_overflow=0)
        kept = min(limits.connections, KEPT_CONNECTIONS)
        return writer, _postgres(url, limits.statement_seconds, pool_size=kept, max_overflow=limits.connections - kept)
    except ModuleNotFoundError as problem:
        raise BadInput("PostgreSQL needs its driver: pip install 'evergold[postgres]'") from problem


def _driver_of(url: str) -> str:
    """`sqlite` or `postgresql+psycopg`. A URL that cannot be parsed is not repeated: it may hold a password."""
    try:
        driver = make_url(url).drivername
    except (ArgumentError, ValueError) as problem:
        raise BadInput(
            f"the database URL cannot be read: {problem}; write postgresql://user:password@host:5432/name, "
            "with @, : and / in a password as %40, %3A and %2F"
        ) from problem
    if driver not in ("sqlite", POSTGRES):
        raise BadInput(f"database URL {shown(url)} begins with {driver}://; give postgresql://… or a file name")
    return driver


def sqlite_file(url: str) -> Path | None:
    """The file of an SQLite database; None for one in memory, and for PostgreSQL."""
    parsed = make_url(url)
    in_file = parsed.drivername.startswith("sqlite") and parsed.database not in (None, "", ":memory:")
    return Path(str(parsed.database)).absolute() if in_file else None


def _log_of(url: str) -> Path | None:
    """The write-ahead log of an SQLite file."""
    file = sqlite_file(url)
    return file.with_name(f"{file.name}-wal") if file else None


def session_name() -> str:
    """What PostgreSQL shows of this process's sessions; `store/restore.py` finds those of other processes by it."""
    return f"{SESSIONS}{socket.gethostname()[:40]}/{os.getpid()}"


def _postgres(url: str, statement_seconds: float = 0.0, **pool: int) -> Engine:
    """A server that vanished without a word is noticed by the kernel; one that is paused, by `DatabaseWatch`."""
    arguments = {
        "connect_timeout": CONNECT_SECONDS,
        "application_name": session_name(),
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 2,
        "tcp_user_timeout": 1000 * WRITE_LOCK_SECONDS,
    }
    given = make_url(url).query
    engine = create_engine(
        url,
        connect_args={name: value for name, value in arguments.items() if name not in given},
        pool_timeout=POOL_SECONDS,
        **pool,
    )

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _: Any) -> None:
        connection.execute(f"SET lock_timeout = '{WRITE_LOCK_SECONDS}s'")
        if statement_seconds:
            connection.execute(f"SET statement_timeout = {round(statement_seconds * 1000)}")
        connection.execute(COMPRESSION)
        connection.commit()

    return engine


def _sqlite(url: str, seconds: int, cache_kb: int) -> Engine:
    path = make_url(url).database
    if path and path != ":memory:" and not Path(path).parent.is_dir():
        raise Unavailable(f"database {path!r}: its folder does not exist; create it, or set EVERGOLD_HOME")
    # The connection given back last is taken first: it has pages in its cache, and the caches of the others stay small.
    pool = {"pool_timeout": POOL_SECONDS, "pool_use_lifo": True} if path and path != ":memory:" else {}
    engine = create_engine(url, connect_args={"timeout": seconds, "check_same_thread": False}, **pool)

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _: Any) -> None:
        # The driver begins no transactions of its own: `_engines` does, with the right kind of BEGIN.
        connection.isolation_level = None
        connection.create_function("unit_interval", 1, unit_interval, deterministic=True)
        for pragma in (
            "page_size=8192",  # of a new file: rows of some kilobytes leave less of a page empty
            "journal_mode=WAL",
            "foreign_keys=ON",
            "synchronous=NORMAL",  # what `syncing` does is what makes it FULL
            "temp_store=MEMORY",
            f"cache_size=-{cache_kb}",
            "wal_autocheckpoint=8000",  # pages; `checkpointing` has copied most of them by then
        ):
            connection.execute(f"PRAGMA {pragma}")

    return engine
