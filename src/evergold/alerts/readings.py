"""Rules → readings: what each rule finds now, in one look at the store."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection

from evergold.alerts.rules import AlertRule, DatasetDrop, FailingRate, GateFailed, IntakeStopped, duration
from evergold.model.alert import AlertKind, Reading
from evergold.model.moment import seconds_between
from evergold.store.alert_readings import largest_since, last_received, scored_since
from evergold.store.values import stamp


def readings_of(
    connection: Connection, rules: Sequence[AlertRule], now: datetime, sizes: dict[str, int]
) -> list[Reading]:
    """Read every rule that watches a condition; a gate speaks for itself when it is decided."""
    readings: list[Reading] = []
    for rule in rules:
        if isinstance(rule, FailingRate):
            readings.append(_failing_rate(connection, rule, now))
        elif isinstance(rule, IntakeStopped):
            readings.append(_intake(connection, rule, now))
        elif isinstance(rule, DatasetDrop):
            readings += _drops(connection, rule, now, sizes)
    return readings


def _failing_rate(connection: Connection, rule: FailingRate, now: datetime) -> Reading:
    since = _back(now, rule.window)
    scored, failing = scored_since(connection, rule.check, since, rule.below)
    # A window without scores is calm, not failing: nothing was measured.
    rate = failing / scored if scored else 0.0
    return Reading(
        rule=rule.label,
        kind=AlertKind.FAILING_RATE,
        subject=rule.check,
        firing=scored >= rule.least and rate > rule.above,
        text=f"{rule.check} is below {rule.below:g} on {failing} of {scored} traces ({rate:.1%}) of the last "
        f"{rule.window}; the limit is {rule.above:.0%}",
        details={"check": rule.check, "scored": scored, "failing": failing, "rate": rate, "window": rule.window}
        | {"below": rule.below, "since": since},
    )


def _intake(connection: Connection, rule: IntakeStopped, now: datetime) -> Reading:
    last = last_received(connection)
    silent = seconds_between(last, stamp(now))
    return Reading(
        rule=rule.label,
        kind=AlertKind.INTAKE_STOPPED,
        # A store that never received a trace is not firing: a new installation has not stopped, it has not begun.
        firing=silent is not None and silent > duration(rule.after).total_seconds(),
        text="no trace has ever come"
        if last is None
        else f"the newest trace came at {last[:19].replace('T', ' ')} UTC; the limit is {rule.after} without one",
        details={"last": last, "after": rule.after},
    )


def _drops(connection: Connection, rule: DatasetDrop, now: datetime, sizes: dict[str, int]) -> list[Reading]:
    before = largest_since(connection, _back(now, rule.window))
    # A dataset that was emptied is missing from `sizes`, and one
    # that is new is missing from `before`: both are looked at.
    names = [rule.dataset] if rule.dataset else sorted(before.keys() | sizes.keys())
    return [_drop(rule, name, before.get(name, 0), sizes.get(name, 0)) for name in names]


def _drop(rule: DatasetDrop, name: str, most: int, cases: int) -> Reading:
    lost = (most - cases) / most if most else 0.0
    return Reading(
        rule=rule.label,
        kind=AlertKind.DATASET_DROP,
        subject=name,
        firing=most >= rule.least and lost > rule.by,
        text=f"dataset {name} has {cases} cases and had {most} within the last {rule.window} ({-lost:+.1%}); "
        f"the limit is {-rule.by:+.0%}",
        details={"dataset": name, "cases": cases, "most": most, "lost": lost, "window": rule.window},
    )


def gate_readings(rules: Sequence[AlertRule], dataset: str, target: str, passed: bool, why: str) -> list[Reading]:
    """Read a decided gate for every rule that watches it."""
    return [
        Reading(
            rule=rule.label,
            kind=AlertKind.GATE_FAILED,
            subject=f"{dataset} {target}",
            firing=not passed,
            text=f"the gate of {target} on {dataset} {'passed' if passed else 'failed'}: {why}",
            details={"dataset": dataset, "target": target, "why": why},
        )
        for rule in rules
        if isinstance(rule, GateFailed) and rule.dataset in (None, dataset)
    ]


def _back(now: datetime, window: str) -> str:
    return str(stamp(now - duration(window)))


def earlier(now: datetime, **parts: float) -> str:
    """Give the stored form of a moment that lies so far back."""
    return str(stamp(now - timedelta(**parts)))
