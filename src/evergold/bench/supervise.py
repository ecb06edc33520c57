"""Work on runs in processes of their own, so that nothing they load can hold up or end the server.

Targets, judges, metrics and other plug-ins are code of third parties. They run in a child process with a bound on its memory;
the server watches it. A child that stops showing life is killed. If it was measuring, that measurement becomes an error and
a new child goes on with the rest; if it was not, the run has one more try and then fails with the reason.

A thread of the server takes runs as they become free: new ones, and runs of a server that died (when their lease is over,
or at once if that process was on this machine). It puts back what it was working on when it is told to stop. A run that
brings down every server that takes it is given up after a few of them.
"""

import asyncio
import logging
import os
import pickle
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from signal import Signals

from evergold.bench.overrun import MetricCall, Slot
from evergold.bench.runner import LEASE_SECONDS, MOST_TAKES
from evergold.machine import is_dead
from evergold.model.run import Measurement, Run, RunStatus
from evergold.settings import Settings
from evergold.store.run.attempts import AttemptStore, Scored
from evergold.store.run.runs import RunStore

LOOK_SECONDS = 1.0
STOP_SECONDS = 4.0
MOST_ENDS = 2
"""So many processes may end over one run without a measurement to blame; then it has failed."""
MOST_BLAMED = 10


@dataclass(frozen=True)
class Order:
    """What a child is given: the settings, the run, and the name under which its server holds the run."""

    settings: Settings
    run_id: str
    owner: str
    slot: int
    parent: int


@dataclass
class Supervisor:
    """Works on runs that `owner` holds. `module` is the child's program; it reads a pickled `Order` from its input."""

    runs: RunStore
    attempts: AttemptStore
    owner: str
    module: str
    settings: Settings

    async def execute(self, run: Run) -> None:
        """See a run through to its end; whatever happens, the store says how it ended."""
        ends, blamed, progress = 0, 0, -1
        while True:
            with tempfile.TemporaryFile() as file:
                # The file is shared memory: the child writes what it is doing, this process reads it.
                file.truncate(Slot.SIZE)
                reason, task = await self._one_child(run, Slot(file.fileno()), file.fileno())
            now = await asyncio.to_thread(self.runs.get, run.id)
            if now.status is not RunStatus.RUNNING:
                return
            if await self._beat(run.id):
                self.runs.finish(run.id, self.owner, RunStatus.CANCELLED)
                return
            # A measurement is to blame if the child was at it; it becomes an error and the run goes on without it.
            if task is not None and blamed < MOST_BLAMED:
                blamed += 1
                error = Measurement.error(f"the process that measured {task.metric} was lost: {reason}")
                await self.attempts.record_scores(run.id, [Scored(task.case_id, task.trial, task.metric, error)], 0)
                continue
            # Ends are counted while nothing moves; a run that gets further each time may go on.
            ends = ends + 1 if now.done + now.scored == progress else 1
            progress = now.done + now.scored
            if ends >= MOST_ENDS or task is not None:
                why = f"{ends + blamed} processes that worked on it ended, the last one because {reason}"
                self.runs.finish(run.id, self.owner, RunStatus.FAILED, why)
                return

    async def _one_child(self, run: Run, slot: Slot, descriptor: int) -> tuple[str, MetricCall | None]:
        """Run one child to its end; gives why it ended and the measurement it was at, if it was at one."""
        order = Order(self.settings, run.id, self.owner, descriptor, os.getpid())
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            self.module,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            pass_fds=(descriptor,),
            start_new_session=True,
        )
        try:
            assert child.stdin is not None
            with suppress(BrokenPipeError, ConnectionResetError):
                child.stdin.write(pickle.dumps(order))
                await child.stdin.drain()
            # The child watches its input: if this server dies, the end of the pipe ends the child.
            stalled = await self._watch(child, slot, run.id)
        except asyncio.CancelledError:
            # End a child because the server stops; the run goes back to the queue.
            with suppress(ProcessLookupError):
                child.terminate()
            try:
                async with asyncio.timeout(STOP_SECONDS):
                    await child.wait()
            except TimeoutError:
                child.kill()
                await child.wait()
            self.runs.finish(run.id, self.owner, RunStatus.QUEUED)
            raise
        task = slot.read()[1]
        code = child.returncode or 0
        if stalled:
            return f"it showed no life for {stalled:g} s", task
        return (f"it was ended by {Signals(-code).name}" if code < 0 else f"it ended with exit code {code}"), task

    async def _watch(self, child: asyncio.subprocess.Process, slot: Slot, run_id: str) -> float:
        """Wait for the child's end, and kill it when it shows no life; gives the limit that it broke, else 0."""
        clock = asyncio.get_running_loop().time
        last, since, cancelled = -1, clock(), 0.0
        while child.returncode is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await child.wait()
            count, task = slot.read()
            if count != last:
                last, since = count, clock()
            # How long a child may show no life, while it measures and otherwise.
            measuring, otherwise = 2 * self.settings.benchmark_metric_timeout + 5, self.settings.benchmark_timeout + 60
            limit = measuring if task else otherwise
            if child.returncode is None and await self._beat(run_id):
                cancelled = cancelled or clock()
            # A cancelled run gets a few seconds for an orderly end, then its process is killed.
            late = cancelled and clock() - cancelled > STOP_SECONDS
            if child.returncode is None and (late or clock() - since > limit):
                child.kill()
                await child.wait()
                return limit
        return 0.0

    async def _beat(self, run_id: str) -> bool:
        """Renew the lease, for a child that is held up cannot; whether somebody wants the run to stop."""
        try:
            return (await asyncio.to_thread(self.runs.beat, run_id, self.owner, LEASE_SECONDS)).cancel
        except Exception:  # a database that is away for a moment; the lease outlives the moment
            return False


_log = logging.getLogger("evergold.runs")
IDLE_SECONDS = 2.0
PARALLEL_RUNS = 2
GIVEN_UP = (
    f"given up: {MOST_TAKES} times in a row the server that worked on it ended before an attempt was stored; "
    "look at the server's log, then go on with: evergold run --resume {id}"
)


class RunWorker:
    """`execute(run)` does the work of a run that was claimed for `owner`."""

    def __init__(self, runs: RunStore, owner: str, execute: Callable[[Run], Awaitable[object]]) -> None:
        self._runs, self._owner, self._execute = runs, owner, execute
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._stopping = False
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), name="evergold-runs", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._ready.wait()

    def notify(self) -> None:
        """There may be something to do: look now."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake.set)

    def stop(self) -> None:
        """Put back what is under way and end the thread."""
        self._stopping = True
        self.notify()
        self._thread.join()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ready.set()
        busy: set[asyncio.Task[object]] = set()
        while not self._stopping:
            # Cleared before looking: a notification that comes during the look is not lost.
            self._wake.clear()
            for run in self._look(PARALLEL_RUNS - len(busy)):
                task = asyncio.ensure_future(self._execute(run))
                busy.add(task)
                task.add_done_callback(busy.discard)
                task.add_done_callback(self._on_end)
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                continue
        for task in busy:
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)

    def _on_end(self, task: "asyncio.Task[object]") -> None:
        if not task.cancelled() and task.exception() is not None:
            _log.error("a run ended without a status; it is taken up again: %s", task.exception())
        self._wake.set()

    def _look(self, room: int) -> Iterable[Run]:
        """Free runs, now ours. A database that is away for a moment must not end the thread."""
        taken = 0
        try:
            for run, holder, _ in self._runs.claimable() if room > 0 else ():
                # A holder of another machine keeps its run until its lease is over.
                free = holder is None or is_dead(holder)
                ours = run.provenance.get("origin") == "server"
                takes = self._runs.claim(run.id, self._owner, LEASE_SECONDS, taking_from=holder) if ours and free else 0
                # A run that kills its server again and again must not take down every server in turn.
                if takes > MOST_TAKES:
                    self._runs.finish(run.id, self._owner, RunStatus.FAILED, GIVEN_UP.format(id=run.id))
                elif takes:
                    taken += 1
                    yield self._runs.get(run.id)
                if taken >= room:
                    return
        except Exception as problem:
            _log.error("cannot look for runs, trying again in %g s: %s", IDLE_SECONDS, problem)
