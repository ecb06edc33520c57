"""Two runs over the same cases, metric by metric: which is better, how sure is that, and what flipped.

Only cases that both runs made are compared, and how many were not is part of the answer; an attempt without an answer is
one with the worst value. Runs that differ in dataset, judge or metric version are compared with a warning, because then
the numbers may not mean the same.
A board ranks models on one version of one dataset. Versions are never mixed: other questions are another table.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, median

from evergold.errors import BadInput
from evergold.model.report import (
    EVEN,
    MIN_COVERAGE,
    ChangeKind,
    ComparedFigure,
    ComparedRun,
    Mean,
    MetricComparison,
    PairedVerdict,
    RunComparison,
    RunDecision,
)
from evergold.model.run import AttemptOutcome, Board, Entry, Run, Scale, UnrankedRun
from evergold.report.scores import Groups, average_by_name, by_case, run_means, scales_of
from evergold.stats.intervals import t_interval
from evergold.stats.scores import MARGIN, ScoreComparison, compare_scores, decide, holm, more_for_p
from evergold.store.run.attempts import AttemptCost, Value

# The share of the scale at which a case counts as passed for the lists of gained and lost cases; the test uses the values
# themselves.
PASS_MARK = 0.5
DECIDED = (PairedVerdict.BETTER, PairedVerdict.WORSE)
WORDS = {word: word.value for word in PairedVerdict} | {PairedVerdict.INCONCLUSIVE: "not decided"}


@dataclass(frozen=True)
class RunValues:
    """A run, its measurements, what its attempts took, and for a board which of its cases belong together."""

    run: Run
    rows: Sequence[Value]
    groups: Groups = field(default_factory=Groups)
    spent: Sequence[AttemptCost] = ()


def compare(
    first: RunValues,
    second: RunValues,
    groups: Groups | None = None,
    *,
    margin: float = MARGIN,
    metrics: Sequence[str] = (),
    exclude_errors: bool = False,
) -> RunComparison:
    """Compare the metrics both runs have, or of these the ones named. `groups`: as for the means."""
    grouped = groups or Groups()
    names = _shared_metrics(first.run, second.run, metrics)
    scales, sides = scales_of(second.run), (first, second)
    scores = [by_case(side.rows, exclude_errors=exclude_errors) for side in sides]
    means = [
        {mean.metric: mean for mean in run_means(side.run, side.rows, names, grouped, exclude_errors=exclude_errors)}
        for side in sides
    ]
    paired = [_pair(name, scores, scales.get(name), grouped, margin) for name in names]
    results = []
    one, other = (run.provenance.get("dataset", {}) for run in (first.run, second.run))
    if one.get("content_hash") != other.get("content_hash"):
        first_name, second_name = (f"{dataset.get('name')} {dataset.get('version')}" for dataset in (one, other))
        results.append(f"the datasets differ: {first_name} and {second_name}; only shared cases are compared")
    specs = {spec.name: spec for spec in second.run.metrics}
    for spec in first.run.metrics:
        twin = specs.get(spec.name)
        if twin is not None and twin != spec:
            same_prompts = twin.prompt_hash == spec.prompt_hash
            what = "judge" if twin.judge != spec.judge else "version" if same_prompts else "prompts"
            results.append(f"{spec.name}: the {what} differs between the runs, so its numbers may not mean the same")
    results += [
        f"{run.id} is {run.status}, not completed" for run in (first.run, second.run) if run.status != "completed"
    ]
    warnings = list(results)
    warnings += [f"{n}: no case has a value in both runs" for n, pair in zip(names, paired, strict=True) if not pair]
    known = [pair for pair in paired if pair is not None]
    if not known:
        raise BadInput(
            f"nothing to compare: {first.run.id} and {second.run.id} have no case with a value of "
            f"{', '.join(names)} in both; run them over the same dataset, or see `evergold report` for the reasons"
        )
    # The same over the cases to which every run got all its replies.
    lost = {row.case_id for side in sides for row in side.rows if row.outcome is AttemptOutcome.ERROR}
    answered = [by_case([row for row in side.rows if row.case_id not in lost]) for side in sides]
    without = {name: _pair(name, answered, scales.get(name), grouped, margin) for name in names}
    decided = _decide_all(known, margin)
    otherwise = _decide_all([pair for pair in without.values() if pair is not None], margin)
    compared = tuple(
        _describe(pair, [side[pair.name] for side in means], decided[pair.name], otherwise.get(pair.name))
        for pair in known
    )
    result = RunComparison(
        first=first.run.id,
        second=second.run.id,
        weighted=grouped.questions is not None,
        margin=margin,
        errors_excluded=exclude_errors,
        sides=tuple(map(_describe_side, sides)),
        metrics=compared,
        figures=tuple(_figures(first, second, grouped)),
        warnings=tuple(warnings),
    )
    decision, main = _decide(compared)
    sentence = _sentence(result, decision, main)
    return result.model_copy(update={"decision": decision, "sentence": sentence})


def _shared_metrics(first: Run, second: Run, wanted: Sequence[str]) -> list[str]:
    shared = [name for name in first.spec.metrics if name in second.spec.metrics]
    names = [name for name in shared if not wanted or name in wanted]
    if not names:
        raise BadInput(
            f"nothing to compare: {first.id} has {', '.join(first.spec.metrics)}, {second.id} has "
            f"{', '.join(second.spec.metrics)}; {'choose one that both have' if wanted else 're-score one of them'}"
        )
    return names


@dataclass(frozen=True)
class _Paired:
    name: str
    scale: Scale
    before: dict[str, float]
    after: dict[str, float]
    result: ScoreComparison

    def difference(self, case: str) -> float:
        return self.scale.share_of(self.after[case]) - self.scale.share_of(self.before[case])

    def change_of(self, case: str) -> ChangeKind | None:
        """Whether a case changed sides, or its value at all."""
        was, now = (self.scale.share_of(side[case]) >= PASS_MARK for side in (self.before, self.after))
        if was is not now:
            return ChangeKind.GAINED if now else ChangeKind.LOST
        return ChangeKind.CHANGED if abs(self.difference(case)) > EVEN else None


def _pair(
    name: str, scores: Sequence[Mapping[str, Mapping[str, float]]], scale: Scale | None, groups: Groups, margin: float
) -> _Paired | None:
    before, after = (side.get(name, {}) for side in scores)
    both = before.keys() & after.keys()
    if not both:
        return None
    before, after = (groups.reduce({case: values[case] for case in both}) for values in (before, after))
    shared = sorted(before)
    # A metric without a scale (steps) is compared on the range of its values, less being better.
    seen = [*before.values(), *after.values()]
    used = scale or Scale(low=min(seen), high=max(max(seen), min(seen) + 1e-9), lower_is_better=True)
    result = compare_scores(
        [used.share_of(before[case]) for case in shared],
        [used.share_of(after[case]) for case in shared],
        groups=groups.cluster_names(shared),
        margin=margin,
    )
    return _Paired(name, used, {case: before[case] for case in shared}, {c: after[c] for c in shared}, result)


@dataclass(frozen=True)
class CaseDifferences:
    """The cases of two runs by one metric, worst first: their values, differences and the kinds of change they count as."""

    metric: str
    values: tuple[Mapping[str, float], Mapping[str, float]]
    differences: Mapping[str, float]
    kinds: Mapping[str, frozenset[ChangeKind]]

    def of_kind(self, change: ChangeKind) -> list[str]:
        return [case for case, kinds in self.kinds.items() if change in kinds]


def find_differences(first: RunValues, second: RunValues, groups: Groups, metric: str | None = None) -> CaseDifferences:
    """Order the cases of two runs by how much the second lost; by the first metric both have where none is named."""
    name = _shared_metrics(first.run, second.run, [metric] if metric else [])[0]
    scores = [by_case(side.rows) for side in (first, second)]
    pair = _pair(name, scores, scales_of(second.run).get(name), groups, MARGIN)
    differences = {case: pair.difference(case) for case in pair.before} if pair else {}
    unanswered = [
        {row.case_id for row in side.rows if row.metric == name and row.outcome is not AttemptOutcome.ANSWERED}
        for side in (first, second)
    ]
    kinds: dict[str, frozenset[ChangeKind]] = {}
    # An error of the candidate comes before other cases that lost as much.
    for case in sorted(
        differences.keys() | unanswered[0] | unanswered[1],
        key=lambda case: (differences.get(case, 0.0), case not in unanswered[1], case),
    ):
        change = pair.change_of(case) if pair and case in differences else None
        some = {ChangeKind.ALL} | ({change, ChangeKind.CHANGED} if change else set())
        failed = case in unanswered[0] or case in unanswered[1]
        kinds[case] = frozenset(some | ({ChangeKind.ERRORS} if failed else set()))
    values = (pair.before, pair.after) if pair else ({}, {})
    return CaseDifferences(name, values, differences, kinds)


def _decide_all(pairs: Iterable[_Paired], margin: float) -> dict[str, ScoreComparison]:
    """Decide metric by metric. Each is one more chance of a false alarm; Holm keeps the chance of any at 5 %."""
    known = {pair.name: pair.result for pair in pairs}
    adjusted = holm([result.p for result in known.values()])
    return {
        name: replace(one, p=p, verdict=decide(one.difference, one.low, one.high, p, one.groups, margin))
        for (name, one), p in zip(known.items(), adjusted, strict=True)
    }


def _describe(
    pair: _Paired, means: Sequence[Mean], result: ScoreComparison, without: ScoreComparison | None
) -> MetricComparison:
    verdict = result.verdict
    flips = {case: pair.change_of(case) for case in pair.before}
    shares = [mean.coverage for mean in means]
    other = without.verdict if without is not None and any(mean.errors for mean in means) else verdict
    return MetricComparison(
        metric=pair.name,
        n=result.n,
        groups=result.groups,
        unpaired=max(0, max(mean.of for mean in means) - result.n),
        first=fmean(pair.before.values()),
        second=fmean(pair.after.values()),
        difference=result.difference,
        low=result.low,
        high=result.high,
        lower=result.lower,
        p=result.p,
        test=result.method,
        verdict=verdict,
        smallest_visible=result.visible,
        more=result.more or (more_for_p(result.p, result.n) if verdict is PairedVerdict.INCONCLUSIVE else None),
        coverage=None if None in shares else min(share for share in shares if share is not None),
        answered_by_both=without.n if without else 0,
        # Same and inconclusive are one message to a reader: no difference was shown.
        without_errors=other if other is not verdict and {other, verdict} & {*DECIDED} else None,
        gained=tuple(case for case, change in flips.items() if change is ChangeKind.GAINED),
        lost=tuple(case for case, change in flips.items() if change is ChangeKind.LOST),
    )


def always_failing(run: Run, rows: Iterable[Value]) -> set[str]:
    """The cases of which every trial fails by some metric."""
    scales = scales_of(run)
    passed: dict[tuple[str, int], bool] = {}
    for row in rows:
        if row.applies:
            share = None if row.value is None else (scales.get(row.metric) or Scale()).share_of(row.value)
            key = (row.case_id, row.trial)
            passed[key] = passed.get(key, True) and share is not None and share >= PASS_MARK
    return {case for case, _ in passed} - {case for (case, _), whole in passed.items() if whole}


def _describe_side(side: RunValues) -> ComparedRun:
    counts = Counter(spent.outcome for spent in side.spent)
    return ComparedRun(
        run_id=side.run.id,
        model=side.run.spec.model,
        attempts=len(side.spent),
        errors=counts[AttemptOutcome.ERROR],
        failed=counts[AttemptOutcome.FAILED],
        truncated=sum(spent.truncated for spent in side.spent),
    )


def _figures(first: RunValues, second: RunValues, groups: Groups) -> Iterable[ComparedFigure]:
    """Errors, cost and latency of both runs over the cases that both have them for."""
    before, after = (
        average_by_name((one.case_id, one.outcome is AttemptOutcome.ERROR) for one in side.spent)
        for side in (first, second)
    )
    if cases := sorted(before.keys() & after.keys()):
        shares = [[side[case] for case in cases] for side in (before, after)]
        # The other way round, because fewer is better.
        result = compare_scores(*shares[::-1], groups=groups.cluster_names(cases))
        change = {"difference": result.difference, "low": result.low, "high": result.high}
        first_share, second_share = map(fmean, shares)
        yield ComparedFigure(
            name="errors", unit="share", first=first_share, second=second_share, n=len(cases), **change
        )
    else:
        yield ComparedFigure(name="errors", unit="share", first=None, second=None)
    for name, key, unit in (("cost", "cost", "$"), ("latency", "latency_ms", "ms")):
        one, other = (
            average_by_name(
                (each.case_id, value)
                for each in side.spent
                if (value := getattr(each, key)) is not None and each.outcome is AttemptOutcome.ANSWERED
            )
            for side in (first, second)
        )
        shared = sorted(one.keys() & other.keys())
        paid = [case for case in shared if one[case] > 0 and other[case] > 0]
        logs = [math.log(other[case] / one[case]) for case in paid]
        # A bill of which part is unknown is no bill.
        known = bool(shared) and (name != "cost" or None not in (first.run.usage.cost, second.run.usage.cost))
        over = t_interval(logs, groups.cluster_names(paid)) if paid and known else None
        totals: list[float | None] = [None, None]
        if known:
            sides = ([side[case] for case in shared] for side in (one, other))
            totals = [sum(values) if name == "cost" else median(values) for values in sides]
        yield ComparedFigure(
            name=name,
            unit=unit,
            first=totals[0],
            second=totals[1],
            n=len(shared),
            ratio=over and math.exp(over.value),
            low=None if over is None or over.low is None else math.exp(over.low),
            high=None if over is None or over.high is None else math.exp(over.high),
        )


def _decide(metrics: Sequence[MetricComparison]) -> tuple[RunDecision, MetricComparison]:
    """What to do, and the metric that says so: the first, unless another one is worse, or alone is better."""
    main = metrics[0]
    better, worse = ([one for one in metrics if one.verdict is word] for word in DECIDED)
    if worse:
        return (RunDecision.WEIGH, better[0]) if better else (RunDecision.KEEP, worse[0])
    if thin := [one for one in metrics if _is_thin(one)]:
        return RunDecision.UNDECIDED, thin[0]
    if main.verdict is PairedVerdict.INCONCLUSIVE:
        return RunDecision.UNDECIDED, main
    return (RunDecision.SHIP, better[0]) if better else (RunDecision.EITHER, main)


def _sentence(result: RunComparison, decision: RunDecision, main: MetricComparison) -> str:
    """One sentence that somebody who decides can read."""
    first, second = result.sides
    worst = next((one for one in result.metrics if one.verdict is PairedVerdict.WORSE), None)
    leading = {main.metric, worst.metric} if worst and decision is RunDecision.WEIGH else {main.metric}
    parts = [_lead(result, decision, main, worst)]
    parts += [f"{one.metric} {WORDS[one.verdict]}" for one in result.metrics if one.metric not in leading]
    parts += [
        f"only {_percent(one.coverage or 0)} of the attempts have a value of {one.metric}, "
        f"{_percent(MIN_COVERAGE)} are needed"
        for one in result.metrics
        if _is_thin(one)
    ]
    if first.errors or second.errors:
        left_out = "left out" if result.errors_excluded else "retried"
        parts.append(f"{_plural(second.errors, 'error')} against {first.errors:,}, {left_out}")
    if main.without_errors is not None:
        alone = main.without_errors
        word = f"it is {WORDS[alone]}" if alone in DECIDED else "no difference was shown"
        parts.append(f"on the {main.answered_by_both:,} that both answered {word}")
    if first.failed or second.failed:
        parts.append(f"{_plural(second.failed, 'invalid reply', 'invalid replies')} against {first.failed:,}")
    if first.truncated or second.truncated:
        parts.append(f"{second.truncated:,} truncated against {first.truncated:,}")
    if figures := ", ".join(filter(None, map(_describe_figure, result.figures))):
        parts.append(figures)
    return f"{'; '.join(parts)}."


def _lead(result: RunComparison, decision: RunDecision, main: MetricComparison, worst: MetricComparison | None) -> str:
    """What to do, and how large the difference is that says so."""
    one, other = (side.model for side in result.sides)
    if one == other:
        one, other = result.first, result.second
    cases = _plural(main.n, "question" if result.weighted else "case")
    between = _show_between(main) + (f" by {main.metric}" if len(result.metrics) > 1 else "")
    sentences = {
        RunDecision.SHIP: f"Ship {other}: better on {cases} {between}",
        RunDecision.KEEP: f"Keep {one}: {other} is worse on {cases} {between}",
        RunDecision.EITHER: f"Either: no difference that matters on {cases} {between}",
        RunDecision.WEIGH: f"Weigh {other} against {one}: better on {cases} {between}",
    }
    if decision in sentences:
        also = f", worse {_show_between(worst)} by {worst.metric}" if worst and decision is RunDecision.WEIGH else ""
        return sentences[decision] + also
    if main.verdict is not PairedVerdict.INCONCLUSIVE:
        return f"Not decided: {WORDS[main.verdict]} on the {cases} that could be measured {between}"
    enough = f"; about {main.more:,} more would" if main.more else ""
    return f"Not decided: {cases} cannot tell {other} from {one} {between}{enough}"


def _is_thin(metric: MetricComparison) -> bool:
    return metric.coverage is None or metric.coverage < MIN_COVERAGE


def _show_between(metric: MetricComparison) -> str:
    return f"({metric.difference:+.2f}, between {metric.low:+.2f} and {metric.high:+.2f})"


def _percent(share: float) -> str:
    return f"{math.floor(100 * share + 1e-9)} %"


def _plural(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def _describe_figure(figure: ComparedFigure) -> str | None:
    """Cost and latency in words, where the interval leaves no doubt about the direction."""
    if not figure.first or figure.second is None or figure.low is None or figure.high is None or figure.ratio is None:
        return None
    change = figure.second - figure.first
    if figure.high >= 1 if change < 0 else figure.low <= 1:
        return None
    if figure.name == "cost":
        share = abs(change) / figure.first
        return f"{share:.0%} {'cheaper' if change < 0 else 'dearer'}".replace("%", " %") if share >= 0.005 else None
    return f"{abs(change) / 1000:.1f} s {'faster' if change < 0 else 'slower'}" if abs(change) >= 50 else None


def newest_per_model(runs: Iterable[Run]) -> list[Run]:
    """Of runs given newest first, the first of each model on each dataset version; runs of chosen cases are no such run."""
    kept: dict[tuple[str, str], Run] = {}
    for run in (run for run in runs if not run.spec.cases):
        # The hash decides, not the version label: a label can be given again, the content cannot.
        kept.setdefault((run.provenance.get("dataset", {}).get("content_hash", ""), run.spec.model), run)
    return list(kept.values())


def by_version(runs: Iterable[Run]) -> list[list[Run]]:
    """The runs of each dataset version, which share a board, in the order they come."""
    groups: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault(_version_of(run), []).append(run)
    return list(groups.values())


def _version_of(run: Run) -> tuple[str, str, str]:
    dataset = run.provenance.get("dataset", {})
    return run.spec.dataset, dataset.get("version", ""), dataset.get("content_hash", "")


def board_of(group: Sequence[RunValues]) -> Board:
    """Rank runs of one dataset version; a run that could not be measured is listed apart, with the reason."""
    dataset, version, content_hash = _version_of(group[0].run)
    seen = dict.fromkeys(name for item in group for name in item.run.spec.metrics)
    scored = Counter(row.metric for item in group for row in item.rows if row.value is not None)
    # A metric that few cases have would rank models on an accident of the dataset; ties keep the order of the runs.
    metrics = tuple(sorted(seen, key=lambda name: -scored[name]))
    ranked, excluded = [], []
    for item in group:
        run = item.run
        entry = Entry(
            model=run.spec.model,
            run_id=run.id,
            judge=run.provenance.get("judge"),
            self_judged=bool(run.provenance.get("self_judged")),
            means=tuple(run_means(run, item.rows, metrics, item.groups)),
            failed=run.failed,
            usage=run.usage,
            judge_usage=run.judge_usage,
        )
        why = why_not_ranked([mean for mean in entry.means if mean.metric in item.run.spec.metrics])
        if why is None:
            ranked.append(entry)
        else:
            excluded.append(UnrankedRun(model=entry.model, run_id=entry.run_id, why=why))
    return Board(
        dataset=dataset,
        version=version,
        content_hash=content_hash,
        metrics=metrics,
        entries=tuple(sorted(ranked, key=lambda entry: _rank(entry, scales_of(group[0].run).get(metrics[0])))),
        excluded=tuple(excluded),
        weighted=group[0].groups.questions is not None,
    )


def why_not_ranked(means: Sequence[Mean]) -> str | None:
    """Why a run cannot stand in a leaderboard: a metric of it has no value, or too few."""
    asked = [mean for mean in means if mean.of > 0]
    if not asked:
        return "no metric applies to any case"
    for mean in asked:
        if mean.is_empty:
            return f"{mean.metric}: nothing could be measured"
        if mean.coverage is not None and mean.coverage < MIN_COVERAGE:
            return f"{mean.metric}: {mean.coverage:.0%} of the attempts have a value, {MIN_COVERAGE:.0%} are needed"
    return None


def _rank(entry: Entry, scale: Scale | None) -> tuple[float, str]:
    value = entry.means[0].value if entry.means else None
    # A model without the metric comes last.
    return (math.inf if value is None else -(scale or Scale(lower_is_better=True)).share_of(value), entry.model)
