"""Read what a span says, in whichever convention it says it: the first name of a table that is there answers.

`content_of` gives intake the two things stored with a span, what was understood of it and what it carried; `line_of` gives the
readers of files the same as a record.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from evergold.conversation.message import unflatten
from evergold.model.trace import ScoreLine, ScoreSource, SpanLine, TraceStatus
from evergold.sources.conventions.messages import INPUT, OUTPUT, as_json, input_text, output_text, parse_json
from evergold.sources.conventions.names import (
    ARGUMENTS,
    COST,
    COST_PARTS,
    DOCUMENTS,
    KINDS,
    MESSAGE_EVENTS,
    MESSAGE_TYPE,
    METADATA_PREFIXES,
    OWN_NAME,
    TAGS,
    TEXT_FACTS,
    TOKENS_ALL,
    USAGE_OBJECTS,
    WHOLE_RUNS,
    AttributePlan,
    Names,
    plan_for,
)
from evergold.sources.conventions.scores import RESULT_EVENT, WireScore
from evergold.sources.spans import Attributes, WireEvent, WireSpan

MIME = (("input.value", "input.mime_type"), ("output.value", "output.mime_type"))
READ = (input_text, output_text)
NO_IDENT = re.compile(
    r"\s*(?:[\[<({*]+\s*(?:scrubbed|redacted|filtered|masked|removed|hidden)\b.*|redacted|filtered|none|null|undefined|nan|\*+|)\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
EPOCH = datetime(1970, 1, 1)
# Fields of a parsed span that are stored in columns of their own, or apart.
NO_FACTS = ("kind", "input", "output", "texts")
EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class ParsedSpan:
    """What a span says about itself and about its trace, with the convention's names left behind.

    `texts` holds the facts of `TEXT_FACTS` that it has.
    """

    kind: str = "span"
    input: str | None = None
    output: str | None = None
    model: str | None = None
    provider: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cost: float | None = None
    session_id: str | None = None
    tool: str | None = None
    trace_name: str | None = None
    trace_input: str | None = None
    trace_output: str | None = None
    tags: list[str] = field(default_factory=list)
    metadata: Attributes = field(default_factory=dict)
    documents: list[Attributes] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)


def read_span(span: WireSpan, plan: AttributePlan | None = None) -> ParsedSpan:
    """Read a span, as `names` say where its caller knows. Nothing is taken away: its attributes stay as they came."""
    attributes = span.attributes
    plan = plan or plan_for(attributes)
    kind = _kind(attributes, plan)
    parsed = ParsedSpan(
        kind,
        _input(attributes, span.events, plan),
        _output(attributes, span.events, plan, failed=span.failed),
        _text(attributes, plan.model),
        _text(attributes, plan.provider),
        _count(_first(attributes, plan.tokens_in)),
        _count(_first(attributes, plan.tokens_out)),
        session_id=_ident(attributes, plan.session),
        # `traceloop.entity.name` and others name any entity; only of a tool's span it is a tool.
        tool=(_text(attributes, plan.tool) or span.name or None) if kind == "tool" else None,
    )
    if plan.metadata or plan.prefixed:
        parsed.metadata = _metadata(attributes, plan)
    if plan.seldom:
        _read_rare_fields(parsed, attributes)
        if span.parent_id is None and parsed.trace_name is None:
            parsed.trace_name = _text(attributes, OWN_NAME)
        if attributes.get("langfuse.observation.level") == "ERROR":
            # Langfuse leaves the status of the span unset and says the error in an attribute of its own.
            span.failed = True
            span.status_message = span.status_message or _text(attributes, ("langfuse.observation.status_message",))
    return parsed


def _read_rare_fields(parsed: ParsedSpan, attributes: Attributes) -> None:
    """What most spans do not say: one look tells whether any of it is there."""
    usage = _usage(attributes)
    if parsed.input_tokens is None:
        parsed.input_tokens = _count(_first(usage, ("input", "input_tokens", "prompt_tokens")))
    if parsed.output_tokens is None:
        parsed.output_tokens = _count(_first(usage, ("output", "output_tokens", "completion_tokens")))
    # The total is kept only where the parts are not both known; otherwise it could contradict their sum.
    if parsed.input_tokens is None or parsed.output_tokens is None:
        parsed.total_tokens = _count(_first({**usage, **attributes}, (*TOKENS_ALL, "total", "total_tokens")))
    parsed.cost = _amount(attributes)
    texts = ((fact, _ident(attributes, names)) for fact, names in TEXT_FACTS.items())
    parsed.texts = {fact: text for fact, text in texts if text is not None}
    parsed.trace_name = _text(attributes, ("langfuse.trace.name",))
    parsed.trace_input = input_text(attributes.get("langfuse.trace.input"))
    parsed.trace_output = output_text(attributes.get("langfuse.trace.output"))
    parsed.tags = _tags(attributes)
    # `setdefault`: the app's own metadata wins over an attribute.
    if (message_type := _text(attributes, MESSAGE_TYPE)) is not None:
        parsed.metadata.setdefault("message_type", message_type)
    parsed.documents = _documents(attributes)


def _kind(attributes: Attributes, plan: AttributePlan) -> str:
    """llm, tool, agent, retriever, embedding, chain, reranker, guardrail, evaluator; or plain span."""
    for key in plan.kind:
        value = attributes[key]
        if isinstance(value, str):
            kind = KINDS.get(value.strip('"').lower())
            if kind:
                return kind
    # Early gen_ai spans name no operation; a requested model or numbered prompts mean a model call.
    if "gen_ai.request.model" in attributes or "gen_ai.prompt.0.content" in attributes:
        return "llm"
    return "span"


def _input(attributes: Attributes, events: list[WireEvent], plan: AttributePlan) -> str | None:
    # None: nothing is said so far; empty: the question has no text, so that instructions do not stand for it.
    text = None
    # Flattened messages first: they hold the roles, which a plain `input.value` beside them lacks.
    for prefix in plan.listed[INPUT]:
        text = text or input_text(unflatten(attributes, prefix))
    for key in plan.stated_input:
        if not text:
            stated = _arguments(attributes[key]) if key in ARGUMENTS else input_text(attributes[key])
            text = text if stated is None else stated
    if text is None and events:
        parsed = _event_messages(events, MESSAGE_EVENTS) or _event_value(
            events, "gen_ai.input.messages", "gen_ai.prompt"
        )
        text = input_text(parsed)
    if text is None:
        text = _mime_value(attributes, INPUT)
    for key in plan.instructions:
        text = input_text(attributes[key]) if text is None else text
    return text or None


def _arguments(value: Any) -> str | None:
    """What a tool was called with, as it was written: a single argument is not the question it happens to hold."""
    return value or None if isinstance(value, str) else as_json(value) if value is not None else None


def _output(attributes: Attributes, events: list[WireEvent], plan: AttributePlan, *, failed: bool) -> str | None:
    text = None
    for prefix in plan.listed[OUTPUT]:
        text = text or output_text(unflatten(attributes, prefix))
    for key in plan.text_output:
        if text is None and attributes[key]:
            text = str(attributes[key])
    for key in plan.json_output:
        text = output_text(attributes[key]) if text is None else text
    if text is None and events:
        parsed = _event_messages(events, ("gen_ai.choice",)) or _event_value(
            events, "gen_ai.output.messages", "gen_ai.completion"
        )
        text = output_text(parsed)
    if text is None:
        text = _mime_value(attributes, OUTPUT)
    for key in plan.late_output:
        # The last answer among the messages of a run that failed is that of an earlier turn.
        if text is None and not (failed and key in WHOLE_RUNS):
            text = output_text(attributes[key])
    return text


def _mime_value(attributes: Attributes, side: int) -> str | None:
    """OpenInference's `input.value`: looked into only where it is declared JSON; an answer that happens to be JSON is text."""
    value_name, type_name = MIME[side]
    value = attributes.get(value_name)
    if value is None:
        return None
    declared = str(attributes.get(type_name, ""))
    if "json" in declared or not isinstance(value, str):
        return READ[side](value)
    return value


def _event_messages(events: list[WireEvent], plan: tuple[str, ...]) -> list[Attributes]:
    return [message_of(event) for event in events if event.name in plan]


def message_of(event: WireEvent) -> Attributes:
    """The chat message a gen_ai event carries: its body's fields, or its attributes."""
    fields = {key: parse_json(value) for key, value in event.attributes.items()}
    # Azure's SDK puts the body of the event into one JSON attribute.
    if isinstance(content := fields.get("gen_ai.event.content"), dict):
        fields = content
    message = fields.get("message")
    if not isinstance(message, dict):
        message = {"content": message} if message is not None else fields
    role = event.name.removeprefix("gen_ai.").removesuffix(".message")
    return {"role": "assistant" if role == "choice" else role, **message}


def _event_value(events: list[WireEvent], *keys: str) -> Any:
    return next((event.attributes[key] for event in events for key in keys if key in event.attributes), None)


def _first(attributes: Attributes, keys: Names) -> Any:
    for key in keys:
        value = attributes.get(key)
        if value is not None and value != "":
            return value
    return None


def _text(attributes: Attributes, keys: Names) -> str | None:
    value = _first(attributes, keys)
    if isinstance(value, str) and value[:1] == '"':
        value = parse_json(value)  # MLflow writes every value as JSON
    return None if value is None else str(value)


def _ident(attributes: Attributes, keys: Names) -> str | None:
    """The first of these that names somebody: what a scrubber left, or a missing value as text, would join strangers."""
    for key in keys:
        ident = _text(attributes, (key,))
        if ident is not None and not NO_IDENT.match(ident):
            return ident
    return None


def _usage(attributes: Attributes) -> Attributes:
    for key in USAGE_OBJECTS:
        usage = parse_json(attributes.get(key))
        if isinstance(usage, dict):
            return usage
    return {}


def _count(value: Any) -> int | None:
    if type(value) is int and value >= 0:
        return value
    try:
        # Through float: senders write counts as "12" and 12.0.
        return None if value is None else max(0, int(float(value)))
    except (TypeError, ValueError, OverflowError):
        return None


def _amount(attributes: Attributes) -> float | None:
    """What the call cost, however it is written; where only its parts are told, their sum."""
    costs = parse_json(attributes.get("langfuse.observation.cost_details"))
    if isinstance(costs, dict):
        total, parts = costs.get("total"), list(costs.values())
    else:
        total, parts = _first(attributes, COST), [attributes.get(key) for key in COST_PARTS]
    whole = _money(total)
    if whole is not None:
        return whole
    known = [amount for amount in map(_money, parts) if amount is not None]
    return sum(known) if known else None


def _money(value: Any) -> float | None:
    try:
        amount = float(value)
    except (TypeError, ValueError):
        return None
    return amount if 0 <= amount < math.inf and not isinstance(value, bool) else None


def _tags(attributes: Attributes) -> list[str]:
    tags: list[str] = []
    for key in TAGS:
        value = parse_json(attributes.get(key))
        values = value if isinstance(value, list) else str(value).split(",") if value else []
        tags += [str(tag).strip() for tag in values if str(tag).strip()]
    return tags


def _metadata(attributes: Attributes, plan: AttributePlan) -> Attributes:
    metadata: Attributes = {}
    for key in plan.metadata:
        value = parse_json(attributes[key])
        if isinstance(value, dict):
            metadata.update(value)
    for key in plan.prefixed:
        prefix = next(prefix for prefix in METADATA_PREFIXES if key.startswith(prefix))
        metadata[key.removeprefix(prefix)] = parse_json(attributes[key])
    return metadata


def _documents(attributes: Attributes) -> list[Attributes]:
    listed = parse_json(attributes.get("gen_ai.retrieval.documents"))
    if not isinstance(listed, list):
        items = unflatten(attributes, DOCUMENTS)
        listed = [item.get("document", item) if isinstance(item, dict) else item for item in items]
    return list(_objects(listed))


def _objects(items: list[Any]) -> Iterator[Attributes]:
    for item in items:
        if isinstance(item, dict):
            yield {**item, "metadata": parse_json(item.get("metadata"))} if "metadata" in item else item


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


def line_of(span: WireSpan) -> SpanLine:
    """The span as a record of its own, for sources that read files."""
    plan = plan_for(span.attributes)
    parsed = read_span(span, plan)
    return SpanLine(
        trace_id=span.trace_id,
        id=span.span_id,
        parent_id=span.parent_id,
        name=parsed.tool or span.name,
        kind=parsed.kind,
        input=parsed.input,
        output=parsed.output,
        status=TraceStatus.FAILED if span.failed else TraceStatus.COMPLETED,
        started_at=_moment(span.start_ns),
        ended_at=_moment(span.end_ns),
        metadata=facts_of(span, parsed) | {key: value for key, value in raw_of(span).items() if value},
    )


def score_line(score: WireScore, comment: str | None) -> ScoreLine:
    return ScoreLine(
        trace_id=score.trace_id,
        name=score.name,
        value=score.value,
        source=ScoreSource(score.source),
        comment=comment,
        span_id=score.span_id,
        key=score.id,
        created_at=_moment(score.time_ns),
    )


def _moment(nanoseconds: int) -> datetime | None:
    try:
        return EPOCH_UTC + timedelta(microseconds=nanoseconds // 1000) if nanoseconds else None
    except OverflowError:
        raise ValueError(f"{str(nanoseconds)[:30]} is no time in nanoseconds since 1970") from None
