"""Scores that travel inside spans and logs: evaluation events and annotations.

Where the sender does not say who judged, the score is `system`: an automatic check of the app itself.
"""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evergold.conversation.message import is_numbered, unflatten
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
    **dict.fromkeys(("pass", "passed", "correct", "relevant"), 1.0),
    **dict.fromkeys(("fail", "failed", "incorrect", "irrelevant", "not_relevant"), 0.0),
}
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
    value = _number(fields.get("score"), label)
    source = SCORE_SOURCES.get(str(fields.get("annotator_kind") or "system").lower())
    if not name:
        refused.append(f"a score on trace {trace_id} has no name")
    elif value is None or not 0.0 <= value <= 1.0:
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
    if value is None and isinstance(label, str):
        return LABELS.get(label.strip().lower().replace(" ", "_"))
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    # True is 1.0 to `float`; who sends it means a label, not a number.
    return None if isinstance(value, bool) or math.isnan(number) else number
