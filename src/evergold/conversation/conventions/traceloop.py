"""OpenLLMetry: `gen_ai.prompt.0.content`, `llm.request.functions.0.name`, and entities' input and output as JSON."""

from evergold.conversation.exchange import Exchange, SpanView
from evergold.conversation.flattened import unflattened
from evergold.conversation.reading import messages_in, text_message
from evergold.conversation.tools import tools_in


def read(view: SpanView) -> Exchange:
    attributes = view.attributes
    exchange = Exchange()
    for side, prefix, entity in (
        ("input", "gen_ai.prompt", "traceloop.entity.input"),
        ("output", "gen_ai.completion", "traceloop.entity.output"),
    ):
        items = [
            {"role": "user" if side == "input" else "assistant", **item}
            for item in unflattened(attributes, prefix)
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
    exchange.tools = tools_in(unflattened(attributes, "llm.request.functions"))
    exchange.tools = exchange.tools or tools_in(attributes.get("traceloop.entity.input"))
    for key, name in (("key", "prompt_name"), ("version", "prompt_version")):
        if (value := attributes.get(f"traceloop.prompt.{key}")) is not None:
            exchange.parameters[name] = value
    return exchange
