"""Scores per case: the trials of a case reduced to one value, and a metric's mean with its interval and coverage."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Protocol

from pydantic import BaseModel

from evergold.stats.intervals import Interval, score_interval

# The tolerance for "the same width on both sides": both halves come from floating-point sums.
EVEN = 1e-9


class ValueRow(Protocol):
    @property
    def case_id(self) -> str: ...
    @property
    def metric(self) -> str: ...
    @property
    def value(self) -> float | None: ...
    @property
    def applies(self) -> bool: ...
    @property
    def own(self) -> bool: ...


class Mean(BaseModel, frozen=True):
    """`0.83 ±0.05 (n=41/50)`: never a mean without how many cases it rests on.

    `interval` names the method. One that is not the same width on both sides is said by its ends: `0.125 [0.022, 0.471]`.
    `of` counts the cases that the metric applies to; `not_applicable` counts the others. `self_compared` counts recorded
    answers that are their own reference; where a metric has other cases too, they are outside the mean.
    """

    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    of: int
    interval: str | None = None
    not_applicable: int = 0
    self_compared: int = 0

    def __str__(self) -> str:
        notes = [f"{self.of - self.n} unscored"] if self.value is not None and self.n < self.of else []
        notes += [f"{self.not_applicable} not applicable"] if self.not_applicable else []
        notes += [f"{self.self_compared} compared with itself"] if self.self_compared else []
        counted = f"(n={', '.join([f'{self.n}/{self.of}', *notes])})"
        return f"– {counted}" if self.value is None else f"{self.value:.3f}{self._spread(self.value)} {counted}"

    def _spread(self, value: float) -> str:
        if self.low is None or self.high is None:
            return ""
        if abs(self.low + self.high - 2 * value) < EVEN:
            return f" ±{(self.high - self.low) / 2:.3f}"
        return f" [{self.low:.3f}, {self.high:.3f}]"


def by_case(rows: Iterable[ValueRow]) -> dict[str, dict[str, float]]:
    """Metric → case → mean over its scored trials; cases without any are left out (and counted by their absence).

    An answer that is its own reference says nothing about a model: it is left out where the metric has other cases.
    """
    trials: dict[str, dict[str, list[float]]] = {}
    own: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row.value is not None:
            (own if row.own else trials).setdefault(row.metric, {}).setdefault(row.case_id, []).append(row.value)
    # Cases with a reference of another origin replace those that are their own reference, metric by metric.
    kept = {**own, **trials}
    return {metric: {case: fmean(values) for case, values in cases.items()} for metric, cases in kept.items()}


@dataclass
class Outside:
    """The cases of a metric that its mean leaves out, or counts apart."""

    not_applicable: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)

    def within(self, cases: set[str]) -> "Outside":
        return Outside(self.not_applicable & cases, self.own & cases)


def outside(rows: Iterable[ValueRow]) -> dict[str, Outside]:
    """Metric → the cases it does not apply to, and those whose answer is their own reference."""
    results: dict[str, Outside] = {}
    for row in rows:
        if not row.applies:
            results.setdefault(row.metric, Outside()).not_applicable.add(row.case_id)
        elif row.own:
            results.setdefault(row.metric, Outside()).own.add(row.case_id)
    return results


def means(
    scores: Mapping[str, Mapping[str, float]],
    metrics: Sequence[str],
    cases: int,
    clusters: Mapping[str, str],
    left_out: Mapping[str, Outside] | None = None,
) -> list[Mean]:
    """Each metric's mean over cases with its 95 % interval; cases that share a cluster are not taken as independent."""
    results = []
    for metric in metrics:
        values = scores.get(metric, {})
        numbers = list(values.values())
        names = [clusters.get(case, f"case {case}") for case in values]
        apart = (left_out or {}).get(metric, Outside())
        # Self-compared cases are outside the denominator only where `by_case` left them outside the mean.
        results.append(_mean(metric, score_interval(numbers, names), cases, apart, apart.own.isdisjoint(values)))
    return results


def _mean(metric: str, over: Interval | None, cases: int, apart: Outside, own_left_out: bool) -> Mean:
    of = cases - len(apart.not_applicable) - (len(apart.own) if own_left_out else 0)
    counts = {"of": of, "not_applicable": len(apart.not_applicable), "self_compared": len(apart.own)}
    if over is None:
        return Mean(metric=metric, value=None, low=None, high=None, n=0, **counts)
    method = over.method if over.low is not None else None
    return Mean(metric=metric, value=over.value, low=over.low, high=over.high, n=over.n, interval=method, **counts)
