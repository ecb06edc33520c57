"""Open a database: one engine for the writer, one for readers, with the limits and settings that each kind needs.

`DatabaseWatch` notices a PostgreSQL server that is paused or cut off, which no timeout of the driver covers. A server that was
stopped with SIGSTOP, or whose disk hangs, still accepts connections in its kernel: a statement waits for an answer without
end. So when a connection has been in use for some seconds, a new one is tried. If the server gives that one no answer either,
the connections in use are cut, and their callers get an error instead of waiting. A server that is merely slow answers the
new connection, if only by refusing it, and nothing is cut.
"""

import os
import socket
import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from evergold.errors import BadInput, Unavailable
from evergold.machine import open_file
from evergold.model.values import unit_interval
from evergold.store.database.failures import show_url

CONNECT_SECONDS = 3
SUSPECT_SECONDS = 2.0  # a connection in use for so long is a reason to ask
LOOK_SECONDS, REST_SECONDS = 0.5, 1.0  # between two looks, and after a server that answered
NO_ANSWER = "timeout expired"  # psycopg's words; every other refusal comes from a living server


class DatabaseWatch:
    """Watches the connections of some engines from their first use until it is closed."""

    def __init__(self, url: str, engines: Sequence[Engine]) -> None:
        self._probe = create_engine(url, connect_args={"connect_timeout": CONNECT_SECONDS}, poolclass=NullPool)
        self._in_use: dict[int, tuple[Any, float]] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        for engine in engines:
            event.listen(engine, "checkout", partial(self._check_out, engine.dialect))
            for end in ("checkin", "invalidate", "close"):  # one that broke in use is never checked in
                event.listen(engine, end, self._check_in)

    def close(self) -> None:
        self._closing.set()
        self._probe.dispose()

    def disconnect(self, older_than: float = 0.0) -> None:
        """Cut every connection that has been in use for so many seconds; their callers get an error at once."""
        for connection in self._list_stuck(older_than):
            # A connection may be lost or closed by now, which each driver reports in its own way. Whatever one of them
            # raises, the others are cut too: a watch that ended here would leave their callers waiting for ever.
            # `dup`: the socket object may close its own descriptor, never the driver's.
            with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as end:
                end.shutdown(socket.SHUT_RDWR)

    def _check_out(self, dialect: Any, connection: Any, record: Any, _: Any) -> None:
        """Note a connection as in use, then ask whether it still works: what the pool's own ping does, but watched."""
        with self._lock:
            self._in_use[id(connection)] = (connection, time.monotonic())
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="evergold-watch", daemon=True)
                self._thread.start()
        # A connection that was just made has answered already.
        if not record.fresh:
            try:
                dialect.do_ping(connection)
            except dialect.dbapi.Error as problem:
                self._check_in(connection, record)
                raise DisconnectionError(str(problem)) from problem  # the pool makes a new connection

    def _check_in(self, connection: Any, *_: Any) -> None:
        with self._lock:
            self._in_use.pop(id(connection), None)

    def _run(self) -> None:
        while not self._closing.wait(LOOK_SECONDS):
            if not self._list_stuck(SUSPECT_SECONDS):
                continue
            if self._answers():
                self._closing.wait(REST_SECONDS)
            else:
                self.disconnect(SUSPECT_SECONDS)

    def _list_stuck(self, older_than: float) -> list[Any]:
        """The connections that have been in use for so many seconds."""
        limit = time.monotonic() - older_than
        with self._lock:
            return [connection for connection, since in self._in_use.values() if since <= limit]

    def _answers(self) -> bool:
        """Whether the server says anything at all to a new connection."""
        try:
            self._probe.connect().close()
        except SQLAlchemyError as problem:
            return NO_ANSWER not in str(problem).lower()
        return True


# How long to wait for a lock or a connection before the caller is answered. One request may wait for a connection and then
# for a reader's lock, so those two together stay under the ten seconds that an exporter waits for its answer.
WRITE_LOCK_SECONDS = 8
READ_LOCK_SECONDS = POOL_SECONDS = 4
# Pages of SQLite that a connection keeps. Readers have several connections, whose caches fill over hours and are emptied by
# every commit of the writer; the system keeps the file's pages as well.
WRITER_CACHE_KB, READER_CACHE_KB = 32_000, 8_000
OF_A_NEW_FILE = ("page_size=8192", "journal_mode=WAL")  # rows of some kilobytes leave less of such a page empty
FEWEST_CONNECTIONS = 4  # an upgrade uses three at once
KEPT_CONNECTIONS = 5  # stay open between two uses
LONGEST_STATEMENT = 2_000_000  # seconds; PostgreSQL counts milliseconds in 32 bits
# PostgreSQL compresses long texts by lz4 where it can and nobody has chosen another way: a third less of its processor time
# for a span than by its own, older default.
COMPRESSION = (
    "SELECT set_config('default_toast_compression', 'lz4', false) FROM pg_settings "
    "WHERE name = 'default_toast_compression' AND source = 'default' AND 'lz4' = ANY (enumvals)"
)
POSTGRES = "postgresql+psycopg"
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


def open_engines(url: str, limits: DatabaseLimits) -> tuple[Engine, Engine]:
    """The engine of the one writer, and that of readers. On SQLite whoever opens them says how transactions begin."""
    driver = _driver_of(url)
    try:
        if driver == "sqlite":
            return _sqlite(url, WRITE_LOCK_SECONDS, WRITER_CACHE_KB), _sqlite(url, READ_LOCK_SECONDS, READER_CACHE_KB)
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
            "the database URL cannot be read; write postgresql://user:password@host:5432/name, "
            "with @, : and / in a password as %40, %3A and %2F"
        ) from problem
    if driver not in ("sqlite", POSTGRES):
        raise BadInput(f"database URL {show_url(url)} begins with {driver}://; give postgresql://… or a file name")
    return driver


def create_private(file: Path) -> None:
    """Make an empty file for its owner alone; SQLite would ask the umask, and its log has the same mode."""
    with suppress(OSError):  # SQLite says what is wrong
        open_file(file, "xb", private=True).close()


def create_database(file: Path) -> None:
    """Make a new database in which nobody has to change the kind of its log: those who do so at once are in each other's way.

    It is made under a name of its own and appears whole, so that nobody opens a part of it and its file is not opened again:
    closing that would lift the locks that SQLite holds on it in this process.
    """
    if file.exists():
        return
    made = file.with_name(f"{file.name}.{uuid4().hex[:8]}")
    create_private(made)
    try:
        with suppress(sqlite3.Error), closing(sqlite3.connect(made)) as connection:
            for pragma in OF_A_NEW_FILE:
                connection.execute(f"PRAGMA {pragma}")
        os.link(made, file)
    except FileExistsError:
        pass  # another one was faster
    except OSError:
        create_private(file)  # the disk knows no links, or nothing can be made here
    finally:
        made.unlink(missing_ok=True)


def sqlite_file(url: str) -> Path | None:
    """The file of an SQLite database; None for one in memory, and for PostgreSQL."""
    parsed = make_url(url)
    in_file = parsed.drivername.startswith("sqlite") and parsed.database not in (None, "", ":memory:")
    return Path(str(parsed.database)).absolute() if in_file else None


def session_name() -> str:
    """What PostgreSQL shows of this process's sessions; `store/database/backup.py` finds those of other processes by it."""
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
    in_file = path not in (None, "", ":memory:")
    if in_file and not Path(str(path)).parent.is_dir():
        raise Unavailable(f"database {path!r}: its folder does not exist; create it, or set EVERGOLD_HOME")
    if path and not path.startswith((":memory:", "file:")):
        create_database(Path(path))
    # The connection given back last is taken first: it has pages in its cache, and the caches of the others stay small.
    pool = {"pool_timeout": POOL_SECONDS, "pool_use_lifo": True} if in_file else {}
    engine = create_engine(url, connect_args={"timeout": seconds, "check_same_thread": False}, **pool)

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _: Any) -> None:
        # The driver begins no transactions of its own: `Database` does, with the right kind of BEGIN.
        connection.isolation_level = None
        connection.create_function("unit_interval", 1, unit_interval, deterministic=True)
        for pragma in (
            *OF_A_NEW_FILE,
            "foreign_keys=ON",
            "synchronous=FULL",  # whoever was told of a commit finds it after a power failure
            "temp_store=MEMORY",
            "secure_delete=OFF",  # some builds overwrite what is deleted, which takes as long again; erasure turns it on
            f"cache_size=-{cache_kb}",
        ):
            connection.execute(f"PRAGMA {pragma}")

    return engine
