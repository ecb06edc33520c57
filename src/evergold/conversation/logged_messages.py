"""Messages that were logged beside a model call: the exchange of a span from the log records that belong to it.

OpenTelemetry's gen_ai may send messages as log records: one for each message (`gen_ai.user.message`, `gen_ai.choice`), or one
for the whole call (`gen_ai.client.inference.operation.details`). Intake stores each as a step of kind `event` below its span.
"""

from collections.abc import Callable, Sequence
from itertools import groupby

from evergold.conversation.conventions import exchange_of
from evergold.conversation.conventions.otel_genai import CHOICE, MESSAGE_EVENTS, event_messages
from evergold.conversation.exchange import Exchange, SpanView
from evergold.model.trace import Span

OWN = "evergold."  # attributes that intake adds


class LoggedMessages:
    """The exchanges of a trace's spans, each read once, with what was logged beside them."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._read: dict[str, Exchange] = {}
        self._spans = {span.id: span for span in spans}
        self._requests: dict[str, list[Span]] = {}
        events = sorted((span for span in spans if span.kind == "event"), key=lambda span: span.parent_id or span.id)
        for parent, group in groupby(events, key=lambda span: span.parent_id or span.id):
            for request in _requests(list(group)):
                self._requests |= dict.fromkeys((span.id for span in request), request)
                # Of several requests logged beside one span the last holds the conversation so far.
                self._requests[parent] = [*_details(self._requests.get(parent, ())), *request]

    def exchange(self, span: Span) -> Exchange:
        """What a span says, filled up from the log records of the same request."""
        if span.id not in self._read:
            self._read[span.id] = _filled(exchange_of(span), self._requests.get(span.id, ()))
        return self._read[span.id]

    def speaker(self, span: Span) -> Span:
        """The model call that a log record belongs to; any other span is its own."""
        above = self._spans.get(span.parent_id or "") if span.kind == "event" else None
        return above if above is not None and above.kind == "llm" else span


Reader = Callable[[Span], Exchange]


def _requests(events: list[Span]) -> list[list[Span]]:
    """Events of one span, a list for each request: its choices end it. A record of a whole call stands alone."""
    requests: list[list[Span]] = []
    answered = True
    for span in events:
        message = span.name in MESSAGE_EVENTS or span.name == CHOICE
        if not message or (answered and span.name != CHOICE) or not requests:
            requests.append([])
        requests[-1].append(span)
        answered = not message or span.name == CHOICE
    return requests


def _details(events: Sequence[Span]) -> list[Span]:
    return [span for span in events if span.name not in MESSAGE_EVENTS and span.name != CHOICE]


def _filled(exchange: Exchange, events: Sequence[Span]) -> Exchange:
    """An exchange with what its events say and it does not; messages of its own stand."""
    own = exchange if exchange.input and exchange.output else Exchange()
    asked = [one for span in events if span.name in MESSAGE_EVENTS for one in _messages(span)]
    # With n > 1 each choice is an event; the first is what the app used.
    answered = next((made for span in events if span.name == CHOICE if (made := _messages(span))), [])
    own = own or Exchange(asked, answered)
    for span in _details(events):
        logged = exchange_of(span)
        own = own or logged
        exchange.tools = exchange.tools or logged.tools
        exchange.parameters = logged.parameters | exchange.parameters
    if own is not exchange and own:
        exchange.input, exchange.output = own.input or exchange.input, own.output or exchange.output
    return exchange


def _messages(span: Span) -> list[dict[str, object]]:
    attributes = SpanView.of(span).attributes
    added = ("input.value", "input.mime_type", "output.value", "output.mime_type")
    fields = {key: value for key, value in attributes.items() if not key.startswith(OWN) and key not in added}
    return event_messages(span.name, fields)
