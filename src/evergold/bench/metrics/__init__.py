"""Metrics: a case and an attempt → a measurement, or the reason why there is none.

A metric is named as `NAME`, or `NAME:KEY=VALUE,KEY=VALUE` with parameters, or `NAME:{json object}` where a value has a
comma in it. Names come from the entry-point group `evergold.metrics`.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, cast, get_type_hints

import orjson
from pydantic import TypeAdapter, ValidationError

from evergold import plugins
from evergold.calls.caller import TargetUnusable
from evergold.errors import BadInput, EvergoldError, describe_unknown
from evergold.model.case import Case
from evergold.model.faults import first_fault
from evergold.model.run import Attempt, Measurement, MeasurementState, MetricSpec, Scale, measure_failure
from evergold.seams import Judge, JudgedMetric, Metric

AnyMetric = Metric | JudgedMetric


def make_metric(text: str) -> AnyMetric:
    """The metric a text names. Raises `NotFound` (unknown name) or `BadInput` (parameters it does not take)."""
    name, params = parse_metric(text)
    if params:
        hints = get_type_hints(plugins.factory("metrics", name))
        for key, value in params.items():
            try:
                # Strict: `most=5` is a number and `most="5"` is not; a silent conversion would hide a typing error.
                TypeAdapter(hints.get(key, Any)).validate_python(value, strict=True)
            except ValidationError as problem:
                quoted = f'; as text it is written {key}="{value}"' if isinstance(value, int | float) else ""
                raise BadInput(f"metric {name}: {key}={value!r}: {first_fault(problem).reason}{quoted}") from problem
    metric: AnyMetric = plugins.load("metrics", name, **params)
    return metric


def parse_metric(text: str) -> tuple[str, dict[str, Any]]:
    """Name and parameters of a metric as a user writes it."""
    name, _, rest = text.strip().partition(":")
    if not rest:
        return name, {}
    if rest.startswith("{"):
        try:
            params = orjson.loads(rest)
        except orjson.JSONDecodeError as problem:
            raise BadInput(f"metric {name!r}: parameters {rest!r} are not JSON: {problem}") from problem
        return name, dict(params)
    parameters: dict[str, Any] = {}
    for part in rest.split(","):
        key, sign, value = part.partition("=")
        if not sign or not key.strip():
            raise BadInput(f"metric {name!r}: {part!r} is not KEY=VALUE; write for example length:most=50,unit=words")
        try:
            parameters[key.strip()] = orjson.loads(value.strip())
        except orjson.JSONDecodeError:
            parameters[key.strip()] = value.strip()
    return name, parameters


def needs_judge(metric: AnyMetric) -> bool:
    return hasattr(metric, "measure_with")


async def measure(
    metric: AnyMetric, case: Case, attempt: Attempt, judge: Judge | None = None, *, replayed: bool = False
) -> Measurement:
    """One measurement. A metric that breaks is an error with its reason, and so is a value that is no number.

    An attempt without an answer has the worst value of every metric that applies to its case (`replayed`: it was to play
    a recorded conversation). Everything is caught on purpose: a plug-in may raise anything, and one bad case must not end
    a run.
    """
    if attempt.error is not None:
        return await _find_reason_not_to_apply(metric, case, replayed) or measure_failure(attempt, scale_of(metric))
    stopped = attempt.metadata.get("replay", {}).get("stopped")
    if stopped and not getattr(metric, "reads_trajectory", False):
        return Measurement.unscored(f"the replay stopped before an answer: {stopped}")
    try:
        made = await _call_metric(metric, case, attempt, judge)
    # Nobody can judge any more: the run ends here and is resumed, instead of storing an error for every case.
    except TargetUnusable:
        raise
    except EvergoldError as problem:
        return Measurement.error(problem.message)
    except Exception as problem:
        return Measurement.error(f"{type(metric).__name__} broke: {type(problem).__name__}: {problem}")
    if made.value is not None:
        scale, gave = scale_of(metric), f"{type(metric).__name__} gave {made.value}, which is"
        # A NaN would turn the mean of the whole run into NaN.
        if not math.isfinite(made.value):
            return Measurement.error(f"{gave} not a number one can average")
        if scale is not None and not scale.low <= made.value <= scale.high:
            limits = f"outside its scale from {scale.low:g} to {scale.high:g}; declare `scale` on the metric"
            return Measurement.error(f"{gave} {limits}")
    marks: dict[str, bool] = {"truncated": True} if attempt.is_truncated else {}
    compares = made.value is not None and attempt.metadata.get("recorded") and getattr(metric, "compares", False)
    # A recorded answer that is its own reference scores 1 by construction, which says nothing about a model.
    if compares and (own := case.reference()) is not None and (own.text or "") == (case.output or ""):
        marks["self"] = True
    return made.model_copy(update={"details": made.details | marks}) if marks else made


async def _call_metric(metric: AnyMetric, case: Case, attempt: Attempt, judge: Judge | None) -> Measurement:
    if not needs_judge(metric):
        return cast(Metric, metric).measure(case, attempt)
    if judge is None:
        return Measurement.unscored("this metric needs a judge and the run has none")
    return await cast(JudgedMetric, metric).measure_with(case, attempt, judge)


def scale_of(metric: AnyMetric) -> Scale | None:
    """The scale that a metric declares as `scale`; from 0 to 1 where it declares none."""
    scale: Scale | None = getattr(metric, "scale", Scale())
    return scale


class _NoJudge:
    """Stands in for a judge that must not be asked: a metric that gets as far applies to the case."""

    identity = "none"

    async def ask(self, _question: object) -> Any:
        raise NotImplementedError


async def _find_reason_not_to_apply(metric: AnyMetric, case: Case, replayed: bool) -> Measurement | None:
    """Why a metric does not apply to a case, found by measuring an empty answer without a judge; None where it does."""
    played = {"replay": {"steps": 0, "unrecorded": 0, "turns": "last"}, "trajectory": []} if replayed else {}
    try:
        made = await _call_metric(metric, case, Attempt(case_id=case.id, metadata=played), _NoJudge())
    except Exception:  # a metric that breaks on an empty answer is one that applies
        return None
    return made if made.state is MeasurementState.NOT_APPLICABLE else None


@dataclass(frozen=True)
class NamedMetric:
    """A metric under the name a run calls it by."""

    name: str
    metric: AnyMetric

    @property
    def needs_judge(self) -> bool:
        return needs_judge(self.metric)

    def applies_to(self, case: Case) -> bool:
        """Whether a case that names its metrics names this one, by its whole name or without parameters."""
        return not case.metrics or self.name in case.metrics or parse_metric(self.name)[0] in case.metrics

    def spec(self, judge: Judge | None) -> MetricSpec:
        """How a run records a metric: enough to know whether two numbers mean the same."""
        metric: Any = self.metric
        params = {field.name: getattr(metric, field.name) for field in fields(metric)} if is_dataclass(metric) else {}
        asked = {"judge": judge.identity, "prompt_hash": metric.prompt_hash()} if judge and self.needs_judge else {}
        passing: float = getattr(metric, "passing", 0.0)
        return MetricSpec(
            name=self.name, version=metric.version, params=params, scale=scale_of(metric), passing=passing, **asked
        )


def metrics_of(cases: Iterable[Case]) -> list[str]:
    """The metrics that cases name, each once. Raises `BadInput` naming the case where one is unknown."""
    first: dict[str, str] = {}
    for case in cases:
        for name in case.metrics:
            first.setdefault(name, case.id)
    for name, case_id in first.items():
        try:
            make_metrics([name])
        except EvergoldError as problem:
            raise BadInput(f"case {case_id!r} names its metrics: {problem.message}") from problem
    return list(first)


def make_metrics(names: Sequence[str]) -> list[NamedMetric]:
    """The metrics of a run. Raises `BadInput` listing the valid names when one is unknown or none is given."""
    known = plugins.names("metrics")
    if not names:
        raise BadInput(f"no metrics given; choose some of: {', '.join(known)}")
    for text in names:
        name, _ = parse_metric(text)
        if name not in known:
            raise BadInput(describe_unknown("metric", name, known))
    return [NamedMetric(text, make_metric(text)) for text in dict.fromkeys(names)]
