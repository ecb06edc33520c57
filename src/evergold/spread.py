"""The seam for work in parts: an ordered map over this process, over processes of this machine, or over a Dask cluster.

Stages take a `Spread` and never ask who does the work. What goes through it is pickled: a function of a module (or a `partial`
of one) and parts that are plain values. Workers compute; the one process that gave the command writes.
"""

import logging
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from evergold.errors import BadInput, Unavailable
from evergold.machine import usable_cores

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

Part = TypeVar("Part")
Result = TypeVar("Result")

PARTS_UNDER_WAY = 4  # for each worker: the others go on while one is busy with a long part, whose result comes first
SMALL_BYTES = 200 << 20
"""Below this a pool of two saves less than it may cost to start: half a second, where its processes are no copies."""
CONNECT_SECONDS = 30
# Workers that are started again, or come after their scheduler, are waited for.
WORKER_SECONDS = 20
CLUSTER_LOGS = (
    *("distributed", "distributed.client", "distributed.core", "distributed.comm", "distributed.batched"),
    *("tornado.application", "asyncio"),  # what Dask's coroutines left unawaited when the connection broke
)


class Spread(Protocol):
    """Has a function done for each part, and gives the results in the order of the parts."""

    def __call__(self, work: Callable[[Part], Result], parts: Iterable[Part], /) -> Iterator[Result]: ...


def spread_here(work: Callable[[Part], Result], parts: Iterable[Part], /) -> Iterator[Result]:
    """Do the parts in this process, one when its result is asked for."""
    return map(work, parts)


def in_order(
    executor: Executor, work: Callable[[Part], Result], parts: Iterable[Part], window: int
) -> Iterator[Result]:
    """Give the results in order, with at most `window` of them under way or waiting to be taken."""
    waiting: deque[Future[Result]] = deque()
    try:
        for part in parts:
            waiting.append(executor.submit(work, part))
            if len(waiting) >= window:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    # A worker killed by the kernel breaks the whole pool; the message names the usual cause.
    except BrokenExecutor as problem:
        raise Unavailable(
            "a worker ended unexpectedly (out of memory?); no file was changed; try --jobs 1"
        ) from problem
    finally:
        for future in waiting:
            future.cancel()


@dataclass(frozen=True)
class Workers:
    """A `Spread` over an executor that does `count` things at once; a run gives single calls to the executor itself."""

    executor: Executor
    count: int

    def __call__(self, work: Callable[[Part], Result], parts: Iterable[Part], /) -> Iterator[Result]:
        sealed = (SealedPart(part) for part in parts)
        return in_order(self.executor, partial(_do, work), sealed, PARTS_UNDER_WAY * self.count)


@dataclass(frozen=True)
class SealedPart(Generic[Part]):
    """A part that Dask does not look into: it searches every list and tuple of an argument for tasks, one value at a time."""

    part: Part


def _do(work: Callable[[Part], Result], sealed: SealedPart[Part]) -> Result:
    """Do the work for a part, on a worker."""
    return work(sealed.part)


def jobs_for(wanted: int | None, size: int) -> int:
    """Return as many as asked for; else one for a small job and one per core for a large one."""
    if wanted is not None and wanted < 1:
        raise BadInput(f"--jobs {wanted}: give 1 or more")
    return wanted or (1 if size < SMALL_BYTES else usable_cores())


@contextmanager
def spread_processes(jobs: int, preload: str = "") -> Iterator[Workers]:
    """Open processes of this machine for the length of a `with` block. An interrupt cancels what they have not begun.

    `preload` names a module that is loaded once for all of them.
    """
    # Imported here: most commands start no process and should begin at once.
    from concurrent.futures import ProcessPoolExecutor

    pool = ProcessPoolExecutor(jobs, mp_context=start_of(preload), initializer=begin_worker)
    try:
        pool.submit(os.getpid)  # forked before there are threads and files of the job that a copy could hold on to
        yield Workers(pool, jobs)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def start_of(preload: str) -> "BaseContext":
    """Choose how processes begin: as copies of this one, which takes no time, if no other thread could be caught halfway."""
    from multiprocessing import get_context

    if sys.platform == "linux" and threading.active_count() == 1:
        return get_context("fork")
    context = get_context("forkserver")
    context.set_forkserver_preload(["__main__", preload] if preload else ["__main__"])
    return context


def begin_worker() -> None:
    """Leave Ctrl-C to the parent, and end with a parent that was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A parent that is killed with SIGKILL tells nobody: without this its workers would run on.
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        # At once: the worker may be in the middle of a long computation that no exception reaches.
        os._exit(1)


def spread_over(cluster: str | None) -> AbstractContextManager[Workers | None]:
    """Spread work over the cluster at an address; None without one, so that a verb does its work here."""
    return nullcontext() if cluster is None else open_cluster(cluster)


@contextmanager
def open_cluster(address: str) -> Iterator[Workers]:
    """Connect to a Dask cluster by the address of its scheduler, `tcp://scheduler:8786`.

    Its workers need the same version of evergold and the same view of the files.
    """
    try:
        from distributed import Client
    except ImportError:
        raise Unavailable("a cluster needs the extra: pip install 'evergold[cluster]'") from None
    # Dask prints the end of a cluster with tracebacks: what happened is raised, and is one line.
    for name in CLUSTER_LOGS:
        # Not undone: its threads print even after the connection is closed.
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.CRITICAL))
    try:
        client: Any = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as problem:
        raise Unavailable(f"no Dask scheduler at {address!r} ({problem}); start one with `dask scheduler`") from problem
    with client, _translate_errors(address):
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError:
            raise Unavailable(
                f"the Dask cluster at {address!r} has no workers; start some with `dask worker {address}`"
            ) from None
        threads = sum(client.nthreads().values())
        _require_same_version(client)
        # `pure=False`: the same call twice is two calls, not one result from Dask's cache.
        yield Workers(client.get_executor(pure=False), threads)


@contextmanager
def _translate_errors(address: str) -> Iterator[None]:
    """Turn what Dask raises when a cluster falls apart into one line. A worker that dies has its part done by another."""
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError
    from distributed.comm.core import CommClosedError

    try:
        yield
    except KilledWorker as problem:
        reason = str(problem).splitlines()[0]
        raise Unavailable(
            f"workers of the cluster at {address!r} died over one part of the work: {reason}"
        ) from problem
    except (CommClosedError, FutureCancelledError, CancelledError) as problem:
        raise Unavailable(
            f"the Dask scheduler at {address!r} went away; start it and give the command again: nothing is done twice"
        ) from problem


def _require_same_version(client: Any) -> None:
    """Refuse workers that run another version of this program, whose parts might differ from ours."""
    ours = _installed_version()
    # A worker that ended while it was asked takes no part; the scheduler starts or asks others.
    answers = client.run(_installed_version, on_error="return")
    there = {worker: answer for worker, answer in answers.items() if not isinstance(answer, OSError)}
    if not there:
        raise Unavailable("no worker of the cluster answers; try again when they have started")
    for worker, theirs in there.items():
        if isinstance(theirs, BaseException):
            raise Unavailable(f"worker {worker} cannot run evergold ({theirs}); install evergold {ours} there")
        if theirs != ours:
            raise Unavailable(
                f"worker {worker} has evergold {theirs}, this is {ours}; install the same version on both"
            )


def _installed_version() -> str:
    from importlib.metadata import version  # a tenth of the time that a small command takes

    return version("evergold")
