"""OpenTelemetry's gen_ai: messages as JSON attributes, or as span events (`gen_ai.user.message`, `gen_ai.choice`)."""

from typing import Any

from evergold.conversation.chat import messages_of
from evergold.conversation.exchange import Attributes, Exchange, SpanView
from evergold.conversation.nested_json import decoded
from evergold.conversation.reading import instructions_in, messages_in, text_message
from evergold.conversation.shape import Message
from evergold.conversation.tools import tools_in

MESSAGE_EVENTS = ("gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message")
CHOICE = "gen_ai.choice"
PARAMETERS = "gen_ai.request."
IDENTS = ("id", "tool_call_id")
EXCHANGE = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions")


def read(view: SpanView) -> Exchange:
    attributes = view.attributes
    exchange = _from_attributes(attributes)
    if not exchange:
        exchange = _from_attributes(_gathered(view))
    if not exchange:
        exchange.input, exchange.output = _from_events(view.events)
    if not exchange:
        _from_content_events(view.events, exchange)
    exchange.tools = exchange.tools or tools_in(attributes.get("gen_ai.tool.definitions"))
    exchange.parameters = {
        key.removeprefix(PARAMETERS): value
        for key, value in attributes.items()
        if key.startswith(PARAMETERS) and value is not None
    }
    return exchange


def _gathered(view: SpanView) -> Attributes:
    """The attributes of an exchange from the span and its events: each may stand in an event of its own (Strands)."""
    sources = [view.attributes, *map(_attributes, view.events)]
    return {key: next((source[key] for source in sources if source.get(key)), None) for key in EXCHANGE}


def _from_attributes(attributes: Attributes) -> Exchange:
    exchange = Exchange(
        messages_in(attributes.get("gen_ai.input.messages"), "input"),
        messages_in(attributes.get("gen_ai.output.messages"), "output"),
    )
    instructions = attributes.get("gen_ai.system_instructions")
    # Instructions alone are no exchange: the span of an agent has them without saying anything.
    if instructions and (exchange.input or exchange.output):
        system = instructions_in(instructions)
        known = [message.get("content") for message in exchange.input]
        exchange.input = [message for message in system if message.get("content") not in known] + exchange.input
    if attributes.get("gen_ai.tool.definitions"):
        exchange.tools = tools_in(attributes["gen_ai.tool.definitions"])
    return exchange


def _from_events(events: list[Attributes]) -> tuple[list[Message], list[Message]]:
    asked: list[Message] = []
    answered: list[Message] = []
    for event in events:
        name = str(event.get("name"))
        if name in MESSAGE_EVENTS:
            asked += event_messages(name, _attributes(event))
        # With n > 1 each choice is an event; the first is what the app used.
        elif name == CHOICE and not answered:
            answered += event_messages(name, _attributes(event))
    return asked, answered


def _from_content_events(events: list[Attributes], exchange: Exchange) -> None:
    """`gen_ai.content.prompt` and `gen_ai.content.completion`: JSON or a text under one attribute."""
    for event in events:
        fields = _attributes(event)
        if not exchange.input and (prompt := fields.get("gen_ai.prompt")) is not None:
            exchange.input = messages_in(prompt, "input") or _texts(prompt, "user")
        if not exchange.output and (completion := fields.get("gen_ai.completion")) is not None:
            exchange.output = messages_in(completion, "output") or _texts(completion, "assistant")


def _texts(value: Any, role: str) -> list[Message]:
    value = decoded(value)
    texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [{"role": role, "content": text} for text in texts if isinstance(text, str) and text]


def _attributes(event: Attributes) -> Attributes:
    inner = event.get("attributes")
    return inner if isinstance(inner, dict) else {}


def event_messages(name: str, attributes: Attributes) -> list[Message]:
    """The messages an event carries: its body's fields, or its attributes. Only the first choice is the answer."""
    fields: Attributes = {key: _field(key, value) for key, value in attributes.items()}
    for key in ("gen_ai.event.content", "body"):
        if isinstance(content := decoded(fields.get(key)), dict):
            fields = content
    message = decoded(fields.get("message"))
    own = fields
    if isinstance(message, dict):
        own = {**message, **({"finish_reason": fields["finish_reason"]} if fields.get("finish_reason") else {})}
    elif message is not None:
        own = {**{key: value for key, value in fields.items() if key != "message"}, "content": message}
    # Some SDKs prefix the fields of a message like attributes.
    own = {key.removeprefix("gen_ai."): value for key, value in own.items() if key not in ("gen_ai.system", "index")}
    role = name.removeprefix("gen_ai.").removesuffix(".message")
    role = "assistant" if role == "choice" else role
    # The event of a tool's result names the call it answers by `id`.
    if role == "tool" and "tool_call_id" not in own and own.get("id"):
        own = {**own, "tool_call_id": own["id"]}
        own.pop("id")
    content = own.get("content")
    messages = messages_of({**own, "role": own.get("role") or role})
    if messages is None and isinstance(content, str):
        messages = [text_message(content, "output" if role == "assistant" else "input")]
    return messages or []


def _field(key: str, value: Any) -> Any:
    """Attributes of events are texts; calls and messages in them are JSON. Content is decoded where parts are read."""
    return decoded(value) if key in ("tool_calls", "message", "gen_ai.event.content", "body") else value
