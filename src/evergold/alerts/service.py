"""Alerts: what fires, whom it was sent to, and a test message."""

import logging
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection

from evergold.alerts.rules import read_rules
from evergold.alerts.stage import AlertStage, AlertWatcher
from evergold.alerts.webhook import message
from evergold.errors import BadInput, Conflict, EvergoldError, NotFound, describe_unknown
from evergold.model.operations import AlertRuleState, AlertsState, AlertTest
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.alerts import LOOKED, add_rule, alerts_page, mute_rule, muted_rules, remove_rule, stored_rules
from evergold.store.facts import database_time, fact, now_and_later

_log = logging.getLogger("evergold.alerts")
NO_RULES = "no rules; add one in Settings, with evergold alerts add, or in [[alerts.rules]] of evergold.toml"
MOST_RULES = 100  # that people make
NOT_LOOKED = "no server has looked yet; `evergold serve` looks while it runs"


class Alerts:
    def __init__(self, store: Store, settings: Settings, clock: Callable[[], datetime] | None = None) -> None:
        self._store, self._settings, self._clock = store, settings, clock
        self._watcher: AlertWatcher | None = None

    @cached_property
    def stage(self) -> AlertStage:
        """The rules and the webhook of the settings."""
        return AlertStage(self._store, self._settings, self._clock)

    def state(self, *, firing_only: bool = False, limit: int = 100) -> AlertsState:
        """Everything that a page or a list shows."""
        with self._store.db.read() as connection:
            alerts = alerts_page(connection, firing_only=firing_only, limit=limit)
            looked, rules = fact(connection, LOOKED), self.stage.rules(connection)
            muted = muted_rules(connection, database_time(connection))
        webhook, states = self.stage.webhook, []
        for rule in rules:
            limits = rule.model_dump(mode="json", exclude_none=True, exclude={"name"})
            states.append(
                AlertRuleState(
                    name=rule.label,
                    kind=limits.pop("kind"),
                    origin="settings" if rule in self.stage.fixed_rules else "workspace",
                    limits=limits,
                    muted_until=muted.get(rule.label),
                )
            )
        return AlertsState(
            rules=states,
            webhook=webhook.shown if webhook else None,
            signed=bool(webhook and webhook.signed),
            looked_at=looked,
            hint=NO_RULES if not rules else NOT_LOOKED if looked is None else None,
            alerts=alerts,
        )

    def add_rule(self, table: Mapping[str, Any]) -> AlertsState:
        """Make a rule of this workspace; one of the same name is changed. Those of the settings stay as they are."""
        (rule,) = read_rules([table])
        if rule.label in {held.label for held in self.stage.fixed_rules}:
            raise Conflict(f"the settings have a rule {rule.label!r}; give this one another name")
        if len(self._store.read(stored_rules)) >= MOST_RULES:
            raise BadInput(f"there are {MOST_RULES} rules already; remove one first")
        self._store.write(add_rule, rule.label, rule.model_dump(mode="json"))
        return self.state()

    def remove_rule(self, label: str) -> AlertsState:
        """Remove a rule of this workspace; its alert is over at the next look."""
        self._require_rule(label)
        if not self._store.write(remove_rule, label):
            raise Conflict(f"the rule {label!r} is in the settings: remove it there")
        return self.state()

    def mute(self, label: str, hours: float) -> AlertsState:
        """Send no notification of a rule for so many hours, and 0: send them again. Alerts are kept and shown meanwhile."""
        self._require_rule(label)

        def work(connection: Connection) -> None:
            mute_rule(connection, label, now_and_later(connection, hours * 3600)[1] if hours else None)

        self._store.write(work)
        return self.state()

    def _require_rule(self, label: str) -> None:
        labels = [rule.label for rule in self._store.read(self.stage.rules)]
        if label not in labels:
            raise NotFound(describe_unknown("rule", label, labels))

    def test(self) -> AlertTest:
        """Read every rule, and send one test message now; nothing is kept."""
        readings, webhook = self.stage.readings(), self.stage.webhook
        if webhook is None:
            return AlertTest(readings=readings, webhook=None, sent=None, error="", seconds=0.0)
        began = time.monotonic()
        text = f"Test of evergold alerts: {len(self._store.read(self.stage.rules))} rules are set"
        # A test is signed and stamped like a real message, so that a receiver's check of it is tested too.
        posted = webhook.post(message(text, {}, "test"), f"test-{uuid4().hex[:12]}", int(time.time()))
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
        try:
            self.stage.gate(dataset, target, passed=passed, why=why)
            self.stage.deliver_due()
        except EvergoldError as problem:
            _log.error("the gate could not be kept as an alert: %s", problem.message)

    def start(self) -> None:
        """Look and send in the background from now on; wrong rules of the settings are an error at once."""
        if self._watcher is None:
            self._watcher = AlertWatcher(self.stage)
            self._watcher.start()

    def stop(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None
