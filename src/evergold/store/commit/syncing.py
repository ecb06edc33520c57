"""Put commits on the disk in a second thread, which then answers their callers; the writer goes on meanwhile.

SQLite can put each commit on the disk itself (`synchronous=FULL`), and the writer then stands still while the disk turns. So
it only writes its log in order (`synchronous=NORMAL`), and a second thread has the log put on the disk, tells everybody whose
commit was in it by then, and begins again. A caller hears exactly what it would have heard, only many share one such
turn and the next transaction is made meanwhile. After a power failure SQLite reads its log up to the first piece that is
not whole, and every commit that anybody was told of lies before that.

Closing a file takes away a process's POSIX locks on it, whoever opened it. SQLite locks the database and the `-shm` beside it,
never the log, so opening and closing the log here takes no lock from anybody.
"""

import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple


class CommitOutcome(NamedTuple):
    """What to tell a caller: a result, or why there is none."""

    done: Future[Any]
    result: Any = None
    failure: BaseException | None = None


def settle(outcome: CommitOutcome) -> None:
    """Give a caller its answer, unless it has one: a writer that was given up may finish later."""
    with suppress(InvalidStateError):
        if outcome.failure is None:
            outcome.done.set_result(outcome.result)
        else:
            outcome.done.set_exception(outcome.failure)


class Syncing:
    """`log`: the write-ahead log to put on the disk; None where the database's own commit has done it."""

    def __init__(self, log: Path | None) -> None:
        self._log = log
        self._committed: SimpleQueue[Sequence[CommitOutcome] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def resolve(self, outcomes: Sequence[CommitOutcome]) -> None:
        """Called by the writer, after each commit."""
        if self._log is None:
            _resolve(outcomes)
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="evergold-syncing", daemon=True)
            self._thread.start()
        self._committed.put(outcomes)

    def close(self, patience: float | None = None) -> None:
        """Tell everybody who waits; called when the writer has ended. `patience`: for so many seconds at most."""
        if self._thread is not None:
            self._committed.put(None)
            self._thread.join(patience)

    def _run(self) -> None:
        last = False
        while not last:
            batches = [self._committed.get()]
            # Everything committed so far shares one fsync.
            while not self._committed.empty():
                batches.append(self._committed.get())
            last = None in batches
            self._sync([outcome for batch in batches if batch is not None for outcome in batch])

    def _sync(self, outcomes: Sequence[CommitOutcome]) -> None:
        try:
            _to_disk(self._log)
        except Exception as problem:  # a thread that ended here would leave every caller waiting
            outcomes = [CommitOutcome(outcome.done, failure=outcome.failure or problem) for outcome in outcomes]
        _resolve(outcomes)


def _to_disk(log: Path | None) -> None:
    assert log is not None
    # Opened each time: SQLite may have deleted the log and begun a new one.
    descriptor = os.open(log, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _resolve(outcomes: Sequence[CommitOutcome]) -> None:
    for outcome in outcomes:
        settle(outcome)
