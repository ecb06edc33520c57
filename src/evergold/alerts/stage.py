"""Evaluate the alert rules, store alerts that fire or are over, log them, and send the notifications that are due.

An alert is stored in the transaction that notices it, together with its notification, so that a crash loses neither. A fact in
the store decides which of several servers evaluates, a lease on the notification which one sends. No transaction is open while
the webhook is called, and all of it runs in one thread of a server, so that neither intake nor curation waits for a webhook.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection

from evergold.alerts.rules import (
    AlertRule,
    CoverageLow,
    DatasetDrop,
    FailingRate,
    GateFailed,
    IntakeStopped,
    TopicDrift,
    duration,
    read_rules,
)
from evergold.alerts.webhook import Webhook, alert_message, webhook_of
from evergold.errors import BadInput, EvergoldError
from evergold.model.operations import Alert, AlertEvent, Reading
from evergold.model.values import seconds_between
from evergold.settings import Settings
from evergold.store import Store
from evergold.store import alerts as alert_store
from evergold.store.case.cases import dataset_names
from evergold.store.database.rows import stamp
from evergold.store.facts import database_time
from evergold.store.topics import coverage_figures

Finding = tuple[str, bool, str, dict[str, Any]]
"""What a condition is of, whether it holds, and both in words and in figures."""


def _failing_rate(connection: Connection, rule: FailingRate, now: datetime, _: dict[str, int]) -> Iterator[Finding]:
    since = stamp_before(now, duration(rule.window))
    scored, failing = alert_store.scored_since(connection, rule.check, since, rule.below)
    # A window without scores is calm, not failing: nothing was measured.
    rate = failing / scored if scored else 0.0
    text = (
        f"{rule.check} is below {rule.below:g} on {failing} of {scored} traces ({rate:.1%}) of the last "
        f"{rule.window}; the limit is {rule.above:.0%}"
    )
    counts = {"check": rule.check, "scored": scored, "failing": failing, "rate": rate, "window": rule.window}
    yield rule.check, scored >= rule.least and rate > rule.above, text, counts | {"below": rule.below, "since": since}


def _intake(connection: Connection, rule: IntakeStopped, now: datetime, _: dict[str, int]) -> Iterator[Finding]:
    last = alert_store.last_received(connection)
    silent = seconds_between(last, stamp(now))
    # A store that never received a trace is not firing: a new installation has not stopped, it has not begun.
    firing = silent is not None and silent > duration(rule.after).total_seconds()
    text = "no trace has ever come"
    if last is not None:
        text = f"the newest trace came at {last[:19].replace('T', ' ')} UTC; the limit is {rule.after} without one"
    yield "", firing, text, {"last": last, "after": rule.after}


def _drops(connection: Connection, rule: DatasetDrop, now: datetime, sizes: dict[str, int]) -> Iterator[Finding]:
    before = alert_store.largest_since(connection, stamp_before(now, duration(rule.window)))
    # A dataset that was emptied is missing from `sizes`, and one
    # that is new is missing from `before`: both are looked at.
    for name in [rule.dataset] if rule.dataset else sorted(before.keys() | sizes.keys()):
        most, cases = before.get(name, 0), sizes.get(name, 0)
        lost = (most - cases) / most if most else 0.0
        text = (
            f"dataset {name} has {cases} cases and had {most} within the last {rule.window} ({-lost:+.1%}); "
            f"the limit is {-rule.by:+.0%}"
        )
        details = {"dataset": name, "cases": cases, "most": most, "lost": lost, "window": rule.window}
        yield name, most >= rule.least and lost > rule.by, text, details


def _coverage(connection: Connection, rule: CoverageLow, _: datetime, __: dict[str, int]) -> Iterator[Finding]:
    share = coverage_figures(connection).get("share")
    text = "the coverage of the traffic is not known yet"
    if share is not None:
        text = f"{share:.0%} of the traffic of the last 28 days is in covered topics; the limit is {rule.below:.0%}"
    # Traffic that was not sorted yet is not uncovered.
    yield "", share is not None and share < rule.below, text, {"share": share, "below": rule.below}


def _drift(connection: Connection, _: TopicDrift, __: datetime, ___: dict[str, int]) -> Iterator[Finding]:
    drift = coverage_figures(connection).get("drift") or {"value": None, "threshold": None, "alarm": False}
    text = "too little traffic to compare its topics"
    if drift["value"] is not None:
        text = (
            f"the topics of the last 7 days lie {drift['value']:.3f} from those of the 28 days before; "
            f"by chance it is at most {drift['threshold']:.3f}"
        )
    yield "", drift["alarm"], text, drift


READERS: dict[type[AlertRule], Callable[..., Iterator[Finding]]] = {
    FailingRate: _failing_rate,
    IntakeStopped: _intake,
    DatasetDrop: _drops,
    CoverageLow: _coverage,
    TopicDrift: _drift,
}


def gate_readings(rules: Sequence[AlertRule], dataset: str, target: str, passed: bool, why: str) -> list[Reading]:
    """Read a decided gate for every rule that watches it."""
    return [
        Reading(
            rule=rule.label,
            kind=rule.kind,
            subject=f"{dataset} {target}",
            firing=not passed,
            text=f"the gate of {target} on {dataset} {'passed' if passed else 'failed'}: {why}",
            details={"dataset": dataset, "target": target, "why": why},
        )
        for rule in rules
        if isinstance(rule, GateFailed) and rule.dataset in (None, dataset)
    ]


def stamp_before(now: datetime, ago: timedelta) -> str:
    """Give the stored form of a moment that lies so far back."""
    return str(stamp(now - ago))


_log = logging.getLogger("evergold.alerts")
# So long a condition must not hold before its alert is over: a rate at its limit is one alert, not many.
CALM = timedelta(minutes=15)
FIRST_WAIT, LONGEST_WAIT = 30.0, 3600.0  # seconds between two tries, doubled each time
MOST_SENT = 20  # at once
GIVE_UP = timedelta(hours=24)
LEASE_SECONDS = 60.0  # longer than a POST can take


class AlertStage:
    """The rules and the webhook of the settings, applied to a store; `clock` is the database's unless one is given."""

    def __init__(self, store: Store, settings: Settings, clock: Callable[[], datetime] | None = None) -> None:
        self.every_seconds, self._repeat_hours = settings.alerts_every_seconds, settings.alerts_repeat_hours
        if self.every_seconds < 1:
            raise BadInput(f"alerts.every_seconds = {self.every_seconds} is not 1 or more")
        self.fixed_rules, self.webhook = read_rules(settings.alerts_rules), webhook_of(settings)
        self._store, self._clock = store, clock or self._database_clock
        # Owner of leases on notifications; the process id alone may be given again by the system.
        self._owner = f"{os.getpid()}/{uuid4().hex[:12]}"

    def rules(self, connection: Connection) -> tuple[AlertRule, ...]:
        """The rules of the settings, and those that people made; of two with one name that of the settings counts."""
        held = {rule.label for rule in self.fixed_rules}
        return self.fixed_rules + tuple(
            rule for rule in read_rules(alert_store.stored_rules(connection)) if rule.label not in held
        )

    def look(self) -> bool:
        """Look at every rule, unless a server has done so within the interval; whether it was this one's turn."""
        if not self._store.read(self.rules):
            return False
        now = self._clock()
        # Nine tenths: a server that wakes a moment before the interval is over looks now, not one wake-up later.
        not_since = stamp_before(now, timedelta(seconds=0.9 * self.every_seconds))
        if not self._store.write(alert_store.claim_look, str(stamp(now)), not_since):
            return False
        # Readings are computed between two short transactions: the
        # claim is kept first, and no lock is held while they scan.
        readings, sizes = self._read(now)
        self._log_changes(self._store.write(self._keep, readings, sizes, now))
        return True

    def readings(self) -> list[Reading]:
        """Give what each rule finds now, without keeping it."""
        return self._read(self._clock())[0]

    def gate(self, dataset: str, target: str, *, passed: bool, why: str) -> None:
        """Take note of a decided gate: one that fails is an alert until the same gate passes."""
        readings = gate_readings(self._store.read(self.rules), dataset, target, passed, why)
        if readings:
            now = self._clock()
            calm = str(stamp(now))  # a gate does not flap
            self._log_changes(self._store.write(self._apply, readings, calm, calm))

    def deliver_due(self) -> int:
        """Send the notifications that are due and that no other server is sending; how many were sent or tried."""
        tried = 0
        while self.webhook is not None and tried < MOST_SENT:
            now = self._clock()
            until = str(stamp(now + timedelta(seconds=LEASE_SECONDS)))
            # The lease is written before the POST. A server that dies
            # while sending leaves a lease that another takes over.
            taken = self._store.write(
                alert_store.take_delivery, owner=self._owner, moment=str(stamp(now)), lease_until=until
            )
            if taken is None:
                break
            self._deliver(self.webhook, taken, now)
            tried += 1
        return tried

    def _deliver(self, webhook: Webhook, taken: alert_store.TakenDelivery, now: datetime) -> None:
        alert = self._store.read(alert_store.alert_by_id, taken.alert_id)
        posted = webhook.post(alert_message(alert, taken.event), str(taken.id), int(now.timestamp()))
        if not posted.error:
            self._store.write(alert_store.settle_delivery, taken=taken, owner=self._owner, moment=str(stamp(now)))
            return
        # The exponent is capped: 2 ** tries grows without limit as long as a receiver is down.
        wait = min(LONGEST_WAIT, max(FIRST_WAIT * 2 ** min(taken.tries - 1, 20), posted.wait_seconds or 0.0))
        next_at = stamp(now + timedelta(seconds=wait))
        # The age of the notification decides, not the number of tries: a receiver may ask for long waits.
        if taken.created_at <= stamp_before(now, GIVE_UP):
            next_at = None
            _log.error("alert %d: given up after %d tries: %s", taken.alert_id, taken.tries, posted.error)
        self._store.write(
            alert_store.postpone_delivery, taken=taken, owner=self._owner, error=posted.error, next_at=next_at
        )

    def _read(self, now: datetime) -> tuple[list[Reading], dict[str, int]]:
        with self._store.db.read() as connection:
            sizes = dataset_names(connection)
            rules = self.rules(connection)
            return [
                Reading(rule=rule.label, kind=rule.kind, subject=subject, firing=firing, text=text, details=details)
                for rule in rules
                if type(rule) in READERS
                for subject, firing, text, details in READERS[type(rule)](connection, rule, now, sizes)
            ], sizes

    def _keep(
        self, connection: Connection, readings: Sequence[Reading], sizes: dict[str, int], now: datetime
    ) -> list[tuple[Alert, AlertEvent]]:
        moment = str(stamp(now))
        alert_store.keep_sizes(
            connection, sizes, moment, stamp_before(now, timedelta(days=alert_store.KEPT_SIZES_DAYS))
        )
        # An alert whose rule was removed from the settings would stay open for ever, since nothing reads it again.
        alert_store.close_unknown(connection, [rule.label for rule in self.rules(connection)], moment)
        alert_store.forget_old(connection)
        changed = self._apply(connection, readings, moment, stamp_before(now, CALM))
        if self._repeat_hours > 0:
            for alert_id in alert_store.due_reminders(
                connection, moment, stamp_before(now, timedelta(hours=self._repeat_hours))
            ):
                changed.append(self._announce(connection, alert_id, AlertEvent.REMINDER, moment))
        return changed

    def _apply(
        self, connection: Connection, readings: Sequence[Reading], moment: str, calm_before: str
    ) -> list[tuple[Alert, AlertEvent]]:
        changed = []
        for reading in readings:
            if reading.firing:
                alert, event = alert_store.open_alert(connection, reading, moment), AlertEvent.FIRING
            else:
                alert, event = alert_store.calm_alert(connection, reading, moment, calm_before), AlertEvent.RESOLVED
            if alert is not None:
                changed.append(self._announce(connection, alert, event, moment))
        return changed

    def _announce(
        self, connection: Connection, alert_id: int, event: AlertEvent, moment: str
    ) -> tuple[Alert, AlertEvent]:
        alert = alert_store.alert_by_id(connection, alert_id)
        if self.webhook is not None and alert.rule not in alert_store.muted_rules(connection, moment):
            alert_store.queue_delivery(connection, alert_id, event, moment)
        return alert, event

    def _log_changes(self, changed: Sequence[tuple[Alert, AlertEvent]]) -> None:
        for alert, event in changed:
            _log.warning("alert %d %s: %s", alert.id, event.value, alert.text)

    def _database_clock(self) -> datetime:
        with self._store.db.read() as connection:
            return datetime.fromisoformat(database_time(connection))


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
        wait = min(LOOK_SECONDS, float(self._stage.every_seconds))
        while not self._stopping.wait(wait):
            try:
                began = time.monotonic()
                if began >= self._rest_until:
                    self._stage.look()
                    # A look scans the scores of the window. On a large store it
                    # may take seconds; the rest keeps it below 5 % of the time.
                    self._rest_until = began + REST_FOR_WORK * (time.monotonic() - began)
                self._stage.deliver_due()
                self.last_error = None
            except EvergoldError as problem:
                self._note(problem.message)
            except Exception as problem:  # a thread that ended here would end all alerts in silence
                self._note(f"{type(problem).__name__}: {problem}".splitlines()[0])

    def _note(self, problem: str) -> None:
        # A lasting fault is logged once, not every five seconds.
        if problem != self.last_error and not self._stopping.is_set():
            _log.error("alerts cannot be looked at: %s", problem)
        self.last_error = problem
