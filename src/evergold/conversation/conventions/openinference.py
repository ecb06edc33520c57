"""OpenInference: flattened messages, and `input.value` / `output.value` with whatever the framework passed around."""

from typing import Any

from evergold.conversation.exchange import Attributes, Exchange, SpanView
from evergold.conversation.flattened import filled, unflattened
from evergold.conversation.nested_json import decoded_object
from evergold.conversation.reading import messages_in, text_message
from evergold.conversation.shape import Message, text_of
from evergold.conversation.tools import tools_in

# What a client writes beside the parameters: the rest of the request, and of a whole response.
NO_PARAMETERS = frozenset(
    (
        *("tools", "functions", "messages", "input", "instructions", "output", "usage", "id", "object", "created_at"),
        *("status", "error", "metadata", "base_url", "incomplete_details"),
    )
)


def read(view: SpanView) -> Exchange:
    attributes = view.attributes
    exchange = Exchange(
        messages_in(filled(unflattened(attributes, "llm.input_messages"), ("user",), view.span.input), "input"),
        messages_in(filled(unflattened(attributes, "llm.output_messages"), ("assistant",), view.span.output), "output"),
    )
    for side, key in (("input", "input.value"), ("output", "output.value")):
        if key in attributes and not getattr(exchange, side):
            setattr(exchange, side, messages_in(attributes[key], side))  # type: ignore[arg-type]
    if attributes.get("openinference.span.kind") == "LLM":
        exchange.input = _restored(exchange.input, attributes.get("input.value"))
        exchange.output = _fuller(exchange.output, attributes.get("output.value"))
    if not exchange.input:
        # Completion models have prompts and no messages: `llm.prompts.0.prompt.text`.
        prompts = [item.get("prompt.text", item.get("prompt")) for item in _listed(attributes, "llm.prompts")]
        texts = [prompt.get("text") if isinstance(prompt, dict) else prompt for prompt in prompts]
        exchange.input = [text_message(text, "input") for text in texts if isinstance(text, str)]
    if not exchange.output:
        choices = [item.get("completion", item) for item in _listed(attributes, "llm.choices")]
        texts = [choice.get("text") for choice in choices if isinstance(choice, dict)]
        exchange.output = [text_message(text, "output") for text in texts[:1] if isinstance(text, str)]
    exchange.tools, exchange.parameters = _tools(attributes), _parameters(attributes)
    return exchange


def _restored(listed: list[Message], value: Any) -> list[Message]:
    """The messages of the request itself where the flattened ones say the same, but for calls or ids left out of them."""
    blank = any(not text_of(one) and not one.get("tool_calls") for one in listed)
    if not blank and all(one.get("tool_call_id") for one in listed if one["role"] == "tool"):
        return listed
    whole = messages_in(value, "input")
    return whole if len(whole) >= len(listed) and _texts(whole) == _texts(listed) else listed


def _texts(messages: list[Message]) -> list[tuple[str, str]]:
    return [(one["role"], text_of(one)) for one in messages if text_of(one)]


def _fuller(output: list[Message], value: Any) -> list[Message]:
    """The messages of the reply itself where they end with the flattened ones: calls that the client made in between."""
    if not output or not isinstance(value, str) or output[-1]["role"] != "assistant":
        return output
    whole = messages_in(value, "output")
    held = [message["role"] for message in whole]
    if "tool" not in held or len(whole) <= len(output) or text_of(whole[-1]) != text_of(output[-1]):
        return output
    return whole


def _listed(attributes: Attributes, prefix: str) -> list[Attributes]:
    return [item for item in unflattened(attributes, prefix) if isinstance(item, dict)]


def _tools(attributes: Attributes) -> list[dict[str, Any]]:
    for source in (unflattened(attributes, "llm.tools"), attributes.get("llm.invocation_parameters")):
        if tools := tools_in(source):
            return tools
    # Without OpenInference's kind `input.value` is anybody's, and a field `tools` in it may mean anything.
    return tools_in(attributes.get("input.value")) if "openinference.span.kind" in attributes else []


def _parameters(attributes: Attributes) -> dict[str, Any]:
    parameters = decoded_object(attributes.get("llm.invocation_parameters"))
    known = {key: value for key, value in parameters.items() if key not in NO_PARAMETERS}
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
