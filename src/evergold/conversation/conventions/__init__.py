"""Conventions of spans: where each holds messages, tools and parameters. One file each, the most exact first."""

from evergold.conversation.conventions import (
    generic,
    langfuse,
    mlflow,
    native,
    openinference,
    otel_genai,
    pydantic_ai,
    traceloop,
    vercel_ai,
)
from evergold.conversation.exchange import Exchange, SpanView
from evergold.model.trace import Span

# Order matters: the first reader that finds messages decides, and `generic` matches nearly anything.
READERS = (
    otel_genai.read,
    openinference.read,
    pydantic_ai.read,
    vercel_ai.read,
    langfuse.read,
    traceloop.read,
    mlflow.read,
    native.read,
    generic.read,
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
        elif not whole.output and exchange.output and not _answers(whole):
            whole.output = exchange.output
        elif not whole.input:
            whole.input = exchange.input
        whole.tools = whole.tools or exchange.tools
        whole.parameters = exchange.parameters | whole.parameters
    return whole


def _answers(exchange: Exchange) -> bool:
    """Whether the messages of the input end with an answer, as those of a whole run do."""
    return bool(exchange.input) and exchange.input[-1]["role"] == "assistant"
