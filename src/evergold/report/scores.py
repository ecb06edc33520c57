"""Scores per case: the trials of a case reduced to one value, and a metric's mean with its interval and coverage.

A mean may also be one in which each question counts once, however many cases ask it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import fmean

from evergold.model.case import Case, Origin
from evergold.model.report import Mean
from evergold.model.run import Run
from evergold.stats.intervals import Reducer, score_interval
from evergold.store.run.attempts import Value


def by_case(rows: Iterable[Value], reduce: Reducer = fmean) -> dict[str, dict[str, float]]:
    """Metric → case → its scored trials reduced to one value; cases without any are left out (and counted by their absence).

    An answer that is its own reference says nothing about a model: it is left out where the metric has other cases.
    """
    trials: dict[str, dict[str, list[float]]] = {}
    own: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row.value is not None:
            (own if row.own else trials).setdefault(row.metric, {}).setdefault(row.case_id, []).append(row.value)
    results: dict[str, dict[str, float]] = {}
    # Cases with a reference of another origin replace those that are their own reference, metric by metric.
    for metric, cases in {**own, **trials}.items():
        scores = results.setdefault(metric, {})
        for case, values in cases.items():
            # A case with too few scored trials for the reducer has no value.
            with suppress(ValueError):
                scores[case] = reduce(values)
    return results


@dataclass
class Outside:
    """The cases of a metric that its mean leaves out, or counts apart."""

    not_applicable: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)

    def within(self, cases: set[str]) -> "Outside":
        return Outside(self.not_applicable & cases, self.own & cases)


def outside(rows: Iterable[Value]) -> dict[str, Outside]:
    """Metric → the cases it does not apply to, and those whose answer is their own reference."""
    results: dict[str, Outside] = {}
    for row in rows:
        if not row.applies:
            results.setdefault(row.metric, Outside()).not_applicable.add(row.case_id)
        elif row.own:
            results.setdefault(row.metric, Outside()).own.add(row.case_id)
    return results


Scores = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Groups:
    """Which cases are not independent of each other (`clusters`), and, where each question counts once, which ask one.

    Both map a case to a name. `questions` is None where every case counts by itself.
    """

    clusters: Mapping[str, str] = field(default_factory=dict)
    questions: Mapping[str, str] | None = None

    def count(self, cases: set[str]) -> int:
        """How many values a mean over these cases can rest on: their questions, or the cases themselves."""
        return len(cases) if self.questions is None else len(_names_of(cases, self.questions))

    def reduce(self, values: Mapping[str, float]) -> Mapping[str, float]:
        """The value of each question, or of each case where every case counts by itself."""
        return values if self.questions is None else _by_question(values, self.questions)

    def weigh(self, scores: Scores, outside: Mapping[str, Outside]) -> tuple[Scores, Mapping[str, Outside]]:
        """Scores and what they leave out, by question where each counts once, else as they are."""
        return (scores, outside) if self.questions is None else by_question(scores, outside, self.questions)

    def means(
        self, scores: Scores, outside: Mapping[str, Outside], metrics: Sequence[str], count: int
    ) -> Iterator[Mean]:
        """Each metric's mean over `count` cases or questions with its 95 % interval."""
        weighed, left_out = self.weigh(scores, outside)
        for metric in metrics:
            values, apart = weighed.get(metric, {}), left_out.get(metric, Outside())
            over = score_interval([*values.values()], [self.clusters.get(case, f"case {case}") for case in values])
            # Self-compared cases are outside the denominator only where `by_case` left them outside the mean.
            own_left_out = len(apart.own) if apart.own.isdisjoint(values) else 0
            yield Mean(
                metric=metric,
                value=over and over.value,
                low=over and over.low,
                high=over and over.high,
                n=over.n if over else 0,
                of=count - len(apart.not_applicable) - own_left_out,
                interval=over.method if over and over.low is not None else None,
                not_applicable=len(apart.not_applicable),
                self_compared=len(apart.own),
            )


def run_means(run: Run, rows: Sequence[Value], metrics: Sequence[str], groups: Groups) -> list[Mean]:
    """The mean of each metric over the cases of a run, or over their questions where each counts once."""
    count = run.total // run.spec.trials if groups.questions is None else len(set(groups.questions.values()))
    return list(groups.means(by_case(rows), outside(rows), metrics, count))


def by_question(
    scores: Scores, outside: Mapping[str, Outside], question_of: Mapping[str, str]
) -> tuple[dict[str, dict[str, float]], dict[str, Outside]]:
    """Metric → question → mean over the scored cases that ask it, and the questions of which a metric scored no case.

    `question_of`: case → the name of its question; a case that is not there is a question of its own.
    """
    asked = {metric: _by_question(values, question_of) for metric, values in scores.items()}
    left_out: dict[str, Outside] = {}
    for metric, cut in outside.items():
        scored = asked.get(metric, {}).keys()
        own = _names_of(cut.own, question_of)
        # As for single cases: self-compared answers count in the mean only where the metric has no other.
        if cut.own.isdisjoint(scores.get(metric, {})):
            # A question that has a scored case is inside the mean, whatever its other cases are.
            own -= scored
        left_out[metric] = Outside(_names_of(cut.not_applicable, question_of) - scored - own, own)
    return asked, left_out


def _by_question(values: Mapping[str, float], question_of: Mapping[str, str]) -> dict[str, float]:
    by_name: dict[str, list[float]] = {}
    for case, value in values.items():
        by_name.setdefault(question_of.get(case, case), []).append(value)
    return {question: fmean(some) for question, some in by_name.items()}


def _names_of(cases: set[str], question_of: Mapping[str, str]) -> set[str]:
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
