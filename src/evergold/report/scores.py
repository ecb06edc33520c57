"""Scores per case: the trials of a case reduced to one value, and a metric's mean with its interval and coverage."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Protocol

from pydantic import BaseModel

from evergold.stats.intervals import Interval, score_interval

EVEN = 1e-9


class ValueRow(Protocol):
    @property
    def case_id(self) -> str: ...
    @property
    def metric(self) -> str: ...
    @property
    def value(self) -> float | None: ...


class Mean(BaseModel, frozen=True):
    """`0.83 ±0.05 (n=41/50)`: never a mean without how many cases it rests on.

    `interval` names the method. One that is not the same width on both sides is said by its ends: `0.125 [0.022, 0.471]`.
    """

    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    of: int
    interval: str | None = None

    def __str__(self) -> str:
        if self.value is None:
            return f"– (n=0/{self.of})"
        missing = f", {self.of - self.n} unscored" if self.n < self.of else ""
        return f"{self.value:.3f}{self._spread(self.value)} (n={self.n}/{self.of}{missing})"

    def _spread(self, value: float) -> str:
        if self.low is None or self.high is None:
            return ""
        if abs(self.low + self.high - 2 * value) < EVEN:
            return f" ±{(self.high - self.low) / 2:.3f}"
        return f" [{self.low:.3f}, {self.high:.3f}]"


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
        found.append(_mean(metric, score_interval(numbers, names), cases))
    return found


def _mean(metric: str, over: Interval | None, cases: int) -> Mean:
    if over is None:
        return Mean(metric=metric, value=None, low=None, high=None, n=0, of=cases)
    method = over.method if over.low is not None else None
    return Mean(metric=metric, value=over.value, low=over.low, high=over.high, n=over.n, of=cases, interval=method)
