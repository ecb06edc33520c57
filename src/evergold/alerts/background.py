"""Alerts of a server: one thread that looks and sends, so that neither intake nor curation ever waits for a webhook."""

import logging
import threading
import time

from evergold.alerts.stage import AlertStage
from evergold.errors import EvergoldError

_log = logging.getLogger("evergold.alerts")
LOOK_SECONDS = 5.0  # between two looks at what is due
REST_FOR_WORK = 20.0  # a look that took long is followed by so many times its length of rest
STOP_SECONDS = 1.0  # for a POST under way; the thread ends with the process


class AlertWatcher:
    """Runs an alert stage until it is stopped."""

    def __init__(self, stage: AlertStage) -> None:
        self._stage = stage
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="evergold-alerts", daemon=True)
        self._rest_until = 0.0
        self.last_error: str | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread. What is not sent stays in the table for the next server."""
        self._stopping.set()
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        wait = min(LOOK_SECONDS, float(self._stage.plan.every_seconds))
        while not self._stopping.wait(wait):
            try:
                self._turn()
                self.last_error = None
            except EvergoldError as problem:
                self._note(problem.message)
            except Exception as problem:  # a thread that ended here would end all alerts in silence
                self._note(f"{type(problem).__name__}: {problem}".splitlines()[0])

    def _turn(self) -> None:
        began = time.monotonic()
        if began >= self._rest_until:
            self._stage.look()
            # A look scans the scores of the window. On a large store it
            # may take seconds; the rest keeps it below 5 % of the time.
            self._rest_until = began + REST_FOR_WORK * (time.monotonic() - began)
        self._stage.deliver_due()

    def _note(self, problem: str) -> None:
        # A lasting fault is logged once, not every five seconds; `last_error` stays for the health page.
        if problem != self.last_error and not self._stopping.is_set():
            _log.error("alerts cannot be looked at: %s", problem)
        self.last_error = problem
