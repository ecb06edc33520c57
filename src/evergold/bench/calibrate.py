"""A judge against people: how often they agree, and which way the judge errs.

A judge is worth as much as its agreement with human labels on answers like the ones it will judge. False passes (people
fail it, the judge passes it) and false fails are given apart, because they cost differently.

Two judges on the same labels: which one agrees with people more often, and is the difference more than chance?
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from pydantic import BaseModel, Field, ValidationError

from evergold.bench.metrics import measure
from evergold.errors import BadInput
from evergold.model.case import Case, Context
from evergold.model.faults import first_fault
from evergold.model.judge import Calibration, Figure, JudgeComparison
from evergold.model.report import PairedVerdict
from evergold.model.run import Attempt, Measurement
from evergold.model.tool_calls import ExpectedTool, ToolCall
from evergold.seams import Judge
from evergold.stats.agreement import agreement
from evergold.stats.intervals import Interval, proportion_interval, spearman
from evergold.stats.scores import compare_scores

# Calls of a judge under way at a time: providers limit requests a minute, and a calibration is not urgent.
AT_ONCE = 8
WORDS = {"pass": 1.0, "fail": 0.0, "yes": 1.0, "no": 0.0, "good": 1.0, "bad": 0.0}


class Label(BaseModel, frozen=True, extra="ignore"):
    """An answer and what a person said of it: 0 to 1, true or false, or pass and fail."""

    input: str = ""
    output: str
    expected: str | None = None
    contexts: tuple[str, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    expected_tools: tuple[ExpectedTool, ...] | None = None
    label: float = Field(ge=0, le=1)

    def case(self, number: int) -> Case:
        contexts = tuple(Context(text=text) for text in self.contexts)
        return Case(
            id=f"label-{number}",
            input=self.input,
            expected=self.expected,
            contexts=contexts,
            expected_tools=self.expected_tools,
        )

    def attempt(self, number: int) -> Attempt:
        return Attempt(case_id=f"label-{number}", output=self.output, tool_calls=self.tool_calls)


def read_labels(lines: Iterable[bytes], name: str) -> list[Label]:
    """Labels from JSONL. Every bad line is named, and none is left out in silence."""
    result, problems = [], []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            result.append(Label.model_validate(_convert_label(orjson.loads(line))))
        except orjson.JSONDecodeError as problem:
            problems.append(f"{name}:{number}: not JSON: {problem}")
        except ValidationError as problem:
            problems.append(f"{name}:{number}: {first_fault(problem, Label)}")
    if problems:
        raise BadInput(f"{len(problems)} labels cannot be read; the first: {problems[0]}", problems=problems)
    if not result:
        raise BadInput(f'{name} has no labels; a line is {{"input": …, "output": …, "label": 1}}')
    return result


async def calibrate(metric: Any, name: str, judge: Judge, labels: Sequence[Label], passing: float) -> Calibration:
    """Let the judge measure every labelled answer and set it against the labels."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, label: Label) -> Measurement:
        async with gate:
            return await measure(metric, label.case(number), label.attempt(number), judge)

    made = await asyncio.gather(*(one(number, label) for number, label in enumerate(labels)))
    # Answers that the judge could not score are outside agreement and kappa, and listed by reason instead.
    pairs = [(label.label, got.value) for label, got in zip(labels, made, strict=True) if got.value is not None]
    unscored = Counter(got.reason or "no reason given" for got in made if got.value is None)
    people, judged_values = [human for human, _ in pairs], [value for _, value in pairs]
    verdicts = [(human >= passing, value >= passing) for human, value in pairs]
    result = agreement(judged_values, people, passing=passing)
    return Calibration(
        judge=judge.identity,
        metric=name,
        version=metric.version,
        prompt_hash=metric.prompt_hash() if hasattr(metric, "prompt_hash") else None,
        passing=passing,
        labels=len(labels),
        unscored=unscored,
        # An answer without a human pass (or fail) has no false fails (or passes): the rate is then undefined, not zero.
        agreement=_figure(_rate([human == judged for human, judged in verdicts])),
        kappa=None
        if result.kappa is None
        else Figure(value=result.kappa, low=result.low, high=result.high, n=result.n),
        usable=result.usable,
        missing=result.reason,
        spearman=_figure(spearman(people, judged_values)),
        false_pass=_figure(_rate([judged for human, judged in verdicts if not human])),
        false_fail=_figure(_rate([not judged for human, judged in verdicts if human])),
        # None where the judge could not say.
        agreed=tuple(
            None if got.value is None else (label.label >= passing) == (got.value >= passing)
            for label, got in zip(labels, made, strict=True)
        ),
    )


def _rate(flags: Sequence[bool]) -> Interval | None:
    return proportion_interval(sum(flags), len(flags))


def _figure(interval: Interval | None) -> Figure | None:
    return None if interval is None else Figure.model_validate(interval, from_attributes=True)


def _convert_label(row: Any) -> Any:
    """Words for a label, and contexts as text or as objects with a text."""
    if not isinstance(row, dict):
        return row
    label, contexts = row.get("label"), row.get("contexts", row.get("context"))
    if isinstance(label, str):
        row = row | {"label": WORDS.get(label.strip().casefold(), label)}
    if isinstance(contexts, list):
        row = row | {"contexts": [item.get("text") if isinstance(item, dict) else item for item in contexts]}
    return row


def compare_judges(first: Calibration, second: Calibration) -> JudgeComparison:
    """Compare how often two judges agree with people, label by label."""
    # Only labels that both could judge: else the judge that answers the easy ones only would win.
    pairs = [
        (float(one), float(other))
        for one, other in zip(first.agreed, second.agreed, strict=True)
        if one is not None and other is not None
    ]
    result = compare_scores([one for one, _ in pairs], [other for _, other in pairs]) if pairs else None
    verdict = result.verdict if result else PairedVerdict.INCONCLUSIVE
    return JudgeComparison(
        first=first,
        second=second,
        n=len(pairs),
        **{name: getattr(result, name, None) for name in ("difference", "low", "high", "p")},
        verdict=verdict,
        advice=_advice(first, second, verdict) if result else "no label could be judged by both",
    )


def _advice(first: Calibration, second: Calibration, verdict: PairedVerdict) -> str:
    if verdict in (PairedVerdict.BETTER, PairedVerdict.WORSE):
        better = second if verdict is PairedVerdict.BETTER else first
        return f"use {better.judge}: it agrees with people more often"
    if verdict is PairedVerdict.SAME:
        return "either: they agree with people about as often; take the cheaper one"
    return "these labels cannot tell; label more answers"
