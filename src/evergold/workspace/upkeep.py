"""Upkeep of a server's PostgreSQL: one thread that begins the partition of each day, beside intake and curation."""

import logging
import threading

from evergold.errors import EvergoldError
from evergold.store import Store

_log = logging.getLogger("evergold.upkeep")
LOOK_SECONDS = 60.0
AGAIN_SECONDS, SOON = 3.0, 5  # after a failure, and how many follow each other so: a busy table is free in a moment
STOP_SECONDS = 1.0  # for a look under way; the thread ends with the process


class Upkeep:
    """Looks at the partitions when it starts and every minute, until it is stopped. SQLite has none."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="evergold-upkeep", daemon=True)
        self._last_error = ""
        self._failures = 0

    def start(self) -> None:
        if self._store.db.dialect == "postgresql":
            self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        from evergold.store.partitions.days import begin_today

        while True:
            try:
                begin_today(self._store.db)
                self._last_error, self._failures = "", 0
            except EvergoldError as problem:
                self._note(problem.message)
            except Exception as problem:  # a thread that ended here would end the upkeep in silence
                self._note(f"{type(problem).__name__}: {problem}".splitlines()[0])
            if self._stopping.wait(AGAIN_SECONDS if 0 < self._failures < SOON else LOOK_SECONDS):
                return

    def _note(self, problem: str) -> None:
        self._failures += 1
        # A lasting fault is logged once, not every minute.
        if self._failures >= SOON and problem != self._last_error and not self._stopping.is_set():
            _log.warning("no partition could be begun for today's spans; it is tried every minute: %s", problem)
            self._last_error = problem
