"""Conventions of spans: where each holds messages, tools and parameters. `exchange_of` reads a span in all of them.

A convention is a class whose `read` gives the exchange of a span, empty where it is not written in that convention. To add one,
write its class and list it in `READERS`.
"""

from dataclasses import dataclass, field
from typing import Any

from evergold.conversation.message import (
    INSTRUCTING,
    Message,
    Piece,
    calls_in,
    decode_json,
    decode_list,
    decode_object,
    fill_last_message,
    messages_of_pieces,
    text_of,
    text_piece,
    unflatten,
)
from evergold.conversation.reader import instructions_in, messages_in, messages_of, text_message
from evergold.conversation.tools import tools_in
from evergold.model.trace import Span

Attributes = dict[str, Any]


@dataclass(slots=True)
class Exchange:
    """Messages in canonical shape. `output` may begin with the messages of `input`, as the states of chains do."""

    input: list[Message] = field(default_factory=list)
    output: list[Message] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.input or self.output)


@dataclass(slots=True)
class SpanView:
    """A span as a convention looks at it."""

    span: Span
    attributes: Attributes
    events: list[Attributes]

    @classmethod
    def of(cls, span: Span) -> "SpanView":
        attributes, events = span.metadata.get("attributes"), span.metadata.get("events")
        return cls(
            span,
            attributes if isinstance(attributes, dict) else {},
            [event for event in events if isinstance(event, dict)] if isinstance(events, list) else [],
        )


class OtelGenAISpans:
    """OpenTelemetry's gen_ai: messages as JSON attributes, or as span events (`gen_ai.user.message`, `gen_ai.choice`)."""

    MESSAGE_EVENTS = ("gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message")
    CHOICE = "gen_ai.choice"
    PARAMETERS = "gen_ai.request."
    EXCHANGE = (
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.system_instructions",
        "gen_ai.tool.definitions",
    )

    @staticmethod
    def read(view: SpanView) -> Exchange:
        attributes = view.attributes
        exchange = OtelGenAISpans._from_attributes(attributes)
        if not exchange:
            exchange = OtelGenAISpans._from_attributes(OtelGenAISpans._gather_attributes(view))
        if not exchange:
            exchange.input, exchange.output = OtelGenAISpans._from_events(view.events)
        if not exchange:
            OtelGenAISpans._from_content_events(view.events, exchange)
        exchange.tools = exchange.tools or tools_in(attributes.get("gen_ai.tool.definitions"))
        exchange.parameters = {
            key.removeprefix(OtelGenAISpans.PARAMETERS): value
            for key, value in attributes.items()
            if key.startswith(OtelGenAISpans.PARAMETERS) and value is not None
        }
        return exchange

    @staticmethod
    def _gather_attributes(view: SpanView) -> Attributes:
        """The attributes of an exchange from the span and its events: each may stand in an event of its own (Strands)."""
        sources = [view.attributes, *map(OtelGenAISpans._attributes, view.events)]
        return {
            key: next((source[key] for source in sources if source.get(key)), None) for key in OtelGenAISpans.EXCHANGE
        }

    @staticmethod
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

    @staticmethod
    def _from_events(events: list[Attributes]) -> tuple[list[Message], list[Message]]:
        asked: list[Message] = []
        answered: list[Message] = []
        for event in events:
            name = str(event.get("name"))
            if name in OtelGenAISpans.MESSAGE_EVENTS:
                asked += OtelGenAISpans.event_messages(name, OtelGenAISpans._attributes(event))
            # With n > 1 each choice is an event; the first is what the app used.
            elif name == OtelGenAISpans.CHOICE and not answered:
                answered += OtelGenAISpans.event_messages(name, OtelGenAISpans._attributes(event))
        return asked, answered

    @staticmethod
    def _from_content_events(events: list[Attributes], exchange: Exchange) -> None:
        """`gen_ai.content.prompt` and `gen_ai.content.completion`: JSON or a text under one attribute."""
        for event in events:
            fields = OtelGenAISpans._attributes(event)
            if not exchange.input and (prompt := fields.get("gen_ai.prompt")) is not None:
                exchange.input = messages_in(prompt, "input") or OtelGenAISpans._texts(prompt, "user")
            if not exchange.output and (completion := fields.get("gen_ai.completion")) is not None:
                exchange.output = messages_in(completion, "output") or OtelGenAISpans._texts(completion, "assistant")

    @staticmethod
    def _texts(value: Any, role: str) -> list[Message]:
        value = decode_json(value)
        texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        return [{"role": role, "content": text} for text in texts if isinstance(text, str) and text]

    @staticmethod
    def _attributes(event: Attributes) -> Attributes:
        inner = event.get("attributes")
        return inner if isinstance(inner, dict) else {}

    @staticmethod
    def event_messages(name: str, attributes: Attributes) -> list[Message]:
        """The messages an event carries: its body's fields, or its attributes. Only the first choice is the answer."""
        fields: Attributes = {key: OtelGenAISpans._field(key, value) for key, value in attributes.items()}
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
        own = {
            key.removeprefix("gen_ai."): value for key, value in own.items() if key not in ("gen_ai.system", "index")
        }
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

    @staticmethod
    def _field(key: str, value: Any) -> Any:
        """Attributes of events are texts; calls and messages in them are JSON. Content is decoded where parts are read."""
        return decode_json(value) if key in ("tool_calls", "message", "gen_ai.event.content", "body") else value


class OpenInferenceSpans:
    """OpenInference: flattened messages, and `input.value` / `output.value` with whatever the framework passed around."""

    # What a client writes beside the parameters: the rest of the request, and of a whole response.
    NO_PARAMETERS = frozenset(
        (
            *("tools", "functions", "messages", "input", "instructions", "output", "usage", "id", "object"),
            *("created_at", "status", "error", "metadata", "base_url", "incomplete_details"),
        )
    )

    @staticmethod
    def read(view: SpanView) -> Exchange:
        attributes = view.attributes
        exchange = Exchange(
            messages_in(
                fill_last_message(unflatten(attributes, "llm.input_messages"), ("user",), view.span.input), "input"
            ),
            messages_in(
                fill_last_message(unflatten(attributes, "llm.output_messages"), ("assistant",), view.span.output),
                "output",
            ),
        )
        for side, key in (("input", "input.value"), ("output", "output.value")):
            if key in attributes and not getattr(exchange, side):
                setattr(exchange, side, messages_in(attributes[key], side))  # type: ignore[arg-type]
        if attributes.get("openinference.span.kind") == "LLM":
            exchange.input = OpenInferenceSpans._restore_calls(exchange.input, attributes.get("input.value"))
            exchange.output = OpenInferenceSpans._complete_reply(exchange.output, attributes.get("output.value"))
        if not exchange.input:
            # Completion models have prompts and no messages: `llm.prompts.0.prompt.text`.
            prompts = [
                item.get("prompt.text", item.get("prompt"))
                for item in OpenInferenceSpans._list_objects(attributes, "llm.prompts")
            ]
            texts = [prompt.get("text") if isinstance(prompt, dict) else prompt for prompt in prompts]
            exchange.input = [text_message(text, "input") for text in texts if isinstance(text, str)]
        if not exchange.output:
            choices = [
                item.get("completion", item) for item in OpenInferenceSpans._list_objects(attributes, "llm.choices")
            ]
            texts = [choice.get("text") for choice in choices if isinstance(choice, dict)]
            exchange.output = [text_message(text, "output") for text in texts[:1] if isinstance(text, str)]
        exchange.tools, exchange.parameters = (
            OpenInferenceSpans._tools(attributes),
            OpenInferenceSpans._parameters(attributes),
        )
        return exchange

    @staticmethod
    def _restore_calls(listed: list[Message], value: Any) -> list[Message]:
        """The messages of the request itself where the flattened ones say the same, but for calls or ids left out of them."""
        blank = any(not text_of(one) and not one.get("tool_calls") for one in listed)
        if not blank and all(one.get("tool_call_id") for one in listed if one["role"] == "tool"):
            return listed
        whole = messages_in(value, "input")
        same = OpenInferenceSpans._texts(whole) == OpenInferenceSpans._texts(listed)
        return whole if len(whole) >= len(listed) and same else listed

    @staticmethod
    def _texts(messages: list[Message]) -> list[tuple[str, str]]:
        return [(one["role"], text_of(one)) for one in messages if text_of(one)]

    @staticmethod
    def _complete_reply(output: list[Message], value: Any) -> list[Message]:
        """The messages of the reply itself where they end with the flattened ones: calls that the client made in between."""
        if not output or not isinstance(value, str) or output[-1]["role"] != "assistant":
            return output
        whole = messages_in(value, "output")
        held = [message["role"] for message in whole]
        if "tool" not in held or len(whole) <= len(output) or text_of(whole[-1]) != text_of(output[-1]):
            return output
        return whole

    @staticmethod
    def _list_objects(attributes: Attributes, prefix: str) -> list[Attributes]:
        return [item for item in unflatten(attributes, prefix) if isinstance(item, dict)]

    @staticmethod
    def _tools(attributes: Attributes) -> list[dict[str, Any]]:
        for source in (unflatten(attributes, "llm.tools"), attributes.get("llm.invocation_parameters")):
            if tools := tools_in(source):
                return tools
        # Without OpenInference's kind `input.value` is anybody's, and a field `tools` in it may mean anything.
        return tools_in(attributes.get("input.value")) if "openinference.span.kind" in attributes else []

    @staticmethod
    def _parameters(attributes: Attributes) -> dict[str, Any]:
        parameters = decode_object(attributes.get("llm.invocation_parameters"))
        known = {key: value for key, value in parameters.items() if key not in OpenInferenceSpans.NO_PARAMETERS}
        for key, name in (
            ("template", "prompt_template"),
            ("variables", "prompt_variables"),
            ("version", "prompt_version"),
        ):
            if (value := attributes.get(f"llm.prompt_template.{key}")) is not None:
                known[name] = value
        for key, name in (("id", "prompt_id"), ("name", "prompt_name"), ("version", "prompt_version")):
            if (value := attributes.get(f"prompt.{key}")) is not None:
                known[name] = value
        return known


class PydanticAISpans:
    """Pydantic AI and Logfire: the whole run's messages on the agent's span, events on a model's, a request as JSON."""

    ALL = ("pydantic_ai.all_messages", "all_messages_events", "all_messages")

    @staticmethod
    def read(view: SpanView) -> Exchange:
        attributes = view.attributes
        exchange = Exchange()
        for key in (*PydanticAISpans.ALL, "events"):
            items = decode_list(attributes.get(key))
            if items and not exchange:
                exchange.input = messages_in(items, "input")
        for key, side in (("request_data", "input"), ("response_data", "output")):
            if attributes.get(key) and not getattr(exchange, side):
                setattr(exchange, side, messages_in(attributes[key], side))  # type: ignore[arg-type]
        instructions = attributes.get("gen_ai.system_instructions")
        if instructions and exchange.input and exchange.input[0]["role"] not in INSTRUCTING:
            exchange.input = messages_in({"system": instructions, "messages": []}, "input") + exchange.input
        exchange.tools = tools_in(attributes.get("model_request_parameters")) or tools_in(
            attributes.get("request_data")
        )
        return exchange


class VercelAISpans:
    """The Vercel AI SDK: the prompt as JSON, the answer in pieces (text, calls, object, reasoning)."""

    SETTINGS = "ai.settings."
    CONTEXT = "ai.settings.context."  # what the app passes along, no setting of the model

    @staticmethod
    def read(view: SpanView) -> Exchange:
        attributes = view.attributes
        asked = messages_in(attributes.get("ai.prompt.messages"), "input") or messages_in(
            attributes.get("ai.prompt"), "input"
        )
        if not asked and isinstance(prompt := attributes.get("ai.prompt"), str) and prompt[:1] not in ("{", "["):
            asked = [text_message(prompt, "input")]
        exchange = Exchange(asked, VercelAISpans._reply(attributes))
        exchange.tools = tools_in(attributes.get("ai.prompt.tools"))
        exchange.parameters = {
            key.removeprefix(VercelAISpans.SETTINGS): value
            for key, value in attributes.items()
            if key.startswith(VercelAISpans.SETTINGS) and not key.startswith(VercelAISpans.CONTEXT)
        }
        return exchange

    @staticmethod
    def _reply(attributes: Attributes) -> list[Message]:
        pieces = []
        if reasoning := attributes.get("ai.response.reasoning"):
            pieces.append(Piece("reasoning", str(reasoning)))
        text = attributes.get("ai.response.text") or attributes.get("ai.response.object")
        if isinstance(text, str) and text:
            pieces.append(text_piece(text))
        pieces += [Piece("call", call) for call in calls_in(attributes.get("ai.response.toolCalls"))]
        ended = attributes.get("ai.response.finishReason")
        return messages_of_pieces("assistant", pieces, {"finish_reason": ended} if ended else None)


class LangfuseSpans:
    """Langfuse: an observation's input and output are whatever was passed, most often messages of a provider."""

    @staticmethod
    def read(view: SpanView) -> Exchange:
        attributes = view.attributes
        exchange = Exchange()
        for level in ("observation", "trace"):
            asked, answered = (attributes.get(f"langfuse.{level}.{side}") for side in ("input", "output"))
            exchange.input = exchange.input or messages_in(asked, "input")
            exchange.output = exchange.output or messages_in(answered, "output")
            exchange.tools = exchange.tools or tools_in(asked)
        exchange.parameters = decode_object(attributes.get("langfuse.observation.model.parameters"))
        for key in ("name", "version"):
            if (value := attributes.get(f"langfuse.observation.prompt.{key}")) is not None:
                exchange.parameters[f"prompt_{key}"] = value
        return exchange


class TraceloopSpans:
    """OpenLLMetry: `gen_ai.prompt.0.content`, `llm.request.functions.0.name`, and entities' input and output as JSON."""

    @staticmethod
    def read(view: SpanView) -> Exchange:
        attributes = view.attributes
        exchange = Exchange()
        for side, prefix, entity in (
            ("input", "gen_ai.prompt", "traceloop.entity.input"),
            ("output", "gen_ai.completion", "traceloop.entity.output"),
        ):
            items = [
                {"role": "user" if side == "input" else "assistant", **item}
                for item in unflatten(attributes, prefix)
                if isinstance(item, dict)
            ]
            # Several completions are alternatives, not turns.
            if side == "output":
                items = items[:1]
            messages = messages_in(items, side)  # type: ignore[arg-type]
            for key in (prefix, entity):
                messages = messages or messages_in(attributes.get(key), side)  # type: ignore[arg-type]
            if not messages and isinstance(text := attributes.get(prefix), str) and text:
                messages = [text_message(text, side)]  # type: ignore[arg-type]
            setattr(exchange, side, messages)
        exchange.tools = tools_in(unflatten(attributes, "llm.request.functions"))
        exchange.tools = exchange.tools or tools_in(attributes.get("traceloop.entity.input"))
        for key, name in (("key", "prompt_name"), ("version", "prompt_version")):
            if (value := attributes.get(f"traceloop.prompt.{key}")) is not None:
                exchange.parameters[name] = value
        return exchange


class MLflowSpans:
    """MLflow: inputs and outputs of the traced call, and the messages and tools of a chat beside them."""

    @staticmethod
    def read(view: SpanView) -> Exchange:
        attributes = view.attributes
        asked = attributes.get("mlflow.spanInputs")
        exchange = Exchange(messages_in(asked, "input"), messages_in(attributes.get("mlflow.spanOutputs"), "output"))
        if not exchange:
            exchange.input = messages_in(attributes.get("mlflow.chat.messages"), "input")
        exchange.tools = tools_in(attributes.get("mlflow.chat.tools")) or tools_in(asked)
        return exchange


class NativeSpans:
    """Evergold's own lines: `messages` and `tools` in the metadata of a span, or JSON as its input and output."""

    @staticmethod
    def read(view: SpanView) -> Exchange:
        span = view.span
        exchange = Exchange(messages_in(span.metadata.get("messages"), "input"))
        if not exchange.input and span.input and span.input.lstrip()[:1] in ("{", "["):
            exchange.input = messages_in(span.input, "input")
        if span.output and span.output.lstrip()[:1] in ("{", "[") and not span.metadata.get("messages"):
            exchange.output = messages_in(span.output, "output")
        exchange.tools = tools_in(span.metadata.get("tools"))
        parameters = span.metadata.get("parameters")
        exchange.parameters = parameters if isinstance(parameters, dict) else {}
        return exchange


class GenericSpans:
    """Attributes that hold a request and a reply as they are: ADK, Genkit, Haystack, Prompt flow, and names anybody uses."""

    ASKED = (
        *("gcp.vertex.agent.llm_request", "genkit:input", "haystack.component.input", "llm.request", "gen_ai.request"),
        *("mastra.input", "input", "inputs", "request", "messages", "llm.prompts", "crewai.input", "agent.input"),
        "prompt",
    )
    ANSWERED = (
        *("gcp.vertex.agent.llm_response", "genkit:output", "haystack.component.output", "llm.response"),
        *("gen_ai.response", "mastra.output", "output", "outputs", "response", "result", "llm.completions"),
        *("crewai.output", "agent.output"),
    )

    @staticmethod
    def read(view: SpanView) -> Exchange:
        exchange = Exchange()
        for key in GenericSpans.ASKED:
            value = view.attributes.get(key)
            if value and not exchange.input:
                exchange.input = messages_in(value, "input")
                exchange.tools = tools_in(value)
                # ADK and Genkit send the settings of the model inside the request; objects in there are tools and schemas.
                config = decode_object(decode_object(value).get("config"))
                simple = (str, int, float, bool)
                exchange.parameters = {key: item for key, item in config.items() if isinstance(item, simple)}
        for key in GenericSpans.ANSWERED:
            if (value := view.attributes.get(key)) and not exchange.output:
                exchange.output = messages_in(value, "output")
        return exchange


# Order matters: the first reader that finds messages decides, and `GenericSpans` matches nearly anything.
READERS = (
    OtelGenAISpans.read,
    OpenInferenceSpans.read,
    PydanticAISpans.read,
    VercelAISpans.read,
    LangfuseSpans.read,
    TraceloopSpans.read,
    MLflowSpans.read,
    NativeSpans.read,
    GenericSpans.read,
)


def exchange_of(span: Span) -> Exchange:
    """What a span says, side by side from the first convention that says it; parameters from all of them."""
    view = SpanView.of(span)
    whole = Exchange()
    for read in READERS:
        exchange = read(view)
        if not whole.input and not whole.output:
            whole.input, whole.output = exchange.input, exchange.output
        # One convention may hold the question and another the answer, as with instrumentation on two levels.
        elif not whole.output and exchange.output and not _ends_with_answer(whole):
            whole.output = exchange.output
        elif not whole.input:
            whole.input = exchange.input
        whole.tools = whole.tools or exchange.tools
        whole.parameters = exchange.parameters | whole.parameters
    return whole


def _ends_with_answer(exchange: Exchange) -> bool:
    """Whether the messages of the input end with an answer, as those of a whole run do."""
    return bool(exchange.input) and exchange.input[-1]["role"] == "assistant"
