"""Alerts: what fires, whom it was sent to, and a test message."""

import logging
import os
import time
from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from uuid import uuid4

from evergold.alerts.rules import read_rules
from evergold.alerts.stage import AlertPlan, AlertStage, AlertWatcher
from evergold.alerts.webhook import escape_text, webhook_of
from evergold.errors import BadInput, EvergoldError
from evergold.model.operations import AlertRuleState, AlertsState, AlertTest
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.alerts import LOOKED, alerts_page
from evergold.store.facts import fact

_log = logging.getLogger("evergold.alerts")
NO_RULES = "no rules; name what to watch in [[alerts.rules]] of evergold.toml"
NOT_LOOKED = "no server has looked yet; `evergold serve` looks while it runs"


class Alerts:
    def __init__(self, store: Store, settings: Settings, clock: Callable[[], datetime] | None = None) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._watcher: AlertWatcher | None = None

    @cached_property
    def stage(self) -> AlertStage:
        """The rules and the webhook of the settings."""
        if self._settings.alerts_every_seconds < 1:
            raise BadInput(f"alerts.every_seconds = {self._settings.alerts_every_seconds} is not 1 or more")
        plan = AlertPlan(
            rules=read_rules(self._settings.alerts_rules),
            webhook=webhook_of(self._settings),
            every_seconds=self._settings.alerts_every_seconds,
            repeat_hours=self._settings.alerts_repeat_hours,
        )
        # Owner of leases on notifications; the process id alone may be given again by the system.
        return AlertStage(self._store, plan, f"{os.getpid()}/{uuid4().hex[:12]}", self._clock)

    def state(self, *, firing_only: bool = False, limit: int = 100) -> AlertsState:
        """Everything that a page or a list shows."""
        with self._store.db.read() as connection:
            alerts = alerts_page(connection, firing_only=firing_only, limit=limit)
            looked = fact(connection, LOOKED)
        plan = self.stage.plan
        return AlertsState(
            rules=[AlertRuleState(name=rule.label, kind=rule.model_dump()["kind"]) for rule in plan.rules],
            webhook=plan.webhook.shown if plan.webhook else None,
            signed=bool(plan.webhook and plan.webhook.signed),
            looked_at=looked,
            hint=NO_RULES if not plan.rules else NOT_LOOKED if looked is None else None,
            alerts=alerts,
        )

    def test(self) -> AlertTest:
        """Read every rule, and send one test message now; nothing is kept."""
        readings, webhook = self.stage.readings(), self.stage.plan.webhook
        if webhook is None:
            return AlertTest(readings=readings, webhook=None, sent=None, error="", seconds=0.0)
        began = time.monotonic()
        message = f"Test of evergold alerts: {len(self.stage.plan.rules)} rules are set"
        payload = {
            "text": escape_text(message),
            "metadata": {"event_type": "evergold_alert", "event_payload": {"event": "test"}},
        }
        # A test is signed and stamped like a real message, so that a receiver's check of it is tested too.
        posted = webhook.post(payload, f"test-{uuid4().hex[:12]}", int(time.time()))
        return AlertTest(
            readings=readings,
            webhook=webhook.shown,
            sent=not posted.error,
            error=posted.error,
            seconds=round(time.monotonic() - began, 3),
        )

    def gate(self, dataset: str, target: str, *, passed: bool, why: str) -> None:
        """Take note of a decided gate, and try once to send what follows from it; a server goes on trying.

        The gate's own result never depends on that: what goes wrong here is logged.
        """
        if not self._settings.alerts_rules:
            return
        try:
            self.stage.gate(dataset, target, passed=passed, why=why)
            self.stage.deliver_due()
        except EvergoldError as problem:
            _log.error("the gate could not be kept as an alert: %s", problem.message)

    def start(self) -> None:
        """Look and send in the background from now on, where rules are set; wrong rules are an error at once."""
        # Without rules there is nothing to look at, and no thread is started.
        if self._watcher is None and self.stage.plan.rules:
            self._watcher = AlertWatcher(self.stage)
            self._watcher.start()

    def stop(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None
