"""The two things stored with a span: what was understood of it, and what it carried."""

from dataclasses import fields
from datetime import datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from evergold.sources.conventions.attribute_plan import plan_for
from evergold.sources.conventions.read_span import ParsedSpan, read_span
from evergold.sources.conventions.scores import RESULT_EVENT
from evergold.sources.spans import WireSpan

EPOCH = datetime(1970, 1, 1)
NO_FACTS = (
    "kind",
    "input",
    "output",
    "texts",
)  # fields of a parsed span that are stored in columns of their own, or apart
FACTS = tuple(field.name for field in fields(ParsedSpan) if field.name not in NO_FACTS)

_facts = attrgetter(*FACTS)


class SpanContent(NamedTuple):
    """What a span says: its texts, the facts that are stored by name, what it carried as it came, and whether it may
    hold scores."""

    kind: str
    name: str
    input: str | None
    output: str | None
    facts: dict[str, Any]
    raw: dict[str, Any]
    annotated: bool


def content_of(span: WireSpan) -> SpanContent:
    """Understand a span by the conventions."""
    plan = plan_for(span.attributes)
    parsed = read_span(span, plan)
    return SpanContent(
        parsed.kind,
        parsed.tool or span.name,
        parsed.input,
        parsed.output,
        facts_of(span, parsed),
        raw_of(span),
        plan.annotated or bool(span.events),
    )


def facts_of(span: WireSpan, parsed: ParsedSpan) -> dict[str, Any]:
    """What was understood of a span, by name; what it does not say is left out."""
    facts: dict[str, Any] = {
        # 0 tokens and 0 cost are facts; None, "" and empty lists say nothing.
        name: value
        for name, value in zip(FACTS, _facts(parsed), strict=True)
        if value is not None and (value or value == 0)
    }
    facts |= parsed.texts
    service = span.resource.get("service.name")
    if service or service == 0:
        facts["service"] = service
    if span.failed and (error := span.status_message or _exception(span)):
        facts["error"] = error
    return facts


def _exception(span: WireSpan) -> str | None:
    """The exception that a failed span recorded as an event, as `type: message`."""
    for event in span.events:
        if event.name == "exception":
            parts = [event.attributes.get(f"exception.{key}") for key in ("type", "message")]
            return ": ".join(str(part) for part in parts if part) or None
    return None


def raw_of(span: WireSpan) -> dict[str, Any]:
    """What the span carried. A text that became the input or output is stored once all the same: see `store.compact.folding`."""
    raw: dict[str, Any] = {"attributes": span.attributes, "resource": span.resource}
    if span.events:
        events = [
            {"name": event.name, "time": stamp_of(event.time_ns), "attributes": event.attributes}
            for event in span.events
            # Evaluation results are stored as scores, not a second time as events.
            if event.name != RESULT_EVENT
        ]
        if events:
            raw["events"] = events
    if span.scope:
        raw["scope"] = span.scope
    return raw


def stamp_of(nanoseconds: int) -> str | None:
    """The time as the store writes it, always with six digits so that texts sort; None for a time that was not given."""
    if not nanoseconds:
        return None
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{_second(seconds)}.{rest // 1000:06d}Z"


# Spans of a batch share their seconds, so each date is formatted once.
@lru_cache(1024)
def _second(seconds: int) -> str:
    return (EPOCH + timedelta(seconds=seconds)).isoformat(timespec="seconds")
