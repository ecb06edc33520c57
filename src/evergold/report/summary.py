"""A run → its report: what was measured, on how much of it, sliced, with the failures and what everything cost.

One pass over the attempts; only what the report shows is kept, so that ten thousand attempts take a second and not a
gigabyte. A figure is never given without the number of cases it rests on, and what could not be scored is counted by
its reason.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Literal

from pydantic import BaseModel

from evergold.errors import BadInput
from evergold.model.case import Case
from evergold.model.report import MIN_COVERAGE, Mean
from evergold.model.run import Attempt, Measurement, MeasurementState, MetricSpec, Run, RunStatus, Usage
from evergold.report.scores import (
    Groups,
    by_case,
    candidate_warnings,
    count_attempts,
    means_of,
    origin_of,
    scales_of,
)
from evergold.stats.intervals import reducer as reducer_named
from evergold.stats.scores import FEWEST_GROUPS
from evergold.store.run.attempts import Value

CALIBRATED = "calibrated"


def warnings_of(run: Run, results: Sequence[Mean], attempts: int, calibrations: Mapping[str, str]) -> Iterator[str]:
    """`calibrations` says per judged metric `calibrated`, or what is wrong: "never calibrated", "changed since …"."""
    if run.status is not RunStatus.COMPLETED:
        yield f"the run is {run.status}: {run.done} of {run.total} attempts are in"
    if run.failed:
        yield f"{run.failed} of {attempts} attempts have no answer and count as the worst value; `evergold runs retry {run.id}`"
    if run.provenance.get("self_judged"):
        yield "judged by the model under test, which tends to favour its own answers"
    if derived := run.provenance.get("derived_tools"):
        yield f"{derived} cases expect calls and offer no tools: their schemas are derived from the expected calls"
    few = [mean.metric for mean in results if 0 < mean.n < FEWEST_GROUPS]
    if few:
        yield f"{', '.join(few)}: fewer than {FEWEST_GROUPS} cases cannot tell two models apart"
    for mean in results:
        # Unscored answers are seldom a random sample: long or refused ones fail to be judged more often.
        if mean.coverage is not None and mean.coverage < MIN_COVERAGE:
            yield f"{mean.metric}: {mean.coverage:.0%} of the attempts have a value; the rest may be the harder ones"
    yield from warn_uncalibrated(run, calibrations)


def warn_uncalibrated(run: Run, calibrations: Mapping[str, str]) -> Iterator[str]:
    """Name the metrics whose judge nobody measured against people; those of one judge in one state share a warning."""
    doubts: dict[tuple[str, str], list[str]] = {}
    for spec in run.metrics:
        state = calibrations.get(spec.name, "never calibrated against human labels")
        if spec.judge is not None and state != CALIBRATED:
            doubts.setdefault((spec.judge, state), []).append(spec.name)
    for (judge, state), names in doubts.items():
        yield f"{', '.join(names)}: judge {judge} is uncalibrated ({state}); see `evergold judge calibrate`"


BINS = 10
# Free-form tags can be as many as cases; a page of a thousand slices helps nobody.
MOST_TAGS = 20
PASSING = 0.5
LONGEST_BEGINNING = 100
LONGEST_TEXT = 4000


class MetricSummary(BaseModel, frozen=True):
    """A metric over the run: mean with interval and coverage, why the rest has none, and how values spread.

    `unscored` counts attempts that could not be measured, `errors` those that got no reply, which count as the worst value.
    """

    spec: MetricSpec
    mean: Mean
    unscored: int
    errors: int
    not_applicable: int
    reasons: dict[str, int]
    histogram: tuple[int, ...]


class Slice(BaseModel, frozen=True):
    """The same means over part of the cases: one difficulty, kind, tag or origin of the reference."""

    by: str
    name: str
    cases: int
    means: tuple[Mean, ...]


class Failure(BaseModel, frozen=True):
    """An attempt that failed or scored below the mark, with the judge's reason."""

    case_id: str
    trial: int
    metric: str | None
    value: float | None
    reason: str | None
    input: str
    expected: str | None
    output: str

    def texts(self) -> list[tuple[str, str]]:
        """What was asked, wanted and answered, each with its name, where there is any."""
        texts = (("input", self.input), ("expected", self.expected), ("output", self.output))
        return [(name, text) for name, text in texts if text]


class Spending(BaseModel, frozen=True):
    """Tokens, money and time of one side: the target, or the judge. `cached` counts replies that an earlier call paid for."""

    usage: Usage
    calls: int
    cached: int
    median_ms: float | None
    p95_ms: float | None


class RunReport(BaseModel, frozen=True):
    """What a run found. `questions` is the number of questions where each counts once in the means, else null."""

    run: Run
    reducer: str
    cases: int
    questions: int | None = None
    metrics: tuple[MetricSummary, ...]
    slices: tuple[Slice, ...]
    failures: tuple[Failure, ...]
    failing: int
    target: Spending
    judge: Spending
    warnings: tuple[str, ...]


class Options(BaseModel, frozen=True):
    """How trials become one value, below what a value is a failure, and how many failures are shown.

    `weighted`: each question counts once in the means; None leaves it to what the run was started with. `errors`:
    `exclude` leaves attempts that got no reply out of the means, and says so.
    """

    reducer: str = "mean"
    passing: float = PASSING
    failures: int = 20
    weighted: bool | None = None
    errors: Literal["count", "exclude"] = "count"


class _Tally:
    """What one pass over the attempts leaves behind."""

    def __init__(self, most_failures: int, passing: float, specs: Sequence[MetricSpec]) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self.rows: list[Value] = []
        self.unscored: dict[str, Counter[str]] = {}
        self.unisolated: Counter[str] = Counter()
        self.bins: dict[str, list[int]] = {}
        self.latencies: list[float] = []
        self.judge_latencies: list[float] = []
        self.cached = self.judge_cached = 0
        self.failing = 0
        self.attempts = 0
        self.worst: list[tuple[float, int, Failure]] = []
        self._order = count()
        self._most, self._passing = most_failures, passing

    def add(self, case: Case | None, attempt: Attempt) -> None:
        self.attempts += 1
        self.cached += attempt.cached
        if attempt.latency_ms is not None:
            self.latencies.append(attempt.latency_ms)
        measured = attempt.measurements
        if attempt.error is not None:
            # Listed once, as a failure of the attempt; runs from before failures counted have no measurement of it.
            self._fail(case, attempt, None, None, attempt.error)
            measured = measured or {name: spec.measure_failure(attempt) for name, spec in self._specs.items()}
        worst: tuple[float, str, Measurement] | None = None
        for name, made in measured.items():
            if "judge_ms" in made.details:
                # Judging time is counted for unscored and not applicable results as well: the judge was asked.
                self.judge_latencies.append(made.details["judge_ms"])
            self.judge_cached += made.details.get("judge_cached", 0)
            self.rows.append(Value.of(attempt.case_id, attempt.trial, name, made))
            self.unisolated[name] += "unisolated" in made.details
            if made.state is MeasurementState.NOT_APPLICABLE:
                continue
            if made.value is None:
                self.unscored.setdefault(name, Counter())[made.reason or "no reason given"] += 1
                continue
            bins = self.bins.setdefault(name, [0] * BINS)
            # A value of 1.0 belongs to the last bin, and a metric of a plug-in may leave the scale.
            bins[min(BINS - 1, max(0, int(made.value * BINS)))] += 1
            # An attempt is one failure, listed under the metric it did worst on.
            spec = self._specs.get(name) or MetricSpec(name=name, version="")
            if attempt.error is None and spec.scale is not None and spec.is_failing(made.value, self._passing):
                share = spec.scale.share_of(made.value)
                worst = (share, name, made) if worst is None or share < worst[0] else worst
        if worst is not None:
            self._fail(case, attempt, worst[1], worst[2].value, worst[2].reason)

    def _fail(
        self, case: Case | None, attempt: Attempt, metric: str | None, value: float | None, why: str | None
    ) -> None:
        self.failing += 1
        reference = case.reference_text() if case else None
        failure = Failure(
            case_id=attempt.case_id,
            trial=attempt.trial,
            metric=metric,
            value=value,
            reason=why,
            input=shorten(case.input) if case else "",
            expected=shorten(reference) if reference else None,
            output=shorten(attempt.output),
        )
        # The heap keeps the worst: a failed call above any value, then low values; of equals, the earlier attempt.
        entry = (1.0 if value is None else -value, -next(self._order), failure)
        if len(self.worst) < self._most:
            heapq.heappush(self.worst, entry)
        elif self._most:
            heapq.heappushpop(self.worst, entry)


def shorten(text: str, longest: int = LONGEST_TEXT) -> str:
    """A text one can read in a report; how much was left out is said."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text) - longest:,} characters more)"


def shorten_question(question: str, longest: int = LONGEST_BEGINNING) -> str:
    """The first words of a question on one line, by which people know it."""
    line = " ".join(question.split())
    return line if len(line) <= longest else f"{line[:longest].rstrip()}…"


def summarise(
    run: Run,
    cases: Iterable[Case],
    attempts: Iterable[Attempt],
    *,
    groups: Groups | None = None,
    calibrations: Mapping[str, str] | None = None,
    options: Options | None = None,
) -> RunReport:
    """The report of a run. `calibrations` says per metric what is known of its judge (see `warnings`)."""
    chosen = options or Options()
    known = {case.id: case for case in cases}
    tally = _Tally(chosen.failures, chosen.passing, run.metrics)
    for attempt in attempts:
        tally.add(known.get(attempt.case_id), attempt)
    try:
        scores = by_case(tally.rows, reducer_named(chosen.reducer), exclude_errors=chosen.errors == "exclude")
    except ValueError as problem:
        raise BadInput(str(problem)) from problem
    counted, scales, grouped = count_attempts(tally.rows), scales_of(run), groups or Groups()

    def means_over(part: set[str]) -> tuple[Mean, ...]:
        values = {metric: {id: some[id] for id in some if id in part} for metric, some in scores.items()}
        counts = {
            metric: {name: Counter({id: some[id] for id in some.keys() & part}) for name, some in by_name.items()}
            for metric, by_name in counted.items()
        }
        size = (len(grouped.names_of(part)), len(part) * run.spec.trials)
        return tuple(means_of(values, counts, scales, grouped, size, exclude_errors=chosen.errors == "exclude"))

    origins = {case.id: origin_of(case) for case in known.values()}
    whole = {mean.metric: mean for mean in means_over(set(known))}
    summaries = []
    for spec in run.metrics:
        mean, reasons = whole[spec.name], tally.unscored.get(spec.name, Counter())
        summaries.append(
            MetricSummary(
                spec=spec,
                mean=mean,
                unscored=reasons.total(),
                errors=mean.errors,
                not_applicable=mean.not_applicable,
                reasons=dict(reasons.most_common(5)),
                histogram=tuple(tally.bins.get(spec.name, [0] * BINS)),
            )
        )
    questions = None if grouped.questions is None else len(grouped.names_of(known))
    warnings = [] if questions is None else [f"each question counts once: {questions} questions, {len(known)} cases"]
    warnings += warnings_of(run, [summary.mean for summary in summaries], tally.attempts, calibrations or {})
    warnings += candidate_warnings(origins, {name: scores.get(name, {}) for name in scales})
    for name, number in tally.unisolated.items():
        if number:
            answers = "1 answer was" if number == 1 else f"{number} answers were"
            why = "their code could have changed the verdict (see the reasons of the cases)"
            warnings.append(f"{name}: {answers} tested unisolated; {why}")
    return RunReport(
        run=run,
        reducer=chosen.reducer,
        cases=len(known),
        questions=questions,
        metrics=tuple(summaries),
        slices=tuple(
            Slice(by=by, name=name, cases=len(ids), means=means_over(set(ids)))
            for by, parts in _parts(known, origins).items()
            # One part only would repeat the whole. A single tag is no such case: untagged cases are outside it.
            if len(parts) > 1 or by == "tag"
            for name, ids in sorted(parts.items(), key=lambda part: (-len(part[1]), part[0]))[:MOST_TAGS]
        ),
        failures=tuple(failure for _, _, failure in sorted(tally.worst, key=lambda entry: entry[:2], reverse=True)),
        failing=tally.failing,
        target=_spend(run.usage, tally.attempts, tally.latencies, tally.cached),
        judge=_spend(run.judge_usage, len(tally.judge_latencies), tally.judge_latencies, tally.judge_cached),
        warnings=tuple(warnings),
    )


def _parts(cases: Mapping[str, Case], origins: Mapping[str, str]) -> dict[str, dict[str, list[str]]]:
    """What a run is sliced by → the parts → their cases."""
    groups: dict[str, dict[str, list[str]]] = {"difficulty": {}, "kind": {}, "tag": {}, "reference": {}}
    for case in cases.values():
        named = [("kind", case.kind.value), *(("tag", tag) for tag in case.tags), ("reference", origins[case.id])]
        named += [("difficulty", case.difficulty.value)] if case.difficulty else []
        for by, name in named:
            groups[by].setdefault(name, []).append(case.id)
    return groups


def _spend(usage: Usage, calls: int, latencies: list[float], cached: int) -> Spending:
    ordered = sorted(latencies)
    # The upper median and the nearest-rank percentile: both are latencies that occurred.
    middle, high = (ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]) if ordered else (None, None)
    return Spending(usage=usage, calls=calls, cached=cached, median_ms=middle, p95_ms=high)
