"""Curation after the reply: one thread that empties the queue, so that no caller ever waits for it.

The queue is a table, so it is bounded by the disk and survives a crash; the thread holds one batch. A batch that fails
is tried again trace by trace, and a trace that fails by itself is set aside, counted and shown, never swallowed.

Intake wakes it. It then waits for a quiet moment, or a second at most, because many traces at once cost far less than each
by itself. Intake comes first: as long as traces come in, curation takes a tenth of the time, and the rest when they pause. What
other processes brought is found by looking now and then.
When all is curated and nothing comes, it does what else can wait for such a moment, a little at a time.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol

from evergold.curate.queued import NotCurated
from evergold.errors import Contended, Unavailable
from evergold.model.operations import CurationFailure, CuratorState
from evergold.store.verdict.curation import Changes

POLL_SECONDS = 1.0
QUIET_SECONDS = 0.2  # without a commit of intake, whose transactions follow each other in less when it is busy
MOST_WAIT_SECONDS = 1.0
REST = 9.0  # times as long as a batch took, curation waits for the next one while traces come in
POLITE_BATCH = 200  # small, because whoever writes meanwhile waits for it
POLITE_SECONDS = 1.0  # a batch that took longer is followed by one of half its size: a detector or tagger may be slow
MOST_STOP_SECONDS = 2.0  # for what waits when it is told to stop; then the batch under way is the last
GRACE_SECONDS = 1.5  # for that batch: a database that does not answer must not hold up the end
KEPT_FAILURES = 20
CONTENDED_TRIES = 5  # after which it waits for the next look


class Stepping(Protocol):
    """What curates one batch of what waits: a `Curation`, or whoever knows which one holds at this moment."""

    def step(self, limit: int) -> tuple[int, Changes]: ...


class Curator:
    """Runs `curation.step` whenever it is woken, and now and then by itself for what other processes brought."""

    def __init__(
        self,
        curation: Stepping,
        set_aside: Callable[[Sequence[str]], tuple[str, ...]],
        at_leisure: Callable[[], bool] = lambda: False,
    ) -> None:
        """`at_leisure` does a little of what can wait, and says whether there was anything."""
        self._curation, self._set_aside, self._at_leisure = curation, set_aside, at_leisure
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._stop_by = float("inf")
        self._thread = threading.Thread(target=self._run, name="evergold-curator", daemon=True)
        self._curated = self._changed = self._failed = 0
        self._last_error: str | None = None
        self._failures: deque[CurationFailure] = deque(maxlen=KEPT_FAILURES)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Something came. Returns at once."""
        self._woken.set()

    def stop(self) -> None:
        """Finish what waits, but not for long: what is left stays in the queue, which is a table."""
        self._stop_by = time.monotonic() + MOST_STOP_SECONDS
        self._stopping.set()
        self._woken.set()
        self._thread.join(MOST_STOP_SECONDS + GRACE_SECONDS)

    def state(self) -> CuratorState:
        return CuratorState(
            running=self._thread.is_alive(),
            curated=self._curated,
            changed=self._changed,
            failed=self._failed,
            last_error=self._last_error,
            failures=list(self._failures),
        )

    def _run(self) -> None:
        while True:
            stopping = self._stopping.is_set()
            # Cleared before the queue is emptied: what comes during that is noticed by the next wait.
            self._woken.clear()
            self._empty_queue()
            # Decided before emptying, so that a stop always empties once more.
            if stopping:
                return
            self._work_at_leisure()
            if self._woken.wait(POLL_SECONDS):
                self._wait_for_quiet(MOST_WAIT_SECONDS)

    def _wait_for_quiet(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._stopping.is_set():
            self._woken.clear()
            if not self._woken.wait(QUIET_SECONDS):
                return

    def _work_at_leisure(self) -> None:
        try:
            while not self._woken.is_set() and not self._stopping.is_set() and self._at_leisure():
                pass
        except Exception as problem:
            self._last_error = _line(problem)

    def _empty_queue(self) -> None:
        limit, contended = POLITE_BATCH, 0
        while True:
            began = time.monotonic()
            try:
                taken, changes = self._curation.step(limit)
            except Contended as problem:
                contended += 1
                if contended == CONTENDED_TRIES:
                    self._last_error = problem.message
                    return
                continue
            except Unavailable as problem:
                self._last_error = problem.message
                return
            except NotCurated as problem:
                self._last_error = _line(problem.__cause__ or problem)
                if limit == 1 and not self._skip(problem.trace_ids):
                    return
                # One by one: a trace that cannot be curated must not stop the others of its batch.
                limit = 1
                continue
            except Exception as problem:
                self._last_error = _line(problem)
                return
            took = time.monotonic() - began
            slow = took > POLITE_SECONDS
            # Batches grow back when the cause of slowness is over.
            limit = max(1, taken // 2) if slow and taken else min(2 * limit, POLITE_BATCH)
            self._curated += changes.traces
            self._changed += changes.total
            if not taken or time.monotonic() > self._stop_by:
                return
            if self._woken.is_set():
                self._wait_for_quiet(REST * took)

    def _skip(self, trace_ids: Sequence[str]) -> bool:
        """Set traces aside; False when there are none, or the database itself is away."""
        try:
            skipped = self._set_aside(trace_ids)
        except Exception as problem:
            self._last_error = _line(problem)
            return False
        moment = datetime.now(UTC).isoformat(timespec="seconds")
        for trace_id in skipped:
            self._failed += 1
            self._failures.append(CurationFailure(trace_id=trace_id, error=self._last_error or "", at=moment))
        return bool(skipped)


def _line(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}".splitlines()[0]
