"""Choose the exchange that holds the conversation of a trace: the model call that gave its answer, else its root.

OpenTelemetry's gen_ai may send messages as log records: one for each message (`gen_ai.user.message`, `gen_ai.choice`), or one
for the whole call (`gen_ai.client.inference.operation.details`). Intake stores each as a step of kind `event` below its span;
`LoggedMessages` reads them with the span.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import Any

from evergold.conversation.conventions import MESSAGE_EVENTS, Exchange, event_messages, exchange_of
from evergold.conversation.message import CHOICE, INSTRUCTING, Message, decode_json, prints, text_of
from evergold.conversation.pairs import holds_question, ids_of_lost_calls, restore_calls
from evergold.conversation.reader import ANSWER_KEYS, messages_in
from evergold.conversation.tools import attributes_of, tools_in
from evergold.model.trace import Span, Trace

OWN = "evergold."  # attributes that intake adds
CALLERS = ("llm", "event")

ExchangeReader = Callable[[Span], Exchange]


class LoggedMessages:
    """The exchanges of a trace's spans, each read once, with what was logged beside them."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._read: dict[str, Exchange] = {}
        self._spans = {span.id: span for span in spans}
        self._requests: dict[str, list[Span]] = {}
        events = sorted((span for span in spans if span.kind == "event"), key=lambda span: span.parent_id or span.id)
        for parent, group in groupby(events, key=lambda span: span.parent_id or span.id):
            for request in _split_requests(list(group)):
                self._requests |= dict.fromkeys((span.id for span in request), request)
                # Of several requests logged beside one span the last holds the conversation so far.
                self._requests[parent] = [*_detail_events(self._requests.get(parent, ())), *request]

    def exchange(self, span: Span) -> Exchange:
        """What a span says, filled up from the log records of the same request."""
        if span.id not in self._read:
            self._read[span.id] = _fill_from_events(exchange_of(span), self._requests.get(span.id, ()))
        return self._read[span.id]

    def speaker(self, span: Span) -> Span:
        """The model call that a log record belongs to; any other span is its own."""
        above = self._spans.get(span.parent_id or "") if span.kind == "event" else None
        return above if above is not None and above.kind == "llm" else span


def _split_requests(events: list[Span]) -> list[list[Span]]:
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


def _detail_events(events: Sequence[Span]) -> list[Span]:
    return [span for span in events if span.name not in MESSAGE_EVENTS and span.name != CHOICE]


def _fill_from_events(exchange: Exchange, events: Sequence[Span]) -> Exchange:
    """An exchange with what its events say and it does not; messages of its own stand."""
    own = exchange if exchange.input and exchange.output else Exchange()
    asked = [one for span in events if span.name in MESSAGE_EVENTS for one in _messages_of_event(span)]
    # With n > 1 each choice is an event; the first is what the app used.
    answered = next((made for span in events if span.name == CHOICE if (made := _messages_of_event(span))), [])
    own = own or Exchange(asked, answered)
    for span in _detail_events(events):
        logged = exchange_of(span)
        own = own or logged
        exchange.tools = exchange.tools or logged.tools
        exchange.parameters = logged.parameters | exchange.parameters
    if own is not exchange and own:
        exchange.input, exchange.output = own.input or exchange.input, own.output or exchange.output
    return exchange


def _messages_of_event(span: Span) -> list[dict[str, object]]:
    added = ("input.value", "input.mime_type", "output.value", "output.mime_type")
    fields = {key: value for key, value in attributes_of(span).items() if not key.startswith(OWN) and key not in added}
    return event_messages(span.name, fields)


def choose_exchange(trace: Trace, spans: Sequence[Span]) -> tuple[Exchange | None, Span | None]:
    """The exchange that holds the trace's conversation, and the span that says it."""
    if given := messages_in(trace.metadata.get("messages"), "input"):
        return Exchange(given, tools=tools_in(trace.metadata.get("tools"))), None
    logged = LoggedMessages(spans)
    exchange = logged.exchange
    answer = (trace.output or "").strip()
    # The last call to end comes first: of two with the same output, the later one had the whole conversation.
    calls = sorted((span for span in spans if span.kind in CALLERS), key=_end_of, reverse=True)
    chosen = _find_answering(calls, answer, exchange)
    root = next((span for span in spans if span.parent_id is None), None)
    # Without an answer the last call holds what was asked, and the turns before it.
    if (
        chosen is None
        and not answer
        and root is not None
        and calls
        and _longer_conversation(exchange(calls[0]), exchange(root))
    ):
        return exchange(calls[0]), calls[0]
    # No call's output is the answer (an agent put it together): the root knows what was asked of the whole.
    if chosen is None and root is not None and root.kind not in CALLERS and exchange(root).input:
        return exchange(root), root
    if chosen is None:
        others = [span for span in spans if span.kind not in (*CALLERS, "tool", "retriever", "embedding")]
        chosen = (
            _find_answering(others, answer, exchange) if answer else calls[0] if calls and exchange(calls[0]) else None
        )
    if chosen is None:
        return exchange_of_text(trace), None
    chosen = _find_innermost(logged.speaker(chosen), calls, exchange)
    continued = _prepend_earlier(exchange(chosen), chosen, calls, exchange)
    continued = _undo_relay(continued, chosen, calls, exchange)
    if root is not None and root is not chosen and (longer := _longer_conversation(exchange(root), continued)):
        longer.tools, longer.parameters = continued.tools, continued.parameters
        return longer, chosen
    return continued, chosen


def exchange_of_text(trace: Trace) -> Exchange | None:
    """The messages that a trace without spans wrote as its input."""
    if trace.input.lstrip()[:1] not in ("{", "["):
        return None
    own_exchange = Exchange(messages_in(trace.input, "input"))
    if trace.output and trace.output.lstrip()[:1] in ("{", "["):
        own_exchange.output = messages_in(trace.output, "output")
    own_exchange.tools = tools_in(trace.input)
    return own_exchange if own_exchange.input else None


def _end_of(span: Span) -> tuple[str, str]:
    moment = span.ended_at or span.started_at
    return (moment.isoformat() if moment else "", span.id)


def _find_answering(spans: Sequence[Span], answer: str, exchange: ExchangeReader) -> Span | None:
    """The latest span whose output is the answer: to the letter, else as JSON, as the greater part of it or inside it.

    One that holds the question, too, comes before all others: a wrapper around a call repeats its answer without its messages.
    """
    if not answer:
        return None
    given = decode_json(answer)
    to_the_letter = (span for span in spans if (span.output or "").strip() == answer and exchange(span))
    in_other_words = (span for span in spans if _is_answer(exchange(span), span, answer))
    inside = (span for span in spans if _is_printed(exchange(span), answer) or _is_stated(exchange(span), given))
    first = None
    for span in chain(to_the_letter, in_other_words, inside):
        first = first or span
        held = exchange(span)
        if held.input or any(message["role"] == "user" for message in held.output):
            return span
    return first


def _find_innermost(chosen: Span, calls: Sequence[Span], exchange: ExchangeReader) -> Span:
    """The call inside a call that gave the same answer and holds more messages: a template was filled in between."""
    answer = _reply_text(chosen, exchange)
    for span in calls:
        inside = span.parent_id == chosen.id and span is not chosen and _reply_text(span, exchange) == answer
        if answer and inside and len(exchange(span).input) > len(exchange(chosen).input):
            return _find_innermost(span, [call for call in calls if call is not chosen], exchange)
    return chosen


def _reply_text(span: Span, exchange: ExchangeReader) -> str:
    output = exchange(span).output
    return (text_of(output[-1]) if output else span.output or "").strip()


def _is_stated(exchange: Exchange, given: Any) -> bool:
    """Whether the answer is an object that states the text: under a key for answers, else as the greater part of its texts."""
    last = exchange.output[-1:]
    if not isinstance(given, dict) or not last or last[0]["role"] != "assistant":
        return False
    text = text_of(last[0]).strip()
    texts = {key: value.strip() for key, value in given.items() if isinstance(value, str) and value.strip()}
    if not text or text not in texts.values():
        return False
    stated = next((texts[key] for key in ANSWER_KEYS if key in texts), None)
    return text == stated or (stated is None and 2 * len(text) >= sum(map(len, texts.values())))


def _is_printed(exchange: Exchange, answer: str) -> bool:
    last = exchange.output[-1:]
    return bool(last) and last[0]["role"] == "assistant" and prints(answer, text_of(last[0]))


def _is_answer(exchange: Exchange, span: Span, answer: str) -> bool:
    if not exchange.input and not exchange.output:
        return False
    last = (exchange.output or exchange.input)[-1]
    if last["role"] != "assistant":
        return False
    given = decode_json(answer)
    for call in last.get("tool_calls", ()):
        arguments = decode_json(call["function"]["arguments"])
        # Structured output: the answer of the trace is the arguments of the call that a library forces the model to
        # make.
        if isinstance(given, dict | list) and given and (arguments == given or _holds(arguments, given)):
            return True
        if _holds(arguments, answer):  # an agent that answers by a tool of its own, such as `final_answer`
            return True
    calls = [
        {"name": call["function"]["name"], "arguments": decode_json(call["function"]["arguments"])}
        for call in last.get("tool_calls", ())
    ]
    if calls and given == calls:
        return True
    text = text_of(last).strip() or (span.output or "").strip()
    if not text:
        return False
    if isinstance(given, dict | list) and decode_json(text) == given:
        return True
    # Frameworks trim answers or add to them; half of it in common is still the same answer, a title is not.
    shorter, longer = sorted((text, answer), key=len)
    return shorter in longer and 2 * len(shorter) >= len(longer)


def _holds(arguments: Any, given: Any) -> bool:
    return isinstance(arguments, dict) and len(arguments) == 1 and next(iter(arguments.values())) == given


def _prepend_earlier(known: Exchange, span: Span, calls: Sequence[Span], exchange: ExchangeReader) -> Exchange:
    """The exchange with what came before it, where a call sends only what is new, or a history without its calls."""
    before = [call for call in calls if call is not span and _end_of(call) <= _end_of(span)]
    calling: list[Message] = []
    for reply in (reply for call in before for reply in exchange(call).output[-1:] if reply.get("tool_calls")):
        calling += [] if reply in calling else [reply]  # a call and what was logged beside it say the same
    known = replace(known, input=_fill_empty_replies(known.input, calling))
    for call in before:  # latest first
        lacking = ids_of_lost_calls(known.input)
        if not lacking:
            return known
        earlier = exchange(call)
        made = {one["id"] for message in earlier.output for one in message.get("tool_calls", ())}
        if not lacking & made:
            continue
        if holds_question(known.input, earlier.input):
            whole = restore_calls(known.input, earlier.output)
        else:
            # The results answer calls of that earlier request, so its messages come before these.
            stated = [message.get("content") for message in earlier.input if message["role"] in INSTRUCTING]
            own = [m for m in known.input if m["role"] not in INSTRUCTING or m.get("content") not in stated]
            whole = join_sides(earlier) + own
        known = Exchange(whole, known.output, known.tools or earlier.tools, earlier.parameters | known.parameters)
    return known


def _fill_empty_replies(messages: list[Message], made: Sequence[Message]) -> list[Message]:
    """The history with the calls of earlier replies (`made`, latest first) in place of the empty replies before results."""
    filled = list(messages)
    left = list(made)
    for number in range(len(messages) - 1, -1, -1):
        message = messages[number]
        results = next((n for n, one in enumerate(messages[number + 1 :]) if one["role"] != "tool"), None)
        results = len(messages) - number - 1 if results is None else results
        empty = message["role"] == "assistant" and not message.get("content") and not message.get("tool_calls")
        if empty and results and left and len(left[0]["tool_calls"]) == results:
            filled[number] = left.pop(0)
    return filled


def _undo_relay(known: Exchange, span: Span, calls: Sequence[Span], exchange: ExchangeReader) -> Exchange:
    """The exchange with the calls of earlier agents in place of what a framework tells the next one in the user's name.

    A person's question was sent with the first call of the trace; what stands right behind it, and was not there before the
    tools ran, was said by no person.
    """
    before = [exchange(call) for call in reversed(calls) if call is not span and _end_of(call) <= _end_of(span)]
    first = next((one.input for one in before if one.input and any(m.get("tool_calls") for m in one.output)), [])
    if not first or first[-1] not in known.input or first[-1]["role"] != "user":
        return known
    behind = known.input.index(first[-1]) + 1
    count = next((n for n, message in enumerate(known.input[behind:]) if message["role"] != "user"), None)
    if count == 0 or behind == len(known.input):
        return known
    made: list[Message] = []
    for message in (message for one in before for message in one.output if message.get("tool_calls")):
        made += [message] if message not in made else []
    rest = known.input[behind + count :] if count else []
    return replace(known, input=[*known.input[:behind], *made, *rest])


def _longer_conversation(root: Exchange, call: Exchange) -> Exchange | None:
    """The root's conversation where it holds the call's and more of the user's turns, with the call's instructions."""
    whole, part = join_sides(root), join_sides(call)
    turns = [sum(message["role"] == "user" for message in messages) for messages in (whole, part)]
    if turns[0] <= turns[1]:
        return None
    # `in` on an iterator consumes it, so this asks whether all texts are there in this very order.
    texts = iter([text_of(message).strip() for message in whole if text_of(message)])
    answers = [
        text_of(message).strip() for message in part if message["role"] in ("user", "assistant") and text_of(message)
    ]
    if not all(text in texts for text in answers):
        return None
    if whole[0]["role"] in INSTRUCTING:
        return Exchange(whole)
    return Exchange([message for message in part if message["role"] in INSTRUCTING] + whole)


def join_sides(exchange: Exchange) -> list[Message]:
    """Input and output as one list; an output that repeats the input, as the states of graphs do, counts once."""
    asked, answered = exchange.input, exchange.output
    spoken = [message for message in asked if message["role"] not in INSTRUCTING]
    # Only a state holds messages of the user; a long conversation need not be looked for in a reply.
    if spoken and any(message["role"] == "user" for message in answered):
        # A state may begin with a message of its own (the system prompt), or with the turns before this one.
        for skip in range(len(answered) - len(spoken) + 1):
            pairs = zip(spoken, answered[skip:], strict=False)
            if all(one["role"] == other["role"] and text_of(one) == text_of(other) for one, other in pairs):
                head = [message for message in asked if message["role"] in INSTRUCTING]
                return (head if answered[0]["role"] not in INSTRUCTING else []) + answered
    return asked + answered
