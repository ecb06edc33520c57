"""The one writer: a thread that takes jobs from a queue and commits them in groups.

A commit is on the disk before its callers are answered: SQLite does that by `synchronous=FULL`, PostgreSQL by default.

Whatever happens to a job, its future is settled: the work fails, BEGIN fails, the connection is lost, the commit fails, the
thread itself dies, or the database is closed first. When the database cannot be reached or locked, every job that waits
at that moment fails with the same reason: each would otherwise wait as long again, one after the other.
"""

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from evergold.errors import Unavailable
from evergold.store.database.failures import explanation

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


class CommitOutcome(NamedTuple):
    """What to tell a caller: a result, or why there is none."""

    done: Future[Any]
    result: Any = None
    failure: BaseException | None = None


@dataclass(frozen=True)
class _Group:
    """What became of the jobs of one transaction. `reached`: the database answered, so the next job may be tried."""

    outcomes: list[CommitOutcome]
    reached: bool = True


class Writer:
    """Runs jobs in a thread of its own, which starts with the first of them."""

    def __init__(self, url: str, engine: Engine) -> None:
        self._url = url
        self._engine = engine
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
            while len(batch) < GROUP and not _ends_group(batch[-1]) and not self._jobs.empty():
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
        group = self._write(jobs)
        for outcome in group.outcomes:
            _settle(outcome)
        if not group.reached:
            self._fail_waiting(group.outcomes[0].failure)

    def _write(self, jobs: Sequence[Job]) -> _Group:
        outcomes: list[CommitOutcome] = []
        began = False
        try:
            with (
                self._engine.connect() as connection,
                nullcontext() if jobs[0].whole_file else connection.begin(),
            ):
                began = True
                outcomes.extend(self._run_job(connection, job, nested=len(jobs) > 1) for job in jobs)
        except BaseException as problem:
            failure = explanation(self._url, problem) or problem
            # Without an answer from the database, the next job would only wait as long again.
            lost = isinstance(problem, DBAPIError) and problem.connection_invalidated
            return _Group([CommitOutcome(job.done, failure=failure) for job in jobs], reached=began and not lost)
        return _Group(outcomes)

    def _run_job(self, connection: Connection, job: Job, *, nested: bool) -> CommitOutcome:
        """Run one job. Alone it needs no savepoint: what it fails to do goes with the transaction."""
        if not nested:
            return CommitOutcome(job.done, job.work(connection))
        try:
            with connection.begin_nested():
                return CommitOutcome(job.done, job.work(connection))
        except Exception as problem:
            if isinstance(problem, DBAPIError) and problem.connection_invalidated:
                raise  # the others of the group went with the connection
            return CommitOutcome(job.done, failure=explanation(self._url, problem) or problem)

    def _fail_waiting(self, problem: BaseException | None) -> None:
        """Fail every job that waits now; a request to end stays in the queue."""
        assert problem is not None
        ends = False
        while not self._jobs.empty():
            job = self._jobs.get()
            ends = ends or job is None
            _fail([job] if job is not None else [], problem)
        if ends:
            self._jobs.put(None)


def _ends_group(job: Job | None) -> bool:
    return job is None or job.alone


def _fail(jobs: Sequence[Job], problem: BaseException) -> None:
    for job in jobs:
        _settle(CommitOutcome(job.done, failure=problem))


def _settle(outcome: CommitOutcome) -> None:
    """Give a caller its answer, unless it has one: a writer that was given up may finish later."""
    with suppress(InvalidStateError):
        if outcome.failure is None:
            outcome.done.set_result(outcome.result)
        else:
            outcome.done.set_exception(outcome.failure)
