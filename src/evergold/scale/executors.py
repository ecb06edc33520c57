"""The executor seam: whoever can run a function elsewhere is a `concurrent.futures.Executor`.

Here that is a pool of processes; on a cluster it is Dask's executor, reached by the address of its scheduler. The stages take
an executor and never ask which one it is, so the same functions run in both places.
"""

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context, parent_process
from multiprocessing.context import BaseContext
from typing import Any

from evergold.errors import BadInput, Unavailable
from evergold.machine import usable_cores

SMALL_BYTES = 200 << 20
"""Below this a pool of two saves less than it may cost to start: half a second, where its processes are no copies."""
CONNECT_SECONDS = 30
# Workers that are started again, or come after their scheduler, are waited for.
WORKER_SECONDS = 20
CLUSTER_LOGS = (
    *("distributed", "distributed.client", "distributed.core", "distributed.comm", "distributed.batched"),
    *("tornado.application", "asyncio"),  # what Dask's coroutines left unawaited when the connection broke
)


@dataclass(frozen=True)
class Workers:
    """An executor and how many things it does at once."""

    executor: Executor
    count: int


def jobs_for(wanted: int | None, size: int) -> int:
    """As many as asked for; else one for a small job and one per core for a large one."""
    if wanted is not None and wanted < 1:
        raise BadInput(f"--jobs {wanted}: give 1 or more")
    return wanted or (1 if size < SMALL_BYTES else usable_cores())


@contextmanager
def open_processes(jobs: int, preload: str = "") -> Iterator[Workers]:
    """Processes for the length of a `with` block. An interrupt cancels what they have not begun.

    `preload` names a module that is loaded once for all of them.
    """
    pool = ProcessPoolExecutor(jobs, mp_context=start_of(preload), initializer=_begin_worker)
    try:
        pool.submit(_begun)  # forked before there are threads and files of the job that a copy could hold on to
        yield Workers(pool, jobs)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def start_of(preload: str) -> BaseContext:
    """How processes begin: as copies of this one, which takes no time, if no other thread could be caught halfway."""
    if sys.platform == "linux" and threading.active_count() == 1:
        return get_context("fork")
    context = get_context("forkserver")
    context.set_forkserver_preload(["__main__", preload] if preload else ["__main__"])
    return context


def _begun() -> None:
    """The first errand of a pool."""


def _begin_worker() -> None:
    """Ctrl-C is the parent's to handle; a parent that was killed takes its workers along."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A parent that is killed with SIGKILL tells nobody: without this its workers would run on.
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        # At once: the worker may be in the middle of a long computation that no exception reaches.
        os._exit(1)


@contextmanager
def open_cluster(address: str) -> Iterator[Workers]:
    """An existing Dask cluster, `tcp://scheduler:8786`. Its workers need evergold and the same view of the files."""
    try:
        from distributed import Client
    except ImportError:
        raise Unavailable("a cluster needs the extra: pip install 'evergold[cluster]'") from None
    _silence(CLUSTER_LOGS)
    try:
        client: Any = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as problem:
        raise Unavailable(f"no Dask scheduler at {address!r} ({problem}); start one with `dask scheduler`") from problem
    with client, _answering(address):
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


def _silence(names: Sequence[str]) -> None:
    """Keep Dask from printing the end of a cluster, with tracebacks: what happened is raised, and is one line."""
    for name in names:
        # Not undone: its threads print even after the connection is closed.
        logger = logging.getLogger(name)
        if logger.level < logging.CRITICAL:
            logger.setLevel(logging.CRITICAL)


@contextmanager
def _answering(address: str) -> Iterator[None]:
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
    ours = _installed()
    # A worker that ended while it was asked takes no part; the scheduler starts or asks others.
    answers = client.run(_installed, on_error="return")
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


def _installed() -> str:
    return version("evergold")
