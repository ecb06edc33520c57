"""The door: look at the rules, keep what fires or is over, log it, and send what is due.

An alert is kept in the transaction that notices it, together with its notification, so that a crash loses neither. Which of
several servers looks is decided by a fact in the store, and which sends by a lease on the notification. Nothing here holds a
transaction open while the webhook is asked.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial

from pydantic import BaseModel
from sqlalchemy import Connection

from evergold.alerts.readings import earlier, gate_readings, readings_of
from evergold.alerts.rules import AlertRule
from evergold.alerts.webhook import Webhook, message
from evergold.model.alert import Alert, AlertEvent, Reading
from evergold.store import Store
from evergold.store.alert_deliveries import (
    TakenDelivery,
    postpone_delivery,
    queue_delivery,
    settle_delivery,
    take_delivery,
)
from evergold.store.alert_readings import KEPT_SIZES_DAYS, keep_sizes, sizes_now
from evergold.store.alerts import (
    alert_by_id,
    calm_alert,
    claim_look,
    close_unknown,
    database_time,
    due_reminders,
    forget_old,
    open_alert,
)
from evergold.store.values import stamp

_log = logging.getLogger("evergold.alerts")
CALM_MINUTES = (
    15  # so long a condition must not hold before its alert is over: a rate at its limit is one alert, not many
)
FIRST_WAIT, LONGEST_WAIT = 30.0, 3600.0  # seconds between two tries, doubled each time
GIVE_UP_HOURS = 24
LEASE_SECONDS = 60.0  # longer than a POST can take


class AlertPlan(BaseModel, frozen=True, arbitrary_types_allowed=True):
    """What the settings say of alerts."""

    rules: tuple[AlertRule, ...] = ()
    webhook: Webhook | None = None
    every_seconds: int = 60
    repeat_hours: float = 24.0


class AlertStage:
    """Rules and a webhook, applied to a store. `clock` is the database's unless a caller gives another."""

    def __init__(self, store: Store, plan: AlertPlan, owner: str, clock: Callable[[], datetime] | None = None) -> None:
        self._store = store
        self.plan = plan
        self._owner = owner
        self._clock = clock or self._database_clock

    def look(self) -> bool:
        """Look at every rule, unless a server has done so within the interval; whether it was this one's turn."""
        now = self._clock()
        # Nine tenths: a server that wakes a moment before the interval is over looks now, not one wake-up later.
        not_since = earlier(now, seconds=0.9 * self.plan.every_seconds)
        if not self._store.db.write(lambda connection: claim_look(connection, str(stamp(now)), not_since)):
            return False
        # Readings are computed between two short transactions: the
        # claim is kept first, and no lock is held while they scan.
        readings, sizes = self._read(now)
        changed = self._store.db.write(partial(self._keep, readings=readings, sizes=sizes, now=now))
        self._log_changes(changed)
        return True

    def readings(self) -> list[Reading]:
        """Give what each rule finds now, without keeping it."""
        return self._read(self._clock())[0]

    def gate(self, dataset: str, target: str, *, passed: bool, why: str) -> None:
        """Take note of a decided gate: one that fails is an alert until the same gate passes."""
        readings = gate_readings(self.plan.rules, dataset, target, passed, why)
        if readings:
            now = self._clock()
            calm = str(stamp(now))  # a gate does not flap
            self._log_changes(
                self._store.db.write(partial(self._apply, readings=readings, moment=calm, calm_before=calm))
            )

    def deliver_due(self, most: int = 20) -> int:
        """Send the notifications that are due and that no other server is sending; how many were sent or tried."""
        tried = 0
        while self.plan.webhook is not None and tried < most:
            now = self._clock()
            until = str(stamp(now + timedelta(seconds=LEASE_SECONDS)))
            # The lease is written before the POST. A server that dies
            # while sending leaves a lease that another takes over.
            taken = self._store.db.write(
                partial(take_delivery, owner=self._owner, moment=str(stamp(now)), lease_until=until)
            )
            if taken is None:
                break
            self._deliver(self.plan.webhook, taken, now)
            tried += 1
        return tried

    def _deliver(self, webhook: Webhook, taken: TakenDelivery, now: datetime) -> None:
        with self._store.db.read() as connection:
            alert = alert_by_id(connection, taken.alert_id)
        posted = webhook.post(message(alert, taken.event), str(taken.id), int(now.timestamp()))
        if not posted.error:
            settled = partial(settle_delivery, taken=taken, owner=self._owner, moment=str(stamp(now)))
            self._store.db.write(settled)
            return
        # The exponent is capped: 2 ** tries grows without limit as long as a receiver is down.
        wait = min(LONGEST_WAIT, max(FIRST_WAIT * 2 ** min(taken.tries - 1, 20), posted.wait_seconds or 0.0))
        next_at = stamp(now + timedelta(seconds=wait))
        # The age of the notification decides, not the number of tries: a receiver may ask for long waits.
        if taken.created_at <= earlier(now, hours=GIVE_UP_HOURS):
            next_at = None
            _log.error("alert %d: given up after %d tries: %s", taken.alert_id, taken.tries, posted.error)
        self._store.db.write(
            partial(postpone_delivery, taken=taken, owner=self._owner, error=posted.error, next_at=next_at)
        )

    def _read(self, now: datetime) -> tuple[list[Reading], dict[str, int]]:
        with self._store.db.read() as connection:
            sizes = sizes_now(connection)
            return readings_of(connection, self.plan.rules, now, sizes), sizes

    def _keep(
        self, connection: Connection, readings: Sequence[Reading], sizes: dict[str, int], now: datetime
    ) -> list[tuple[Alert, AlertEvent]]:
        moment = str(stamp(now))
        keep_sizes(connection, sizes, moment, earlier(now, days=KEPT_SIZES_DAYS))
        # An alert whose rule was removed from the settings would stay open for ever, since nothing reads it again.
        close_unknown(connection, [rule.label for rule in self.plan.rules], moment)
        forget_old(connection)
        changed = self._apply(connection, readings, moment, earlier(now, minutes=CALM_MINUTES))
        if self.plan.repeat_hours > 0:
            for alert_id in due_reminders(connection, moment, earlier(now, hours=self.plan.repeat_hours)):
                changed.append(self._announce(connection, alert_id, AlertEvent.REMINDER, moment))
        return changed

    def _apply(
        self, connection: Connection, readings: Sequence[Reading], moment: str, calm_before: str
    ) -> list[tuple[Alert, AlertEvent]]:
        changed = []
        for reading in readings:
            if reading.firing:
                alert, event = open_alert(connection, reading, moment), AlertEvent.FIRING
            else:
                alert, event = calm_alert(connection, reading, moment, calm_before), AlertEvent.RESOLVED
            if alert is not None:
                changed.append(self._announce(connection, alert, event, moment))
        return changed

    def _announce(
        self, connection: Connection, alert_id: int, event: AlertEvent, moment: str
    ) -> tuple[Alert, AlertEvent]:
        if self.plan.webhook is not None:
            queue_delivery(connection, alert_id, event, moment)
        return alert_by_id(connection, alert_id), event

    def _log_changes(self, changed: Sequence[tuple[Alert, AlertEvent]]) -> None:
        for alert, event in changed:
            _log.warning("alert %d %s: %s", alert.id, event.value, alert.text)

    def _database_clock(self) -> datetime:
        with self._store.db.read() as connection:
            return datetime.fromisoformat(database_time(connection))
