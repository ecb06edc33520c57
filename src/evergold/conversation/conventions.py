"""Conventions of spans: where each holds messages, tools and parameters. `exchange_of` reads a span in all of them.

A convention is a function that gives the exchange of a span, empty where the span is not written in that convention. To add one,
write its function and list it in `READERS`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from evergold.conversation.message import (
    CHOICE,
    INSTRUCTING,
    KNOWN_ROLES,
    Message,
    Piece,
    calls_in,
    count_asked,
    decode_json,
    decode_list,
    decode_object,
    fill_last_message,
    lists_calls,
    messages_of_pieces,
    names_of_side,
    text_of,
    text_piece,
    unflatten,
)
from evergold.conversation.reader import Side, instructions_in, messages_in, messages_of, text_message
from evergold.conversation.tools import attributes_of, tools_in
from evergold.model.trace import Span

Attributes = dict[str, Any]

MESSAGE_EVENTS = ("gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message")
EXCHANGE = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions")
# What a client of OpenInference writes beside the parameters: the rest of the request, and of a whole response.
NO_PARAMETERS = frozenset(
    (
        *("tools", "functions", "messages", "input", "instructions", "output", "usage", "id", "object"),
        *("created_at", "status", "error", "metadata", "base_url", "incomplete_details", "http_options"),
        *("system_instruction", "system", "labels"),
    )
)
WHOLE_RUNS = ("pydantic_ai.all_messages", "all_messages_events", "all_messages", "events")
# Attributes that name the prompt of a call, by the parameter they are kept as.
PROMPT_ATTRIBUTES = {
    "llm.prompt_template.template": "prompt_template",
    "llm.prompt_template.variables": "prompt_variables",
    "llm.prompt_template.version": "prompt_version",
    "prompt.id": "prompt_id",
    "prompt.name": "prompt_name",
    "prompt.version": "prompt_version",
}
# Attributes that hold a request and a reply as they are, under names that do not say so at their end.
ASKED = ("gcp.vertex.agent.llm_request", "llm.prompts", "request")
ANSWERED = ("gcp.vertex.agent.llm_response", "llm.completions", "response", "result")


@dataclass(slots=True)
class Exchange:
    """Messages in canonical shape. `output` may begin with the messages of `input`, as the states of chains do."""

    input: list[Message] = field(default_factory=list)
    output: list[Message] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.input or self.output)


def _messages_under(attributes: Attributes, side: Side, keys: Iterable[str]) -> list[Message]:
    """The messages of the first attribute that holds some."""
    values = (attributes[key] for key in keys if attributes.get(key))
    return next((messages for value in values if (messages := messages_in(value, side))), [])


def _rename(attributes: Attributes, names: dict[str, str]) -> dict[str, Any]:
    return {name: value for key, name in names.items() if (value := attributes.get(key)) is not None}


def _select_prefixed(attributes: Attributes, prefix: str) -> dict[str, Any]:
    return {key.removeprefix(prefix): value for key, value in attributes.items() if key.startswith(prefix)}


def _otel_gen_ai(span: Span, attributes: Attributes) -> Exchange:
    """OpenTelemetry's gen_ai: messages as JSON attributes, or as span events (`gen_ai.user.message`, `gen_ai.choice`)."""
    listed = span.metadata.get("events")
    events = [event for event in listed if isinstance(event, dict)] if isinstance(listed, list) else []
    fields = [event["attributes"] if isinstance(event.get("attributes"), dict) else {} for event in events]
    exchange = _from_attributes(attributes)
    if not exchange:
        # Each attribute of an exchange may stand in an event of its own (Strands).
        sources = [attributes, *fields]
        exchange = _from_attributes(
            {key: next((source[key] for source in sources if source.get(key)), None) for key in EXCHANGE}
        )
    if not exchange:
        named = zip((str(event.get("name")) for event in events), fields, strict=True)
        spoken = [(name, own) for name, own in named if name in MESSAGE_EVENTS or name == CHOICE]
        asked = count_asked([name for name, _ in spoken])
        exchange.input = [message for name, own in spoken[:asked] for message in event_messages(name, own)]
        # With n > 1 each choice is an event; the first is what the app used.
        exchange.output = next((made for name, own in spoken[asked:] if (made := event_messages(name, own))), [])
    if not exchange:
        # `gen_ai.content.prompt` and `gen_ai.content.completion`: JSON or a text under one attribute.
        for own in fields:
            exchange.input = exchange.input or _content(own.get("gen_ai.prompt"), "input")
            exchange.output = exchange.output or _content(own.get("gen_ai.completion"), "output")
    settings = _select_prefixed(attributes, "gen_ai.request.")
    offered = settings.pop("tools", None)
    exchange.tools = exchange.tools or tools_in(attributes.get("gen_ai.tool.definitions")) or tools_in(offered)
    exchange.parameters = {key: value for key, value in settings.items() if value is not None}
    return exchange


def _from_attributes(attributes: Attributes) -> Exchange:
    exchange = Exchange(
        messages_in(attributes.get("gen_ai.input.messages"), "input"),
        messages_in(attributes.get("gen_ai.output.messages"), "output"),
        tools_in(attributes.get("gen_ai.tool.definitions")),
    )
    for message in exchange.output:
        # What a model gave back is its own, also where the exporter names no role (`unknown`).
        message["role"] = message["role"] if message["role"] in KNOWN_ROLES else "assistant"
    instructions = attributes.get("gen_ai.system_instructions")
    # Instructions alone are no exchange: the span of an agent has them without saying anything.
    if instructions and exchange:
        known = [message.get("content") for message in exchange.input]
        system = [message for message in instructions_in(instructions) if message.get("content") not in known]
        exchange.input = system + exchange.input
    return exchange


def _content(value: Any, side: Side) -> list[Message]:
    if messages := messages_in(value, side):
        return messages
    value = decode_json(value)
    texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [text_message(text, side) for text in texts if isinstance(text, str) and text]


def event_messages(name: str, attributes: Attributes) -> list[Message]:
    """The messages an event carries: its body's fields, or its attributes. Only the first choice is the answer."""
    # Attributes of events are texts; calls and messages in them are JSON. Content is decoded where parts are read.
    written = ("tool_calls", "message", "gen_ai.event.content", "body")
    fields = {key: decode_json(value) if key in written else value for key, value in attributes.items()}
    for key in ("gen_ai.event.content", "body"):
        if isinstance(content := decode_json(fields.get(key)), dict):
            fields = content
    message = decode_json(fields.get("message"))
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
        own["tool_call_id"] = own.pop("id")
    content = own.get("content")
    messages = messages_of({**own, "role": own.get("role") or role})
    if messages is None and isinstance(content, str):
        messages = [text_message(content, "output" if role == "assistant" else "input")]
    return messages or []


def _openinference(span: Span, attributes: Attributes) -> Exchange:
    """OpenInference: flattened messages, and `input.value` / `output.value` with whatever the framework passed around."""
    asked = fill_last_message(unflatten(attributes, "llm.input_messages"), ("user",), span.input)
    answered = fill_last_message(unflatten(attributes, "llm.output_messages"), ("assistant",), span.output)
    exchange = Exchange(
        messages_in(asked, "input") or messages_in(attributes.get("input.value"), "input"),
        messages_in(answered, "output") or messages_in(attributes.get("output.value"), "output"),
    )
    if attributes.get("openinference.span.kind") == "LLM":
        exchange.input = _restore_request(exchange.input, messages_in(attributes.get("input.value"), "input"))
        exchange.output = _complete_reply(exchange.output, attributes.get("output.value"))
    if not exchange.input:
        # Completion models have prompts and no messages: `llm.prompts.0.prompt.text`.
        prompts = [item.get("prompt.text", item.get("prompt")) for item in _objects(attributes, "llm.prompts")]
        texts = [prompt.get("text") if isinstance(prompt, dict) else prompt for prompt in prompts]
        exchange.input = [text_message(text, "input") for text in texts if isinstance(text, str)]
    if not exchange.output:
        choices = [item.get("completion", item) for item in _objects(attributes, "llm.choices")]
        texts = [choice.get("text") for choice in choices if isinstance(choice, dict)]
        exchange.output = [text_message(text, "output") for text in texts[:1] if isinstance(text, str)]
    exchange.tools = tools_in(unflatten(attributes, "llm.tools")) or tools_in(
        attributes.get("llm.invocation_parameters")
    )
    # Without OpenInference's kind `input.value` is anybody's, and a field `tools` in it may mean anything.
    if not exchange.tools and "openinference.span.kind" in attributes:
        exchange.tools = tools_in(attributes.get("input.value"))
    parameters = decode_object(attributes.get("llm.invocation_parameters"))
    known = {key: value for key, value in parameters.items() if key not in NO_PARAMETERS}
    exchange.parameters = known | _rename(attributes, PROMPT_ATTRIBUTES)
    return exchange


def _restore_request(listed: list[Message], whole: list[Message]) -> list[Message]:
    """The messages that hold more of the same request: exporters leave out calls, and write two messages as one."""
    if len(whole) < len(listed) or whole == listed:
        return listed
    made = [sum(len(one.get("tool_calls", ())) for one in side) for side in (listed, whole)]
    lost = [_count_losses(side) for side in (listed, whole)]
    if lost[1] > lost[0] or (lost[1] == lost[0] and made[1] <= made[0]):
        return listed
    asked = [[text_of(one) for one in side if one["role"] == "user"] for side in (listed, whole)]
    return whole if asked[0] == asked[1] and whole[-1]["role"] != "assistant" else listed


def _count_losses(messages: list[Message]) -> int:
    """How many messages say nothing, call without a result, answer no call, or name a call without being its result."""
    losses = waiting = 0
    nameless = False
    for message in messages:
        calls = message.get("tool_calls", ())
        if message["role"] == "tool":
            waiting -= 1
            losses += waiting < 0
            nameless = nameless or not message.get("tool_call_id")
        else:
            losses += waiting > 0 or "tool_call_id" in message or not (message.get("content") or calls)
            waiting = len(calls)
    return losses + nameless


def _complete_reply(output: list[Message], value: Any) -> list[Message]:
    """The messages of the reply itself where they end with the flattened ones: calls that the client made in between."""
    if not output or not isinstance(value, str) or output[-1]["role"] != "assistant":
        return output
    whole = messages_in(value, "output")
    held = [message["role"] for message in whole]
    if "tool" not in held or len(whole) <= len(output) or text_of(whole[-1]) != text_of(output[-1]):
        return output
    return whole


def _objects(attributes: Attributes, prefix: str) -> list[Attributes]:
    return [item for item in unflatten(attributes, prefix) if isinstance(item, dict)]


def _pydantic_ai(span: Span, attributes: Attributes) -> Exchange:
    """Pydantic AI and Logfire: the whole run's messages on the agent's span, events on a model's, a request as JSON."""
    runs = {key: decode_list(attributes.get(key)) for key in WHOLE_RUNS}
    exchange = Exchange(
        _messages_under(runs, "input", WHOLE_RUNS) or _messages_under(attributes, "input", ("request_data",)),
        _messages_under(attributes, "output", ("response_data",)),
        tools_in(attributes.get("model_request_parameters")) or tools_in(attributes.get("request_data")),
    )
    instructions = attributes.get("gen_ai.system_instructions")
    if instructions and exchange.input and exchange.input[0]["role"] not in INSTRUCTING:
        exchange.input = messages_in({"system": instructions, "messages": []}, "input") + exchange.input
    return exchange


def _vercel_ai(span: Span, attributes: Attributes) -> Exchange:
    """The Vercel AI SDK: the prompt as JSON, the answer in pieces (text, calls, object, reasoning)."""
    asked = _messages_under(attributes, "input", ("ai.prompt.messages", "ai.prompt"))
    if not asked and isinstance(prompt := attributes.get("ai.prompt"), str) and prompt[:1] not in ("{", "["):
        asked = [text_message(prompt, "input")]
    pieces = []
    if reasoning := attributes.get("ai.response.reasoning"):
        pieces.append(Piece("reasoning", str(reasoning)))
    text = attributes.get("ai.response.text") or attributes.get("ai.response.object")
    if isinstance(text, str) and text:
        pieces.append(text_piece(text))
    pieces += [Piece("call", call) for call in calls_in(attributes.get("ai.response.toolCalls"))]
    ended = attributes.get("ai.response.finishReason")
    answered = messages_of_pieces("assistant", pieces, {"finish_reason": ended} if ended else None)
    settings = _select_prefixed(attributes, "ai.settings.")
    # The context is what the app passes along, no setting of the model.
    own = {key: value for key, value in settings.items() if not key.startswith("context.")}
    return Exchange(asked, answered, tools_in(attributes.get("ai.prompt.tools")), own)


def _langfuse(span: Span, attributes: Attributes) -> Exchange:
    """Langfuse: an observation's input and output are whatever was passed, most often messages of a provider."""
    asked = [f"langfuse.{level}.input" for level in ("observation", "trace")]
    answered = [f"langfuse.{level}.output" for level in ("observation", "trace")]
    names = {f"langfuse.observation.prompt.{key}": f"prompt_{key}" for key in ("name", "version")}
    return Exchange(
        _messages_under(attributes, "input", asked),
        _messages_under(attributes, "output", answered),
        next((tools for key in asked if (tools := tools_in(attributes.get(key)))), []),
        decode_object(attributes.get("langfuse.observation.model.parameters")) | _rename(attributes, names),
    )


def _traceloop(span: Span, attributes: Attributes) -> Exchange:
    """OpenLLMetry: `gen_ai.prompt.0.content`, `llm.request.functions.0.name`, and entities' input and output as JSON."""
    offered = tools_in(unflatten(attributes, "llm.request.functions"))
    return Exchange(
        _traceloop_side(attributes, "input", "user", "gen_ai.prompt", span.input),
        _traceloop_side(attributes, "output", "assistant", "gen_ai.completion", span.output),
        offered or tools_in(attributes.get("traceloop.entity.input")),
        _rename(attributes, {"traceloop.prompt.key": "prompt_name", "traceloop.prompt.version": "prompt_version"}),
    )


def _traceloop_side(attributes: Attributes, side: Side, role: str, prefix: str, stated: str | None) -> list[Message]:
    listed = _objects(attributes, prefix)
    items = [{"role": role, **item} for item in listed]
    # Several completions are alternatives, not turns; unless each is one of the calls of a reply.
    messages = messages_in(items[:1] if side == "output" and not lists_calls(listed) else items, side)
    messages = messages or _messages_under(attributes, side, (prefix, f"traceloop.entity.{side}"))
    if not messages and isinstance(text := attributes.get(prefix), str) and text:
        return [text_message(stated or text, side)]
    return messages


def _mlflow(span: Span, attributes: Attributes) -> Exchange:
    """MLflow: inputs and outputs of the traced call, and the messages and tools of a chat beside them."""
    asked = attributes.get("mlflow.spanInputs")
    exchange = Exchange(messages_in(asked, "input"), messages_in(attributes.get("mlflow.spanOutputs"), "output"))
    if not exchange:
        exchange.input = messages_in(attributes.get("mlflow.chat.messages"), "input")
    exchange.tools = tools_in(attributes.get("mlflow.chat.tools")) or tools_in(asked)
    return exchange


def _native(span: Span, attributes: Attributes) -> Exchange:
    """Evergold's own lines: `messages` and `tools` in the metadata of a span, or JSON as its input and output."""
    exchange = Exchange(messages_in(span.metadata.get("messages"), "input"))
    if not exchange.input and span.input and span.input.lstrip()[:1] in ("{", "["):
        exchange.input = messages_in(span.input, "input")
    if span.output and span.output.lstrip()[:1] in ("{", "[") and not span.metadata.get("messages"):
        exchange.output = messages_in(span.output, "output")
    exchange.tools = tools_in(span.metadata.get("tools"))
    parameters = span.metadata.get("parameters")
    exchange.parameters = parameters if isinstance(parameters, dict) else {}
    return exchange


def _read_generic(span: Span, attributes: Attributes) -> Exchange:
    """Attributes that hold a request and a reply as they are."""
    answered = (*ANSWERED, *names_of_side(attributes, "output"))
    exchange = Exchange(output=_messages_under(attributes, "output", answered))
    for key in (*ASKED, *names_of_side(attributes, "input")):
        if (value := attributes.get(key)) and not exchange.input:
            exchange.input = messages_in(value, "input")
            # A list under a framework's own name is one of messages.
            exchange.tools = tools_in(value) if key in ASKED or decode_object(value) else []
            # ADK and Genkit send the settings of the model inside the request; objects in there are tools and schemas.
            config = decode_object(decode_object(value).get("config"))
            simple = (str, int, float, bool)
            exchange.parameters = {name: item for name, item in config.items() if isinstance(item, simple)}
    return exchange


# Order matters: the first reader that finds messages decides, and `_generic` matches nearly anything.
READERS = (
    _otel_gen_ai,
    _openinference,
    _pydantic_ai,
    _vercel_ai,
    _langfuse,
    _traceloop,
    _mlflow,
    _native,
    _read_generic,
)


def _has_content(message: Message) -> bool:
    return bool(message.get("content") or message.get("tool_calls"))


def _is_whole_run(asked: list[Message]) -> bool:
    return bool(asked) and asked[-1]["role"] == "assistant"


def exchange_of(span: Span) -> Exchange:
    """What a span says, side by side from the first convention that says it; parameters from all of them."""
    attributes = attributes_of(span)
    whole = Exchange()
    for read in READERS:
        exchange = read(span, attributes)
        whole.input = _restore_request(whole.input, exchange.input) if whole.input else whole.input
        if not whole:
            whole.input, whole.output = exchange.input, exchange.output
        # One convention may hold the question and another the answer, as with instrumentation on two levels; but the
        # messages of an input that end with an answer are those of a whole run.
        elif not any(map(_has_content, whole.output)) and exchange.output and not _is_whole_run(whole.input):
            whole.output = exchange.output
        elif not whole.input:
            whole.input = exchange.input
        whole.tools = whole.tools or exchange.tools
        whole.parameters = exchange.parameters | whole.parameters
    return whole
