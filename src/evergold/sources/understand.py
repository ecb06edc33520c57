"""Read what a span says, in whichever convention it says it: the first name of a table that is there answers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from evergold.sources.conventions import (
    COST,
    DOCUMENT_KEYS,
    FLATTENED,
    JSON_INPUT,
    JSON_OUTPUT,
    KIND,
    KINDS,
    LATE_OUTPUT,
    LISTED,
    MESSAGE_EVENTS,
    METADATA,
    METADATA_PREFIXES,
    MODEL,
    PROVIDER,
    QUERY,
    SESSION,
    TAGS,
    TEXT_OUTPUT,
    TOKENS_IN,
    TOKENS_OUT,
    TOLD,
    TOOL,
    USAGE_OBJECTS,
    USER,
)
from evergold.sources.messages import INPUT, OUTPUT, input_text, loaded, output_text, unflattened
from evergold.sources.spans import Attributes, WireEvent, WireSpan

STATED_INPUT = (*JSON_INPUT, *QUERY)
SELDOM = DOCUMENT_KEYS.union(
    USAGE_OBJECTS,
    COST,
    USER,
    TAGS,
    ("langfuse.observation.cost_details", "langfuse.trace.name", "langfuse.trace.input", "langfuse.trace.output"),
    ("gen_ai.retrieval.documents",),
)


@dataclass(slots=True)
class Understood:
    """What a span says about itself and about its trace, with the convention's names left behind."""

    kind: str = "span"
    input: str | None = None
    output: str | None = None
    model: str | None = None
    provider: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    session_id: str | None = None
    user_id: str | None = None
    tool: str | None = None
    trace_name: str | None = None
    trace_input: str | None = None
    trace_output: str | None = None
    tags: list[str] = field(default_factory=list)
    metadata: Attributes = field(default_factory=dict)
    documents: list[Attributes] = field(default_factory=list)


def understand(span: WireSpan) -> Understood:
    """Read a span. Nothing is taken away from it: its attributes stay as they came."""
    attributes = span.attributes
    kind = kind_of(attributes)
    flattened = not FLATTENED.isdisjoint(attributes)
    said = Understood(
        kind,
        _side(span, INPUT, flattened),
        _side(span, OUTPUT, flattened),
        _text(attributes, MODEL),
        _text(attributes, PROVIDER),
        _count(_first(attributes, TOKENS_IN)),
        _count(_first(attributes, TOKENS_OUT)),
        session_id=_text(attributes, SESSION),
        tool=_text(attributes, TOOL) if kind == "tool" else None,
        metadata=_metadata(attributes),
    )
    if not SELDOM.isdisjoint(attributes):
        _understand_more(said, attributes)
    return said


def _understand_more(said: Understood, attributes: Attributes) -> None:
    """What most spans do not say: one look tells whether any of it is there."""
    usage = _usage(attributes)
    if said.input_tokens is None:
        said.input_tokens = _count(_first(usage, ("input", "input_tokens", "prompt_tokens")))
    if said.output_tokens is None:
        said.output_tokens = _count(_first(usage, ("output", "output_tokens", "completion_tokens")))
    said.cost = _amount(attributes)
    said.user_id = _text(attributes, USER)
    said.trace_name = _text(attributes, ("langfuse.trace.name",))
    said.trace_input = input_text(attributes.get("langfuse.trace.input"))
    said.trace_output = output_text(attributes.get("langfuse.trace.output"))
    said.tags = _tags(attributes)
    said.documents = _documents(attributes)


def kind_of(attributes: Attributes) -> str:
    """llm, tool, agent, retriever, embedding, chain, reranker, guardrail, evaluator; or plain span."""
    for key in KIND:
        value = attributes.get(key)
        if isinstance(value, str):
            kind = KINDS.get(value.strip('"').lower())
            if kind:
                return kind
    if "gen_ai.request.model" in attributes or "gen_ai.prompt.0.content" in attributes:
        return "llm"
    return "span"


def _side(span: WireSpan, side: int, flattened: bool) -> str | None:
    attributes = span.attributes
    for name, keys in LISTED[side].items() if flattened else ():
        if not keys.isdisjoint(attributes):
            return (input_text, output_text)[side](unflattened(attributes, name))
    return (_input if side == INPUT else _output)(attributes, span.events)


def _input(attributes: Attributes, events: list[WireEvent]) -> str | None:
    for key in STATED_INPUT:
        if key in attributes:
            return input_text(attributes[key])
    if events:
        said = _event_messages(events, MESSAGE_EVENTS) or _event_value(events, "gen_ai.input.messages", "gen_ai.prompt")
        if said:
            return input_text(said)
    return _mime_value(attributes, "input", input_text)


def _output(attributes: Attributes, events: list[WireEvent]) -> str | None:
    for key in TEXT_OUTPUT:
        if attributes.get(key):
            return str(attributes[key])
    for key in JSON_OUTPUT:
        if key in attributes:
            return output_text(attributes[key])
    if events:
        said = _event_messages(events, ("gen_ai.choice",)) or _event_value(
            events, "gen_ai.output.messages", "gen_ai.completion"
        )
        if said:
            return output_text(said)
    found = _mime_value(attributes, "output", output_text)
    if found is None:
        found = next((output_text(attributes[key]) for key in LATE_OUTPUT if key in attributes), None)
    return found


def _mime_value(attributes: Attributes, side: str, read: Callable[[Any], str | None]) -> str | None:
    """OpenInference's `input.value`: looked into only where it is declared JSON; an answer that happens to be JSON is text."""
    value = attributes.get(f"{side}.value")
    if value is None:
        return None
    declared = str(attributes.get(f"{side}.mime_type", ""))
    if "json" in declared or not isinstance(value, str):
        return read(value)
    return value


def _event_messages(events: list[WireEvent], names: tuple[str, ...]) -> list[Attributes]:
    return [message_of(event) for event in events if event.name in names]


def message_of(event: WireEvent) -> Attributes:
    """The chat message a gen_ai event carries: its body's fields, or its attributes."""
    fields = {key: loaded(value) for key, value in event.attributes.items()}
    message = fields.get("message")
    if not isinstance(message, dict):
        message = {"content": message} if message is not None else fields
    role = event.name.removeprefix("gen_ai.").removesuffix(".message")
    return {"role": "assistant" if role == "choice" else role, **message}


def _event_value(events: list[WireEvent], *keys: str) -> Any:
    return next((event.attributes[key] for event in events for key in keys if key in event.attributes), None)


def _first(attributes: Attributes, keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = attributes.get(key)
        if value is not None and value != "":
            return value
    return None


def _text(attributes: Attributes, keys: tuple[str, ...]) -> str | None:
    value = _first(attributes, keys)
    return None if value is None else str(value)


def _usage(attributes: Attributes) -> Attributes:
    for key in USAGE_OBJECTS:
        usage = loaded(attributes.get(key))
        if isinstance(usage, dict):
            return usage
    return {}


def _count(found: Any) -> int | None:
    try:
        return None if found is None else max(0, int(float(found)))
    except (TypeError, ValueError, OverflowError):
        return None


def _amount(attributes: Attributes) -> float | None:
    costs = loaded(attributes.get("langfuse.observation.cost_details"))
    value = costs.get("total") if isinstance(costs, dict) else _first(attributes, COST)
    return float(value) if isinstance(value, (int, float)) and value >= 0 else None


def _tags(attributes: Attributes) -> list[str]:
    tags: list[str] = []
    if TOLD.isdisjoint(attributes):
        return tags
    for key in TAGS:
        value = loaded(attributes.get(key))
        values = value if isinstance(value, list) else str(value).split(",") if value else []
        tags += [str(tag).strip() for tag in values if str(tag).strip()]
    return tags


def _metadata(attributes: Attributes) -> Attributes:
    found: Attributes = {}
    for key in () if TOLD.isdisjoint(attributes) else METADATA:
        value = loaded(attributes.get(key))
        if isinstance(value, dict):
            found.update(value)
    for key in attributes:
        if key.startswith(METADATA_PREFIXES):
            prefix = next(prefix for prefix in METADATA_PREFIXES if key.startswith(prefix))
            found[key.removeprefix(prefix)] = loaded(attributes[key])
    return found


def _documents(attributes: Attributes) -> list[Attributes]:
    listed = loaded(attributes.get("gen_ai.retrieval.documents"))
    if not isinstance(listed, list):
        if DOCUMENT_KEYS.isdisjoint(attributes):
            return []
        listed = [item.get("document", item) for item in unflattened(attributes, "retrieval.documents")]
    return list(_objects(listed))


def _objects(items: list[Any]) -> Iterator[Attributes]:
    for item in items:
        if isinstance(item, dict):
            yield {**item, "metadata": loaded(item.get("metadata"))} if "metadata" in item else item
