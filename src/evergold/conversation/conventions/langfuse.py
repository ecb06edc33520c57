"""Langfuse: an observation's input and output are whatever was passed, most often messages of a provider."""

from evergold.conversation.exchange import Exchange, SpanView
from evergold.conversation.nested_json import decoded_object
from evergold.conversation.reading import messages_in
from evergold.conversation.tools import tools_in


def read(view: SpanView) -> Exchange:
    attributes = view.attributes
    exchange = Exchange()
    for level in ("observation", "trace"):
        asked, answered = (attributes.get(f"langfuse.{level}.{side}") for side in ("input", "output"))
        exchange.input = exchange.input or messages_in(asked, "input")
        exchange.output = exchange.output or messages_in(answered, "output")
        exchange.tools = exchange.tools or tools_in(asked)
    exchange.parameters = decoded_object(attributes.get("langfuse.observation.model.parameters"))
    for key in ("name", "version"):
        if (value := attributes.get(f"langfuse.observation.prompt.{key}")) is not None:
            exchange.parameters[f"prompt_{key}"] = value
    return exchange
