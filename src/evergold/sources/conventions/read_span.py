"""Read what a span says, in whichever convention it says it: the first name of a table that is there answers."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from evergold.conversation.notations import unflatten
from evergold.sources.conventions.attribute_plan import AttributePlan, Names, plan_for
from evergold.sources.conventions.messages import INPUT, OUTPUT, as_json, input_text, loaded, output_text
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
)
from evergold.sources.spans import Attributes, WireEvent, WireSpan

MIME = (("input.value", "input.mime_type"), ("output.value", "output.mime_type"))
READ = (input_text, output_text)
NO_IDENT = re.compile(
    r"\s*(?:[\[<({*]+\s*(?:scrubbed|redacted|filtered|masked|removed|hidden)\b.*|redacted|filtered|none|null|undefined|nan|\*+|)\s*\Z",
    re.IGNORECASE | re.DOTALL,
)


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
    fields = {key: loaded(value) for key, value in event.attributes.items()}
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
        value = loaded(value)  # MLflow writes every value as JSON
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
        usage = loaded(attributes.get(key))
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
    costs = loaded(attributes.get("langfuse.observation.cost_details"))
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
        value = loaded(attributes.get(key))
        values = value if isinstance(value, list) else str(value).split(",") if value else []
        tags += [str(tag).strip() for tag in values if str(tag).strip()]
    return tags


def _metadata(attributes: Attributes, plan: AttributePlan) -> Attributes:
    metadata: Attributes = {}
    for key in plan.metadata:
        value = loaded(attributes[key])
        if isinstance(value, dict):
            metadata.update(value)
    for key in plan.prefixed:
        prefix = next(prefix for prefix in METADATA_PREFIXES if key.startswith(prefix))
        metadata[key.removeprefix(prefix)] = loaded(attributes[key])
    return metadata


def _documents(attributes: Attributes) -> list[Attributes]:
    listed = loaded(attributes.get("gen_ai.retrieval.documents"))
    if not isinstance(listed, list):
        items = unflatten(attributes, DOCUMENTS)
        listed = [item.get("document", item) if isinstance(item, dict) else item for item in items]
    return list(_objects(listed))


def _objects(items: list[Any]) -> Iterator[Attributes]:
    for item in items:
        if isinstance(item, dict):
            yield {**item, "metadata": loaded(item.get("metadata"))} if "metadata" in item else item
