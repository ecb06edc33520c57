"""Scores per case: the trials of a case reduced to one value, and a metric's mean with its interval and coverage."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Protocol

from pydantic import BaseModel

from evergold.stats.intervals import clustered_interval, t_interval


class ValueRow(Protocol):
    @property
    def case_id(self) -> str: ...
    @property
    def metric(self) -> str: ...
    @property
    def value(self) -> float | None: ...


class Mean(BaseModel, frozen=True):
    """`0.83 ±0.05 (n=41/50)`: never a mean without how many cases it rests on."""

    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    of: int

    def __str__(self) -> str:
        if self.value is None:
            return f"– (n=0/{self.of})"
        spread = f" ±{(self.high - self.low) / 2:.3f}" if self.low is not None and self.high is not None else ""
        missing = f", {self.of - self.n} unscored" if self.n < self.of else ""
        return f"{self.value:.3f}{spread} (n={self.n}/{self.of}{missing})"


def by_case(rows: Iterable[ValueRow]) -> dict[str, dict[str, float]]:
    """Metric → case → mean over its scored trials; cases without any are left out (and counted by their absence)."""
    trials: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row.value is not None:
            trials.setdefault(row.metric, {}).setdefault(row.case_id, []).append(row.value)
    return {metric: {case: fmean(values) for case, values in cases.items()} for metric, cases in trials.items()}


def means(
    scores: Mapping[str, Mapping[str, float]], metrics: Sequence[str], cases: int, clusters: Mapping[str, str]
) -> list[Mean]:
    """Each metric's mean over cases with its 95 % interval; cases that share a cluster are not taken as independent."""
    found = []
    for metric in metrics:
        values = scores.get(metric, {})
        numbers = list(values.values())
        names = [clusters.get(case, f"case {case}") for case in values]
        shared = len(set(names)) < len(names)
        interval = clustered_interval(numbers, names) if shared else t_interval(numbers)
        low, high = (interval.low, interval.high) if interval else (None, None)
        found.append(
            Mean(metric=metric, value=interval.value if interval else None, low=low, high=high, n=len(values), of=cases)
        )
    return found
