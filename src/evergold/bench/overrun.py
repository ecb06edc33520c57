"""Time limits for metrics: code that does not return is interrupted, and the measurement becomes an error.

A metric is a plain function, so an event loop cannot stop it. A timer signal can: it is handled between two instructions
of Python and inside Python's regular expressions. A call into C that never returns is out of its reach; for that the
process that works on a run shows what it is doing in a `Slot`, where its supervisor can read it (see `supervise.py`).
"""

import mmap
import signal
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import NamedTuple

import orjson

from evergold.errors import EvergoldError

MOST_OVERRUNS = 3
"""After so many answers on which a metric ran out of time, it is not tried on the others of the run."""


class Overrun(EvergoldError):
    """A metric did not return in time."""


class MetricCall(NamedTuple):
    """One measurement: a metric on one attempt."""

    case_id: str
    trial: int
    metric: str


class Slot:
    """A few bytes that two processes share: a counter that shows life, and the measurement under way."""

    SIZE = 8192
    # A counter of 64 bits and a length of 32.
    _HEAD = struct.Struct("<QI")

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, self.SIZE)
        self._count = 0

    def show(self, task: MetricCall | None = None) -> None:
        """Count one sign of life and name the measurement that begins now, if one does."""
        self._count += 1
        text = orjson.dumps(list(task)) if task else b""
        # A name too long for the page is left out; the sign of life still counts.
        text = text if len(text) <= self.SIZE - self._HEAD.size else b""
        # Length 0 while the text changes: a reader in between sees no task instead of half of one.
        self._memory[: self._HEAD.size] = self._HEAD.pack(self._count, 0)
        self._memory[self._HEAD.size : self._HEAD.size + len(text)] = text
        self._memory[: self._HEAD.size] = self._HEAD.pack(self._count, len(text))

    def read(self) -> tuple[int, MetricCall | None]:
        """Give the counter and the measurement under way."""
        count, length = self._HEAD.unpack(self._memory[: self._HEAD.size])
        text = self._memory[self._HEAD.size : self._HEAD.size + length]
        return count, MetricCall(*orjson.loads(text)) if length else None


@dataclass
class MetricLimit:
    """Runs measurements under a limit of `seconds`; with a slot, each is shown to the supervisor."""

    seconds: float
    slot: Slot | None = None
    _overruns: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def interrupt_late(self, task: MetricCall) -> Iterator[None]:
        """Interrupt the block with `Overrun` when it does not end in time."""
        if self._overruns[task.metric] >= MOST_OVERRUNS:
            raise Overrun(
                f"not measured: {task.metric} took over {self.seconds:g} s on {MOST_OVERRUNS} answers (benchmark.metric_timeout)"
            )
        fired = False

        def fire(_number: int, _frame: FrameType | None) -> None:
            nonlocal fired
            fired = True
            raise Overrun(f"{task.metric} took over {self.seconds:g} s on this answer (benchmark.metric_timeout)")

        if self.slot is not None:
            self.slot.show(task)
        # Signals reach the main thread alone; elsewhere there is no alarm.
        usable = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
        if usable:
            before = signal.signal(signal.SIGALRM, fire)
            # Fires each further second: some code catches every exception once.
            signal.setitimer(signal.ITIMER_REAL, self.seconds, 1.0)
        try:
            try:
                yield
            finally:
                if usable:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    signal.signal(signal.SIGALRM, before)
        # Counted even if the metric swallowed the exception and returned late.
        finally:
            self._overruns[task.metric] += fired
            if self.slot is not None:
                self.slot.show()
