"""Scores per case: the trials of a case reduced to one value, and a metric's mean with its interval and coverage.

Means in which each question counts once, however many cases ask it.

Count the origins of the references behind a mean: a person, the source, or nobody yet.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Protocol

from pydantic import BaseModel

from evergold.model.case import Case, Origin
from evergold.model.run import Run
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


Scores = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Groups:
    """Which cases are not independent of each other (`clusters`), and, where each question counts once, which ask one.

    Both map a case to a name. `questions` is None where every case counts by itself.
    """

    clusters: Mapping[str, str] = field(default_factory=dict)
    questions: Mapping[str, str] | None = None

    def counted(self, cases: set[str]) -> int:
        """How many values a mean over these cases can rest on: their questions, or the cases themselves."""
        return len(cases) if self.questions is None else len(_named(cases, self.questions))

    def reduced(self, values: Mapping[str, float]) -> Mapping[str, float]:
        """The value of each question, or of each case where every case counts by itself."""
        return values if self.questions is None else _asked(values, self.questions)

    def weighed(
        self, scores: Scores, outside: Mapping[str, Outside]
    ) -> tuple[Mapping[str, Mapping[str, float]], Mapping[str, Outside]]:
        """Scores and what they leave out, by question where each counts once, else as they are."""
        return (scores, outside) if self.questions is None else by_question(scores, outside, self.questions)


def run_means(run: Run, rows: Sequence[ValueRow], metrics: Sequence[str], groups: Groups) -> list[Mean]:
    """The mean of each metric over the cases of a run, or over their questions where each counts once."""
    scores, left_out = groups.weighed(by_case(rows), outside(rows))
    count = run.total // run.spec.trials
    if groups.questions is not None:
        count = len(set(groups.questions.values()))
    return means(scores, metrics, count, groups.clusters, left_out)


def by_question(
    scores: Scores, outside: Mapping[str, Outside], question_of: Mapping[str, str]
) -> tuple[dict[str, dict[str, float]], dict[str, Outside]]:
    """Metric → question → mean over the scored cases that ask it, and the questions of which a metric scored no case.

    `question_of`: case → the name of its question; a case that is not there is a question of its own.
    """
    asked = {metric: _asked(values, question_of) for metric, values in scores.items()}
    left_out: dict[str, Outside] = {}
    for metric, cut in outside.items():
        scored = asked.get(metric, {}).keys()
        own = _named(cut.own, question_of)
        # As for single cases: self-compared answers count in the mean only where the metric has no other.
        if cut.own.isdisjoint(scores.get(metric, {})):
            # A question that has a scored case is inside the mean, whatever its other cases are.
            own -= scored
        left_out[metric] = Outside(_named(cut.not_applicable, question_of) - scored - own, own)
    return asked, left_out


def _asked(values: Mapping[str, float], question_of: Mapping[str, str]) -> dict[str, float]:
    by_name: dict[str, list[float]] = {}
    for case, value in values.items():
        by_name.setdefault(question_of.get(case, case), []).append(value)
    return {question: fmean(some) for question, some in by_name.items()}


def _named(cases: set[str], question_of: Mapping[str, str]) -> set[str]:
    return {question_of.get(case, case) for case in cases}


NO_REFERENCE = "none"


def origin_of(case: Case) -> str:
    reference = case.reference()
    return NO_REFERENCE if reference is None else str(reference.origin)


def candidate_warnings(origins: Mapping[str, str], scores: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Say which means rest on references that no person has confirmed. `origins`: case → the origin of its reference."""
    candidates = {name for name, origin in origins.items() if origin == Origin.CANDIDATE}
    # Metrics that rest on the same number of candidates share one warning.
    resting: dict[tuple[int, int], list[str]] = {}
    for metric, values in scores.items():
        if count := len(candidates & values.keys()):
            resting.setdefault((count, len(values)), []).append(metric)
    for (count, of), metrics in resting.items():
        yield f"{', '.join(metrics)}: {count} of {of} references are candidates that no person has confirmed"
