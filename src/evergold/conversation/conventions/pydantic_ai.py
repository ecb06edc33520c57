"""Pydantic AI and Logfire: the whole run's messages on the agent's span, events on a model's, a request as JSON."""

from evergold.conversation.exchange import Exchange, SpanView
from evergold.conversation.nested_json import decoded_list
from evergold.conversation.reading import messages_in
from evergold.conversation.shape import INSTRUCTING
from evergold.conversation.tools import tools_in

ALL = ("pydantic_ai.all_messages", "all_messages_events", "all_messages")


def read(view: SpanView) -> Exchange:
    attributes = view.attributes
    exchange = Exchange()
    for key in (*ALL, "events"):
        items = decoded_list(attributes.get(key))
        if items and not exchange:
            exchange.input = messages_in(items, "input")
    for key, side in (("request_data", "input"), ("response_data", "output")):
        if attributes.get(key) and not getattr(exchange, side):
            setattr(exchange, side, messages_in(attributes[key], side))  # type: ignore[arg-type]
    instructions = attributes.get("gen_ai.system_instructions")
    if instructions and exchange.input and exchange.input[0]["role"] not in INSTRUCTING:
        exchange.input = messages_in({"system": instructions, "messages": []}, "input") + exchange.input
    exchange.tools = tools_in(attributes.get("model_request_parameters")) or tools_in(attributes.get("request_data"))
    return exchange
