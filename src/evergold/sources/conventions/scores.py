"""Scores that travel inside spans and logs: evaluation events and annotations.

Where the sender does not say who judged, the score is `system`: an automatic check of the app itself.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from evergold.conversation.message import is_numbered, unflatten
from evergold.errors import BadInput
from evergold.sources.spans import Attributes, WireEvent, WireSpan

RESULT_EVENT = "gen_ai.evaluation.result"
SCORE_SOURCES = {
    "human": "human",
    "llm": "llm_judge",
    "llm_judge": "llm_judge",
    "code": "system",
    "system": "system",
    "user": "user",
}
LABELS = {
    **dict.fromkeys(("pass", "passed", "correct", "relevant", "yes", "true"), 1.0),
    **dict.fromkeys(("fail", "failed", "incorrect", "irrelevant", "not_relevant", "no", "false"), 0.0),
}
_scales: ContextVar[Mapping[str, tuple[str, str]] | None] = ContextVar("scales", default=None)
ON_SPAN = (("annotations", "annotation"), ("evaluations", "evaluation"))
ON_TRACE = (("trace.annotations", "annotation"), ("trace.evaluations", "evaluation"))
ANNOTATED = tuple(prefix for prefix, _ in (*ON_SPAN, *ON_TRACE))


@dataclass(slots=True)
class WireScore:
    """A score found in a span or a log, checked. `span_id` None: it judges the whole trace."""

    id: str
    trace_id: str
    span_id: str | None
    name: str
    value: float
    source: str
    comment: str | None
    time_ns: int


@contextmanager
def use_scales(given: Iterable[str]) -> Iterator[None]:
    """Read the scores named in `NAME=BAD:GOOD` from bad (0) to good (1), numbers or words, while this lasts."""
    scales: dict[str, tuple[str, str]] = {}
    for one in given:
        name, _, ends = one.rpartition("=")
        bad, _, good = ends.partition(":")
        if not name or not bad.strip() or not good.strip() or bad.strip() == good.strip():
            raise BadInput(f"{one!r} is no scale; write NAME=BAD:GOOD, such as stars=1:5, risk=1:0 or tone=rude:kind")
        scales[name] = (bad.strip().lower(), good.strip().lower())
    token = _scales.set(scales)
    try:
        yield
    finally:
        _scales.reset(token)


def read_value(name: str, value: Any, word: Any = None) -> float | None:
    """Read a score from 0 to 1: by its scale where one is named, else a number, a flag or a word that says pass or fail."""
    number = value if isinstance(value, bool) else _number(value, word if value is None else value)
    if scale := (_scales.get() or {}).get(name):
        bad, good = scale
        texts = [str(one).strip().lower() for one in (word, value) if one is not None]
        if bad in texts or good in texts:
            return float(good in texts)
        low, high = _number(bad, None), _number(good, None)
        if number is None or low is None or high is None:
            return None
        number = (number - low) / (high - low)
    return float(number) if number is not None and 0.0 <= number <= 1.0 else None


def scores_in(span: WireSpan, refused: list[str]) -> Iterator[WireScore]:
    """Every score a span carries; a score that cannot be taken adds one line to `refused`."""
    for index, event in enumerate(span.events):
        if event.name == RESULT_EVENT:
            yield from result_score(event, span.trace_id, span.span_id, str(index), refused)
    for prefix, noun in (*ON_SPAN, *ON_TRACE):
        if is_numbered(prefix, span.attributes):
            # An annotation of the trace travels on one of its spans and judges none of them.
            on_span = None if prefix.startswith("trace.") else span.span_id
            for index, item in enumerate(unflatten(span.attributes, prefix)):
                fields = item.get(noun) if isinstance(item, dict) else None
                if isinstance(fields, dict):
                    key = f"{prefix}.{index}"
                    yield from _score(fields, (span.trace_id, on_span, span.span_id + key, span.end_ns), refused)


def result_score(
    event: WireEvent, trace_id: str, span_id: str | None, where: str, refused: list[str]
) -> Iterator[WireScore]:
    """The score of one `gen_ai.evaluation.result` event."""
    attributes = event.attributes
    fields = {
        "name": attributes.get("gen_ai.evaluation.name"),
        "score": attributes.get("gen_ai.evaluation.score.value"),
        "label": attributes.get("gen_ai.evaluation.score.label"),
        "explanation": attributes.get("gen_ai.evaluation.explanation"),
        "annotator_kind": attributes.get("evergold.score.source"),
    }
    yield from _score(fields, (trace_id, span_id, f"{span_id}{event.time_ns}.{where}", event.time_ns), refused)


def annotation_score(
    fields: Attributes, trace_id: str, span_id: str | None, where: str, refused: list[str]
) -> Iterator[WireScore]:
    """The score of one annotation that was exported beside its span."""
    yield from _score(fields, (trace_id, span_id, f"{span_id}annotation.{where}", 0), refused)


def _score(fields: Attributes, where: tuple[str, str | None, str, int], refused: list[str]) -> Iterator[WireScore]:
    trace_id, span_id, key, time_ns = where
    name = str(fields.get("name") or "")
    label = fields.get("label")
    value = read_value(name, fields.get("score"), label)
    source = SCORE_SOURCES.get(str(fields.get("annotator_kind") or "system").lower())
    if not name:
        refused.append(f"a score on trace {trace_id} has no name")
    elif value is None or isinstance(fields.get("score"), bool):
        given = label if fields.get("score") is None else fields["score"]
        refused.append(f"score {name!r} on trace {trace_id} is {given!r}; a score is a number from 0 to 1")
    elif source is None:
        allowed = ", ".join(sorted(set(SCORE_SOURCES.values())))
        refused.append(
            f"score {name!r} on trace {trace_id} has source {fields['annotator_kind']!r}; use one of {allowed}"
        )
    else:
        # The same event sent again gives the same id, so it replaces itself instead of counting twice.
        identity = hashlib.sha256(f"{trace_id}/{key}/{name}".encode()).hexdigest()[:32]
        comment = fields.get("explanation") or label
        yield WireScore(
            identity, trace_id, span_id, name, value, source, None if comment is None else str(comment), time_ns
        )


def _number(value: Any, label: Any) -> float | None:
    """The value as a number, also where it was written as a text; without one, what a label of two kinds says."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return LABELS.get(label.strip().lower().replace(" ", "_")) if isinstance(label, str) else None
    return None if math.isnan(number) else number
