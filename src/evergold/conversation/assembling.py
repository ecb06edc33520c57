"""The conversation of a trace: from the model call that gave its answer, else its root, else its session.

A title generator or a guard runs beside the answer and is not it: a model call counts when its output is the trace's.
"""

from collections.abc import Callable, Sequence
from typing import Any

from evergold.conversation.contexts import contexts_of
from evergold.conversation.conventions import exchange_of
from evergold.conversation.dropped_calls import answered_elsewhere, restored
from evergold.conversation.exchange import Exchange
from evergold.conversation.main_exchange import CALLERS, joined, main_exchange, own_text
from evergold.conversation.nested_json import as_json
from evergold.conversation.pairing import is_cut, paired
from evergold.conversation.reading import messages_in
from evergold.conversation.shape import INSTRUCTING, Message, text_of
from evergold.conversation.tool_spans import acted, is_calls, tool_runs, tools_at_work
from evergold.conversation.tools import tools_in
from evergold.model.conversation import Conversation
from evergold.model.nesting import require_storable
from evergold.model.trace import Span, Trace, TraceStatus

FACTS = ("model", "provider")


Earlier = Callable[[Trace], Sequence[Trace]]


def conversation_of(trace: Trace, earlier: Earlier = lambda _: (), called: Earlier = lambda _: ()) -> Conversation:
    """Read the conversation of a trace from its spans.

    `earlier` gives the traces of its session before it, oldest first, and `called` the same with their model calls; each
    is asked for only where the trace does not say it all.
    """
    spans = sorted(trace.spans, key=_when)
    runs = tool_runs(spans)
    exchange, source = main_exchange(trace, spans)
    # Turns of an agent log hold only their own messages; what came before is in the traces of the session.
    if exchange is not None and trace.metadata.get("continues") is True:
        before = [message for one in earlier(trace) for message in _turn_of(one)]
        exchange.input = before + exchange.input
    if exchange is not None:
        failed = source is not None and source.status is TraceStatus.FAILED
        exchange.output = [message for message in exchange.output if not _is_blank(message, failed=failed)]
    if exchange is not None and answered_elsewhere(exchange.input):
        exchange.input = restored(exchange.input, _calls_made(called(trace)))
    if exchange is not None and not _only_answers(exchange):
        whole, problems = paired(_closed(joined(exchange), trace), runs)
    else:
        own = _turn_of(trace)
        # Of a trace that says nothing the last answer of its session is not the answer.
        before = [message for one in earlier(trace) for message in _turn_of(one)] if own else []
        whole, problems = paired(before + own, ())
    messages, turn, after = split(whole, trace.output)
    tools = list(exchange.tools) if exchange else []
    # The model call names its tools best; else the app, else a span above it.
    tools = tools or tools_in(trace.metadata.get("tools")) or _tools_anywhere(spans, source) or tools_at_work(runs)
    if source is not None and any(is_cut(text) for text in (source.input, source.output)):
        problems.append("a text was cut on arrival; raise server.max_text_kb to keep such texts whole")
    # Checked item by item already; what was read is not checked a second time.
    return Conversation.model_construct(
        messages=tuple(map(_storable, messages)),
        turn=tuple(map(_storable, turn)),
        after=tuple(map(_storable, after)),
        tools=tuple(map(_storable, tools)),
        contexts=tuple(contexts_of(spans, trace.metadata)),
        parameters=_storable(_parameters(trace, exchange, source)),
        problems=tuple(dict.fromkeys(problems)),
    )


def _calls_made(traces: Sequence[Trace]) -> list[Message]:
    """The messages of earlier traces that call tools, the latest first."""
    calls = [span for one in traces for span in sorted(one.spans, key=_when) if span.kind in CALLERS]
    return [message for span in reversed(calls) for message in exchange_of(span).output if message.get("tool_calls")]


def _is_blank(message: Message, *, failed: bool) -> bool:
    """Whether a reply has no content at all; an empty text is an answer, unless the call failed."""
    content = message.get("content")
    return not message.get("tool_calls") and not message.get("extra") and (content is None or (failed and not content))


def _only_answers(exchange: Exchange) -> bool:
    """Whether an exchange has an answer alone: the question and the tools at work are then read from the trace around it."""
    return not exchange.input and len(exchange.output) == 1 and not exchange.output[0].get("tool_calls")


def split(whole: Sequence[Message], output: str | None) -> tuple[list[Message], list[Message], list[Message]]:
    """What was to be answered, what the assistant then did, and what came after that.

    Nothing comes after it, unless the messages end with a user's that nobody answered: then the trace's answer is an
    earlier one, and the turn is that answer's.
    """
    end = len(whole)
    # Logs often end with a "thanks" that nobody answered; the answer of the trace then lies before it.
    if whole and whole[-1]["role"] == "user" and output:
        answer = output.strip()
        end = next(
            (
                number + 1
                for number in range(len(whole) - 1, -1, -1)
                if whole[number]["role"] == "assistant" and text_of(whole[number]).strip() == answer
            ),
            end,
        )
    asked = next((number + 1 for number in range(end - 1, -1, -1) if whole[number]["role"] == "user"), None)
    if asked is None:
        # No user at all: everything behind the instructions is the assistant's.
        asked = next((number for number in range(end) if whole[number]["role"] not in INSTRUCTING), end)
    return list(whole[:asked]), list(whole[asked:end]), list(whole[end:])


def _when(span: Span) -> tuple[str, str]:
    return (span.started_at.isoformat() if span.started_at else "", span.id)


def _closed(messages: list[Message], trace: Trace) -> list[Message]:
    """The messages with the trace's answer at their end, where none of them says it."""
    if not trace.output:
        return messages
    # A call with its results behind it is not yet the answer.
    if messages and messages[-1]["role"] == "assistant":
        return messages
    called = [call["function"]["name"] for message in messages for call in message.get("tool_calls", ())]
    if is_calls(trace.output, called):
        return messages
    answer = trace.output.strip()
    if any(message["role"] == "assistant" and text_of(message).strip() == answer for message in messages):
        return messages
    return [*messages, {"role": "assistant", "content": trace.output}]


def _turn_of(trace: Trace) -> list[Message]:
    """One trace as a turn of its session: its own messages, or the question, the tools at work, the answer."""
    if given := messages_in(trace.metadata.get("messages"), "input"):
        return _closed(given, trace)
    exchange = None if trace.input.lstrip()[:1] not in ("{", "[") else own_text(trace)
    asked: list[Message] = (
        exchange.input if exchange else [{"role": "user", "content": trace.input}] if trace.input else []
    )
    runs = tool_runs(sorted(trace.spans, key=_when))
    done = acted(runs)
    spoken = trace.output and not is_calls(trace.output, [run.name for run in runs])
    answer: list[Message] = [{"role": "assistant", "content": trace.output}] if spoken else []
    return [*asked, *done, *answer]


def _tools_anywhere(spans: Sequence[Span], source: Span | None) -> list[dict[str, Any]]:
    """Tools from the spans around, where the model call does not name them: those above it, then records logged beside it."""
    by_id = {span.id: span for span in spans}
    above: list[Span] = []
    parent = by_id.get(source.parent_id or "") if source else None
    # `not in above` ends the walk where parents form a circle, which broken exporters send.
    while parent is not None and parent not in above:
        above.append(parent)
        parent = by_id.get(parent.parent_id or "")
    beside = [span for span in spans if source and span.kind == "event" and span.parent_id == source.parent_id]
    for span in (*above, *reversed(beside)):
        if offered := exchange_of(span).tools:
            return offered
    return []


def _parameters(trace: Trace, exchange: Exchange | None, source: Span | None) -> dict[str, Any]:
    facts = source.metadata if source is not None else trace.metadata
    known = {key: facts[key] for key in FACTS if facts.get(key)}
    return (dict(exchange.parameters) if exchange else {}) | known


def _storable(values: dict[str, Any]) -> dict[str, Any]:
    """The values, unless they are nested deeper or more than can be kept: then as JSON text, so that nothing is lost."""
    try:
        require_storable(values)
    except ValueError:
        return {"role": str(values.get("role", "")), "content": as_json(values), "extra": {"as_text": True}}
    return values
