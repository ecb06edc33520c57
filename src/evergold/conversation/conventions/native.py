"""Evergold's own lines: `messages` and `tools` in the metadata of a span, or JSON as its input and output."""

from evergold.conversation.exchange import Exchange, SpanView
from evergold.conversation.reading import messages_in
from evergold.conversation.tools import tools_in


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
