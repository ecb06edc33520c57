"""Scores per case: the trials of a case reduced to one value, and a metric's mean with its interval and coverage.

What was not observed counts in nobody's favour: an attempt without an answer has the worst value of each metric, and how
many there were stands beside the mean. A mean may also be one in which each question counts once, however many cases ask
it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import fmean

from evergold.model.case import Case, Origin
from evergold.model.report import Mean
from evergold.model.run import AttemptOutcome, MetricSpec, Run, Scale
from evergold.stats.intervals import Reducer, t_interval
from evergold.stats.scores import MeanScore, mean_score
from evergold.store.run.attempts import Value


def by_case(
    rows: Iterable[Value], reduce: Reducer = fmean, *, exclude_errors: bool = False
) -> dict[str, dict[str, float]]:
    """Metric → case → its scored trials reduced to one value; cases without any are left out (and counted by their absence).

    Attempts without an answer come with the worst value; `exclude_errors` leaves out those that got no reply, and nothing
    else does. An answer that is its own reference says nothing about a model: it is left out where the metric has other
    cases.
    """
    trials: dict[tuple[str, bool], dict[str, list[float]]] = {}
    for row in rows:
        if row.value is not None and not (exclude_errors and row.outcome is AttemptOutcome.ERROR):
            trials.setdefault((row.metric, row.own), {}).setdefault(row.case_id, []).append(row.value)
    results: dict[str, dict[str, float]] = {}
    for (metric, own), cases in trials.items():
        if own and (metric, False) in trials:
            continue
        scores = results.setdefault(metric, {})
        for case, values in cases.items():
            # A case with too few scored trials for the reducer has no value.
            with suppress(ValueError):
                scores[case] = reduce(values)
    return results


AttemptCounts = Mapping[str, Counter[str]]
"""Attempts of a metric, by what they are counted as and by case: those with a value, and what stands beside the mean."""


def count_attempts(rows: Iterable[Value]) -> dict[str, AttemptCounts]:
    """Metric → its attempts, counted."""
    results: dict[str, defaultdict[str, Counter[str]]] = {}
    for row in rows:
        counts = results.setdefault(row.metric, defaultdict(Counter))
        counted_as = {
            "not_applicable": not row.applies,
            "scored": row.value is not None,
            "own": row.own,
            "errors": row.outcome is AttemptOutcome.ERROR,
            "failed": row.outcome is AttemptOutcome.FAILED,
            "truncated": row.truncated,
            "uncited": row.uncited,
            "outside": row.outside,
        }
        for name, counted in counted_as.items():
            # One that the metric does not apply to counts as nothing else.
            if counted and (row.applies or name == "not_applicable"):
                counts[name][row.case_id] += 1
    return {**results}


def average_by_name(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The mean of the values of each name."""
    by_name: dict[str, list[float]] = {}
    for name, value in values:
        by_name.setdefault(name, []).append(value)
    return {name: fmean(some) for name, some in by_name.items()}


Scores = Mapping[str, Mapping[str, float]]
Scales = Mapping[str, Scale | None]


def scales_of(run: Run) -> dict[str, Scale | None]:
    """Metric → its scale; a run that has not begun has no specs yet, only the names of the metrics it was asked for."""
    known = {spec.name: spec for spec in run.metrics}
    return {name: known.get(name, MetricSpec(name=name, version="")).scale for name in known or run.spec.metrics}


@dataclass(frozen=True)
class Groups:
    """Which cases are not independent of each other (`clusters`), and, where each question counts once, which ask one.

    Both map a case to a name. `questions` is None where every case counts by itself.
    """

    clusters: Mapping[str, str] = field(default_factory=dict)
    questions: Mapping[str, str] | None = None

    def names_of(self, cases: Iterable[str]) -> set[str]:
        """What a mean over these cases can rest on: their questions, or the cases themselves."""
        return set(cases) if self.questions is None else {self.questions.get(case, case) for case in cases}

    def reduce(self, values: Mapping[str, float]) -> Mapping[str, float]:
        """The value of each question, or of each case where every case counts by itself."""
        if self.questions is None:
            return values
        return average_by_name((self.questions.get(case, case), value) for case, value in values.items())

    def cluster_names(self, cases: Iterable[str]) -> list[str]:
        """The cluster of each case; one outside every cluster is by itself, and its prefix keeps it apart from a name."""
        return [self.clusters.get(case, f"case {case}") for case in cases]


def means_of(
    scores: Scores,
    counts: Mapping[str, AttemptCounts],
    scales: Scales,
    groups: Groups,
    size: tuple[int, int],
    *,
    exclude_errors: bool = False,
) -> Iterator[Mean]:
    """Each metric's mean with its 95 % interval; `size` is how many cases (or questions) and attempts there are."""
    cases, attempts = size
    for metric, scale in scales.items():
        counted = defaultdict(Counter, counts.get(metric, {}))
        values = groups.reduce(scores.get(metric, {}))
        # A question that has a scored case is inside the mean, whatever its other cases are. Answers that are their own
        # reference are outside the denominator only where `by_case` left them outside the mean.
        own = groups.names_of(counted["own"]) - values.keys()
        apart = groups.names_of(counted["not_applicable"]) - values.keys() - own
        over = mean_on_scale([*values.values()], groups.cluster_names(values), scale)
        left_out = counted["own"].total() if own else 0
        # The cases that have no value because every reply to them was lost.
        lost: set[str] = set()
        if exclude_errors:
            left_out += counted["errors"].total()
            lost = counted["errors"].keys() - scores.get(metric, {}).keys()
        applicable = attempts - counted["not_applicable"].total() - left_out
        yield Mean(
            metric=metric,
            value=over.value,
            low=over.low,
            high=over.high,
            n=over.n,
            of=cases - len(apart) - len(own) - len(lost),
            interval=over.method,
            not_applicable=len(apart),
            self_compared=len(groups.names_of(counted["own"])),
            excluded=exclude_errors,
            coverage=min(1.0, (counted["scored"].total() - left_out) / applicable) if applicable > 0 else None,
            **{name: counted[name].total() for name in ("errors", "failed", "truncated", "uncited", "outside")},
        )


def mean_on_scale(values: Sequence[float], names: Sequence[str], scale: Scale | None) -> MeanScore:
    """The mean of values on a metric's scale, in groups by name; without a scale by Student's t alone."""
    if scale is None:
        result = t_interval(values, names)
        if result is None:
            return MeanScore(None, None, None, 0, 0)
        return MeanScore(result.value, result.low, result.high, result.n, len(set(names)), method=result.method)
    over = mean_score([scale.share_of(value) for value in values], groups=names)
    if over.value is None or over.low is None or over.high is None:
        return over
    low, high = sorted((scale.value_at(over.low), scale.value_at(over.high)))
    return MeanScore(fmean(values), low, high, over.n, over.groups, over.unscored, over.method)


def run_means(
    run: Run, rows: Sequence[Value], metrics: Sequence[str], groups: Groups, *, exclude_errors: bool = False
) -> list[Mean]:
    """The mean of each metric over the cases of a run, or over their questions where each counts once."""
    cases = run.total // run.spec.trials if groups.questions is None else len(set(groups.questions.values()))
    scales = scales_of(run)
    return list(
        means_of(
            by_case(rows, exclude_errors=exclude_errors),
            count_attempts(rows),
            {name: scales.get(name, Scale()) for name in metrics},
            groups,
            (cases, run.total),
            exclude_errors=exclude_errors,
        )
    )


NO_REFERENCE = "none"
UNCONFIRMED = (Origin.UNCONFIRMED, Origin.CANDIDATE)


def origin_of(case: Case) -> str:
    reference = case.reference()
    return NO_REFERENCE if reference is None else str(reference.origin)


def candidate_warnings(origins: Mapping[str, str], scores: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Say which means rest on references that no person has confirmed. `origins`: case → the origin of its reference."""
    candidates = {name for name, origin in origins.items() if origin in UNCONFIRMED}
    # Metrics that rest on the same number of candidates share one warning.
    resting: dict[tuple[int, int], list[str]] = {}
    for metric, values in scores.items():
        if count := len(candidates & values.keys()):
            resting.setdefault((count, len(values)), []).append(metric)
    for (count, of), metrics in resting.items():
        yield f"{', '.join(metrics)}: {count} of {of} references are answers that no person has confirmed"
