"""Runs in the background of a server: a thread with an event loop of its own that takes runs as they become free.

It takes new runs, runs of a server that died (when their lease is over, or at once if that process was on this machine),
and puts back what it was working on when it is told to stop. A run that brings down every server that takes it is given
up after a few of them.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable

from evergold.bench.lease import LEASE_SECONDS, MOST_TAKES, is_dead
from evergold.model.run import Run, RunStatus
from evergold.store.runs import RunStore

_log = logging.getLogger("evergold.runs")
LOOK_SECONDS = 2.0
PARALLEL_RUNS = 2
GIVEN_UP = (
    f"given up: {MOST_TAKES} times in a row the server that worked on it ended before an attempt was stored; "
    "look at the server's log, then go on with: evergold run --resume {id}"
)


class RunWorker:
    """`execute(run)` does the work of a run that was claimed for `owner`."""

    def __init__(self, runs: RunStore, owner: str, execute: Callable[[Run], Awaitable[object]]) -> None:
        self._runs = runs
        self._owner = owner
        self._execute = execute
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
                task.add_done_callback(self._ended)
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                continue
        for task in busy:
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)

    def _ended(self, task: "asyncio.Task[object]") -> None:
        if not task.cancelled() and task.exception() is not None:
            _log.error("a run ended without a status; it is taken up again: %s", task.exception())
        self._wake.set()

    def _look(self, room: int) -> list[Run]:
        """Free runs, now ours. A database that is away for a moment must not end the thread."""
        try:
            return list(self._take(room))
        except Exception as problem:
            _log.error("cannot look for runs, trying again in %g s: %s", LOOK_SECONDS, problem)
            return []

    def _take(self, room: int) -> Iterable[Run]:
        taken = 0
        for run, holder, _ in self._runs.claimable() if room > 0 else ():
            if taken >= room:
                return
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
