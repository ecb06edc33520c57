"""A database, and its one writer: a thread that takes jobs from a queue and commits them in groups.

SQLite takes one writer at a time, so we give it exactly one. It runs each of its small functions in a savepoint and commits
them together: a caller that waits for its result has waited for the commit, which is then on the disk; many callers share one
fsync; and one caller's failure rolls back nobody else. PostgreSQL goes through the same door.

Whatever happens to a job, its future is settled: the work fails, BEGIN fails, the connection is lost, the commit fails, the
thread itself dies, or the database is closed first. When the database cannot be reached or locked, every job that waits
at that moment fails with the same reason: each would otherwise wait as long again, one after the other.

For its lock SQLite itself asks again for `ASK_SECONDS`; a wait that lasts longer is logged, which a command shows on stderr,
until the patience of the caller is over. The holder is found in the list that Linux keeps of all file locks, not by a file
handle of our own: closing that would take away the locks of SQLite in this process.
"""

import logging
import queue
import sqlite3
import threading
import time
from asyncio import wrap_future
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Row, event
from sqlalchemy.exc import DBAPIError

from evergold.errors import Unavailable
from evergold.store.database.engines import WRITE_LOCK_SECONDS, DatabaseLimits, DatabaseWatch, open_engines, sqlite_file
from evergold.store.database.failures import explain_errors, explanation, met_another_server, sqlite_code
from evergold.store.database.rows import run_sql

ASK_SECONDS = 4.0
LOCKS = Path("/proc/locks")
WRITE_BYTE = "120"  # of the `-shm` file: WAL_WRITE_LOCK in SQLite's file format
UNKNOWN = "another program"
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)

log = logging.getLogger(__name__)


class WriteLock:
    """The lock of an SQLite file; `file` is None for a database in memory, which has no other writers."""

    def __init__(self, file: Path | None, seconds: float) -> None:
        self._file = file
        self.seconds = seconds  # that a writer waits at most

    @property
    def busy_ms(self) -> int:
        """For how long SQLite itself asks again."""
        return round(1000 * min(self.seconds, ASK_SECONDS))

    def take(self, statement: Callable[[], object]) -> None:
        """Run a statement that takes the lock until it has it; `Unavailable` after all patience."""
        began = time.monotonic()
        while True:
            try:
                statement()
                return
            except (sqlite3.OperationalError, DBAPIError) as problem:
                cause = problem.orig if isinstance(problem, DBAPIError) else problem
                if sqlite_code(cause) not in _BUSY or self._file is None:
                    raise
            waited = time.monotonic() - began
            if waited >= self.seconds:
                raise Unavailable(
                    f"database {str(self._file)!r} was locked for {self.seconds:g} s by {lock_holder(self._file)}; nothing of "
                    "this was written: try again when it has ended, or use PostgreSQL for many writers"
                )
            log.warning("waiting for the database, locked by %s (%.0f s)", lock_holder(self._file), waited)


def lock_holder(file: Path | None) -> str:
    """The process and the first words of its command, as `evergold curate, process 123`; less where less is known."""
    pid = None if file is None else _find_writer(file)
    if pid is None:
        return UNKNOWN
    words = _command(pid)
    return f"{words}, process {pid}" if words else f"process {pid}"


def _find_writer(file: Path) -> int | None:
    try:
        number = str(file.with_name(f"{file.name}-shm").stat().st_ino)
        lines = LOCKS.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    for line in lines:
        # 1: POSIX  ADVISORY  WRITE 4711 fd:01:1234 120 120; those that wait for it have an arrow before POSIX
        fields = line.split()
        if fields[1:2] == ["POSIX"] and fields[3] == "WRITE" and fields[5].rsplit(":", 1)[1] == number:
            pid, first = int(fields[4]), fields[6]
            if first == WRITE_BYTE and pid > 0:  # 0 or less: a process of another container
                return pid
    return None


def _command(pid: int) -> str:
    """The program and its first argument; no more, because arguments may hold secrets."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    if Path(words[0]).name.startswith("python") and len(words) > 1:
        words = words[2:] if words[1] == "-m" else words[1:]
    shown = [Path(word).name if at == 0 else word for at, word in enumerate(words[:2])]
    return " ".join(word for word in shown if word[:1].isalnum() and word.replace("-", "").replace(".", "").isalnum())


# Jobs in one transaction: many callers share a commit, and none waits for hundreds of others to run.
GROUP = 256


@dataclass(frozen=True, eq=False)
class Job:
    """Something to write, and the future of the caller that waits for it."""

    work: Callable[[Connection], Any]
    done: Future[Any]
    alone: bool = False
    whole_file: bool = False  # not a transaction: something done to the file itself
    wanted: Callable[[], bool] = lambda: True  # false once every caller has given up


class WriterThread:
    """Runs jobs in a thread of its own, which starts with the first of them."""

    def __init__(self, url: str, engine: Engine) -> None:
        self._url, self._engine = url, engine
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._taking = threading.Lock()  # what is taken before it closes is settled, and nothing is taken after
        self._closed = False
        self._current: Sequence[Job] = ()
        self._ended = threading.Event()  # every job is settled and none can come
        self.abandoned = False

    @property
    def waiting(self) -> int:
        """How many jobs have not been begun."""
        return self._jobs.qsize()

    def put(self, job: Job) -> None:
        """Queue a job; its future is settled whatever happens."""
        job.done.set_running_or_notify_cancel()  # a caller that goes away must not stop the writer
        with self._taking:
            if self._closed or self.abandoned:
                raise Unavailable("the database is closed; open the workspace again")
            self._jobs.put(job)
            # A thread ends with its last job after `close`; after a fork it does not exist in the child.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="evergold-writer", daemon=True)
                self._thread.start()

    def close(self) -> bool:
        """Take no more jobs and finish those that wait; False when it was closed before."""
        with self._taking:
            if self._closed:
                return False
            self._closed = True
            if self._thread is None:
                self._ended.set()
            self._jobs.put(None)
        self._ended.wait()
        return True

    def abandon(self) -> None:
        """Take no more jobs and fail those that wait, the one under way included: its thread ends when it can."""
        with self._taking:
            if self._ended.is_set():
                return
            self.abandoned = True
            gone = Unavailable("the server stopped before this was written; send it again")
            _fail(self._current, gone)
            self._fail_waiting(gone)
            self._jobs.put(None)
        self._ended.set()

    def _run(self) -> None:
        last = False
        while not last:
            batch = [self._jobs.get()]
            # Whatever waits joins the group, up to and including a job that wants a transaction of its own.
            while len(batch) < GROUP and batch[-1] and not batch[-1].alone and not self._jobs.empty():
                batch.append(self._jobs.get())
            last = None in batch
            jobs = [job for job in batch if job is not None]
            self._current = jobs
            try:
                self._commit_wanted(jobs)
            except BaseException as problem:  # a thread that ended here would leave every caller waiting
                _fail(jobs, problem)
            self._current = ()
        self._engine.dispose()
        self._ended.set()

    def _commit_wanted(self, jobs: Sequence[Job]) -> None:
        wanted = [job for job in jobs if job.wanted()]
        if len(wanted) < len(jobs):
            _fail([job for job in jobs if job not in wanted], Unavailable("nobody waits for it any more"))
        # The small ones are committed before it, so that they do not wait for a large one to run.
        if len(wanted) > 1 and wanted[-1].alone:
            self._commit(wanted[:-1])
            wanted = wanted[-1:]
        if wanted:
            self._commit(wanted)

    def _commit(self, jobs: Sequence[Job]) -> None:
        """Run jobs in one transaction, and tell each caller what became of its own."""
        began = False
        try:
            with self._engine.connect() as connection, nullcontext() if jobs[0].whole_file else connection.begin():
                began = True
                outcomes = [self._run_job(connection, job, nested=len(jobs) > 1) for job in jobs]
        except BaseException as problem:
            failure = explanation(self._url, problem) or problem
            _fail(jobs, failure)
            # Without an answer from the database, the next job would only wait as long again.
            if not began or (isinstance(problem, DBAPIError) and problem.connection_invalidated):
                self._fail_waiting(failure)
        else:
            for job, outcome in zip(jobs, outcomes, strict=True):
                _settle(job, *outcome)

    def _run_job(self, connection: Connection, job: Job, *, nested: bool) -> tuple[Any, BaseException | None]:
        """Run one job; its result, or why there is none. Alone it needs no savepoint: what fails goes with the transaction."""
        if not nested:
            return job.work(connection), None
        try:
            with connection.begin_nested():
                return job.work(connection), None
        except Exception as problem:
            if isinstance(problem, DBAPIError) and problem.connection_invalidated:
                raise  # the others of the group went with the connection
            return None, explanation(self._url, problem) or problem

    def _fail_waiting(self, problem: BaseException) -> None:
        """Fail every job that waits now; a request to end stays in the queue."""
        ends = False
        while not self._jobs.empty():
            job = self._jobs.get()
            ends = ends or job is None
            if job is not None:
                _settle(job, failure=problem)
        if ends:
            self._jobs.put(None)


def _fail(jobs: Sequence[Job], problem: BaseException) -> None:
    for job in jobs:
        _settle(job, failure=problem)


def _settle(job: Job, result: Any = None, failure: BaseException | None = None) -> None:
    """Give a caller its answer, unless it has one: a writer that was given up may finish later."""
    with suppress(InvalidStateError):
        if failure is None:
            job.done.set_result(result)
        else:
            job.done.set_exception(failure)


T = TypeVar("T")
Work = Callable[[Connection], T]

PATIENT_SECONDS = 120  # for SQLite's lock, where no request waits for an answer: commands and programs
SUBMIT = "submit_write"  # the option by which a reader's connection has a write done without waiting for it
TAKE_ANY_TIME = "SET LOCAL statement_timeout = 0"  # for backups, which read whole tables
CONTENDED_TRIES = 3  # for what PostgreSQL undid because two writers waited for each other


class _Rehearsed(Exception):
    """Takes a rehearsal back."""


class Database:
    """A database, open for reading by anybody and for writing through one queue."""

    def __init__(self, url: str, limits: DatabaseLimits | None = None) -> None:
        self.url = url
        self._writer_engine, self._reader_engine = open_engines(url, limits or DatabaseLimits())
        self._lock = WriteLock(sqlite_file(url), PATIENT_SECONDS)
        self._reader_engine.update_execution_options(**{SUBMIT: self.submit})
        if self.dialect == "sqlite":
            self._choose_begin()
        self._writer = WriterThread(url, self._writer_engine)
        engines = self._writer_engine, self._reader_engine
        self._watch = None if self.dialect == "sqlite" else DatabaseWatch(url, engines)

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

    def rows(self, query: str, **values: Any) -> Sequence[Row[Any]]:
        """All rows of one query, given with its named parameters."""
        with self.read() as connection:
            return run_sql(connection, query, **values).all()

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

    def write_with_retry(self, work: Work[T]) -> T:
        """Like `write`, and again where it met another server, three times at most; `work` must leave nothing behind but rows."""
        for _ in range(CONTENDED_TRIES - 1):
            try:
                return self.write(work)
            except Exception as problem:
                # The other server has gone on meanwhile.
                if not met_another_server(problem):
                    raise
        return self.write(work)

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

    def dry_run(self, work: Work[T]) -> T:
        """What `work` returns, with everything it wrote taken back."""
        results: list[T] = []

        def undone(connection: Connection) -> None:
            results.append(work(connection))
            raise _Rehearsed

        with suppress(_Rehearsed):
            self.write(undone)
        return results[0]

    def wait_briefly_for_locks(self) -> None:
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

        def abandon() -> None:
            self._writer.abandon()
            if self._watch is not None:
                self._watch.disconnect()

        timer = threading.Timer(seconds, abandon)
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
