"""Alert rules: tables of the setting `alerts.rules` in, rules out, or one line that says which key is wrong.

[[alerts.rules]]
kind = "failing_rate"      # a check, or any score by name, fails too often
check = "answered"
above = 0.1                # share of the window's scores
window = "1h"              # of traces that began in it
least = 20                 # fewer scores say nothing

[[alerts.rules]]
kind = "intake_stopped"    # no trace has come
after = "30m"

[[alerts.rules]]
kind = "dataset_drop"      # a dataset lost cases; all datasets unless one is named
dataset = "live"
by = 0.1
window = "24h"

[[alerts.rules]]
kind = "gate_failed"       # evergold compare --gate, evergold run --fail-under

[[alerts.rules]]
kind = "coverage_low"      # too little of the traffic is in topics with three golden cases
below = 0.5

[[alerts.rules]]
kind = "topic_drift"       # the topics of the last 7 days are others than those of the 28 days before
"""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from evergold.errors import BadInput, describe_unknown
from evergold.model.faults import refused_settings
from evergold.model.operations import AlertKind

DURATION = re.compile(r"^(\d+)\s*([smhd])$")
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
LONGEST = timedelta(days=30)


def _duration(text: str) -> str:
    if not timedelta() < duration(text) <= LONGEST:
        raise ValueError(f"{text!r} is not between 1s and {LONGEST.days}d")
    return text


def duration(text: str) -> timedelta:
    """Read `30m`: a number and s, m, h or d."""
    match = DURATION.match(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a number and a unit: use 30m, 12h, 7d (s, m, h, d)")
    # The number is capped before timedelta multiplies it: "9999999999d" would overflow instead of being refused.
    return timedelta(**{UNITS[match[2]]: min(int(match[1]), 10**6)})


Duration = Annotated[str, AfterValidator(_duration)]
Share = Annotated[float, Field(gt=0.0, le=1.0)]


class AlertRule(BaseModel, frozen=True, extra="forbid"):
    """What every rule has. Its name says which alert is which; it may be left out while rules of a kind differ otherwise."""

    name: Annotated[str, Field(max_length=100)] = ""
    kind: AlertKind

    @property
    def label(self) -> str:
        subject = getattr(self, "check", None) or getattr(self, "dataset", None)
        return self.name or (f"{self.kind}:{subject}" if subject else str(self.kind))


class FailingRate(AlertRule, frozen=True):
    kind: Literal[AlertKind.FAILING_RATE]
    check: Annotated[str, Field(min_length=1)]
    above: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.1
    below: Share = 0.3
    window: Duration = "1h"
    least: Annotated[int, Field(ge=1)] = 20


class IntakeStopped(AlertRule, frozen=True):
    kind: Literal[AlertKind.INTAKE_STOPPED]
    after: Duration = "30m"


class DatasetDrop(AlertRule, frozen=True):
    kind: Literal[AlertKind.DATASET_DROP]
    dataset: str | None = None
    by: Share = 0.1
    window: Duration = "24h"
    least: Annotated[int, Field(ge=1)] = 20


class GateFailed(AlertRule, frozen=True):
    kind: Literal[AlertKind.GATE_FAILED]
    dataset: str | None = None


class CoverageLow(AlertRule, frozen=True):
    kind: Literal[AlertKind.COVERAGE_LOW]
    below: Share = 0.5


class TopicDrift(AlertRule, frozen=True):
    kind: Literal[AlertKind.TOPIC_DRIFT]


KINDS: dict[str, type[AlertRule]] = {
    "failing_rate": FailingRate,
    "intake_stopped": IntakeStopped,
    "dataset_drop": DatasetDrop,
    "gate_failed": GateFailed,
    "coverage_low": CoverageLow,
    "topic_drift": TopicDrift,
}


def read_rules(tables: Sequence[Mapping[str, Any]]) -> tuple[AlertRule, ...]:
    """Read every rule; two of one name are an error."""
    rules: dict[str, AlertRule] = {}
    for number, table in enumerate(tables, 1):
        where, kind = f"alerts.rules, rule {number}", table.get("kind")
        if kind not in KINDS:
            raise BadInput(f"{where}: {describe_unknown('kind', str(kind), tuple(KINDS))}")
        try:
            rule = KINDS[kind].model_validate(dict(table))
        except ValidationError as problem:
            raise refused_settings(problem, KINDS[kind], where) from problem
        # Alerts are stored by label. Two rules of one label would open and close each other's alert.
        if rule.label in rules:
            raise BadInput(f"{where}: there is another rule {rule.label!r}; give one of them a name")
        rules[rule.label] = rule
    return tuple(rules.values())
