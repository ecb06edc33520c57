"""The engine, and the one writer.

SQLite takes one writer at a time, so we give it exactly one: a thread that drains a queue of small functions, runs
each in a savepoint and commits them together. A caller that waits for its result has waited for the commit; many
callers share one fsync; and one caller's failure rolls back nobody else. PostgreSQL goes through the same door.
"""

import queue
import threading
from asyncio import wrap_future
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from evergold.errors import BadInput, Unavailable
from evergold.model.ident import unit_interval
from evergold.store.checkpointing import Checkpointing
from evergold.store.syncing import Outcome, Syncing

T = TypeVar("T")
Work = Callable[[Connection], T]

GROUP = 256
BUSY_SECONDS = 30


@dataclass(frozen=True)
class _Job:
    """Something to write, and the future of whoever waits for it."""

    work: Work[Any]
    done: Future[Any]
    alone: bool
    whole_file: bool = False  # not a transaction: something done to the file itself


def _ends_group(job: _Job | None) -> bool:
    return job is None or job.alone


class _Rehearsed(Exception):
    """Takes a rehearsal back and carries its result out."""

    def __init__(self, result: Any) -> None:
        super().__init__("rehearsed")
        self.result = result


class Database:
    """A database, open for reading by anybody and for writing through one queue."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._writer_engine, self._reader_engine = _engines(url)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._taking = threading.Lock()  # what is taken before it closes is done, and nothing is taken after
        self._closed = False
        log = _log_of(url)
        self._syncing = Syncing(log)
        self._checkpointing = Checkpointing(self._reader_engine if log else None)

    @property
    def dialect(self) -> str:
        return self._writer_engine.dialect.name

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one consistent state."""
        with explained(self.url), self._reader_engine.connect() as connection:
            yield connection

    def submit(self, work: Work[T], *, alone: bool = False) -> Future[T]:
        """Queue `work`; its future is done when the commit is. `alone`: it is large enough for a transaction of its own."""
        done: Future[T] = Future()
        self._queue(_Job(work, done, alone))
        return done

    def _queue(self, job: _Job) -> None:
        job.done.set_running_or_notify_cancel()  # a caller that goes away must not stop the writer
        with self._taking:
            if self._closed:
                raise Unavailable("the database is closed; open the workspace again")
            self._jobs.put(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._drain, name="evergold-writer", daemon=True)
                self._thread.start()

    def write(self, work: Work[T]) -> T:
        """Run `work(connection)` on the writer and return its result after the commit."""
        with explained(self.url):
            return self.submit(work).result()

    def write_async(self, work: Work[T]) -> Awaitable[T]:
        return wrap_future(self.submit(work))

    def rewrite(self) -> None:
        """Write the file of SQLite anew, so that nothing deleted is left in its free space or its log; other writes wait.

        PostgreSQL clears deleted rows away by itself.
        """
        if self.dialect == "sqlite":
            job = _Job(_written_anew, Future(), alone=True, whole_file=True)
            with explained(self.url):
                self._queue(job)
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

    def close(self) -> None:
        """Finish what is queued, then let go of the files."""
        with self._taking:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        if self._thread is not None:
            self._thread.join()
        self._syncing.close()
        self._checkpointing.close()
        self._reader_engine.dispose()
        self._writer_engine.dispose()

    def _drain(self) -> None:
        last = False
        while not last:
            batch = [self._jobs.get()]
            while len(batch) < GROUP and not _ends_group(batch[-1]) and not self._jobs.empty():
                batch.append(self._jobs.get())
            last = None in batch
            jobs = [job for job in batch if job is not None]
            if len(jobs) > 1 and jobs[-1].alone:
                self._commit(jobs[:-1])
                jobs = jobs[-1:]
            if jobs:
                self._commit(jobs)

    def _commit(self, jobs: Sequence[_Job]) -> None:
        outcomes: list[Outcome] = []
        try:
            with (
                self._writer_engine.connect() as connection,
                nullcontext() if jobs[0].whole_file else connection.begin(),
            ):
                for job in jobs:
                    if len(jobs) == 1:  # alone it needs no savepoint: what it fails to do goes with the transaction
                        outcomes.append(Outcome(job.done, job.work(connection)))
                        break
                    try:
                        with connection.begin_nested():
                            outcomes.append(Outcome(job.done, job.work(connection)))
                    except Exception as problem:
                        outcomes.append(Outcome(job.done, failure=problem))
        except BaseException as problem:
            outcomes = [Outcome(job.done, failure=problem) for job in jobs]
        self._syncing.resolve(outcomes)
        if jobs[0].alone:
            self._checkpointing.wrote_much()


def _written_anew(connection: Connection) -> None:
    driver = connection.connection.driver_connection
    assert driver is not None
    for statement in ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
        driver.execute(statement).fetchall()


@contextmanager
def explained(url: str) -> Iterator[None]:
    """A driver's complaint about the database itself, in one line that says which and what to do."""
    try:
        yield
    except DBAPIError as problem:
        text = str(problem.orig).strip().splitlines()[0] if str(problem.orig).strip() else type(problem.orig).__name__
        for sign, advice in _ADVICE.items():
            if sign in text.lower():
                raise Unavailable(f"database {shown(url)}: {text}; {advice}") from problem
        raise


_ADVICE = {
    "unable to open": "check that the folder exists and may be written, or set EVERGOLD_HOME",
    "readonly": "make the file and its folder writable, or set EVERGOLD_HOME",
    "not a database": "this is not an SQLite file; name another with --db",
    "malformed": "the file is damaged; restore a copy, or name another with --db",
    "locked": "another program holds it; try again, or use PostgreSQL for many writers",
    "disk i/o": "check the disk",
    "is full": "free some space",
    "connection": "check that the server runs and that EVERGOLD_DATABASE_URL is right",
    "authentication": "check user and password in EVERGOLD_DATABASE_URL",
    "does not exist": "create it first, or correct EVERGOLD_DATABASE_URL",
}


def shown(url: str) -> str:
    """The URL without its password."""
    parsed = make_url(url)
    return repr(parsed.database) if parsed.drivername.startswith("sqlite") else repr(parsed.render_as_string())


def _engines(url: str) -> tuple[Engine, Engine]:
    try:
        if make_url(url).drivername.startswith("sqlite"):
            return _sqlite(url, "BEGIN IMMEDIATE"), _sqlite(url, "BEGIN")
        return create_engine(url, pool_size=1, max_overflow=0, pool_pre_ping=True), create_engine(
            url, pool_pre_ping=True
        )
    except (ArgumentError, NoSuchModuleError) as problem:
        raise BadInput(
            f"database URL {url!r} cannot be used: {problem}; give postgresql://… or a file name"
        ) from problem
    except ModuleNotFoundError as problem:
        raise BadInput("PostgreSQL needs its driver: pip install 'evergold[postgres]'") from problem


def _log_of(url: str) -> Path | None:
    """The write-ahead log of an SQLite file."""
    parsed = make_url(url)
    in_file = parsed.drivername.startswith("sqlite") and parsed.database not in (None, "", ":memory:")
    return Path(f"{parsed.database}-wal").absolute() if in_file else None


def _sqlite(url: str, begin: str) -> Engine:
    path = make_url(url).database
    if path and path != ":memory:" and not Path(path).parent.is_dir():
        raise Unavailable(f"database {path!r}: its folder does not exist; create it, or set EVERGOLD_HOME")
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _: Any) -> None:
        connection.isolation_level = None
        connection.create_function("unit_interval", 1, unit_interval, deterministic=True)
        for pragma in (
            "journal_mode=WAL",
            "foreign_keys=ON",
            "synchronous=NORMAL",  # what `syncing` does is what makes it FULL
            "temp_store=MEMORY",
            "cache_size=-32000",
            "wal_autocheckpoint=16000",  # pages; `checkpointing` has copied most of them by then
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def start(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine
