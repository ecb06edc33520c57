"""The reply of a trace that states none: what its last model call said, or the calls it ended with."""

from collections.abc import Sequence

from evergold.conversation.conventions import exchange_of
from evergold.conversation.main_exchange import CALLERS
from evergold.conversation.nested_json import as_json, decoded
from evergold.conversation.reading import messages_in
from evergold.conversation.shape import Message, text_of
from evergold.model.trace import Trace, TraceStatus


def reply_of(trace: Trace) -> str | None:
    """Read the reply of a completed trace from its messages, else from its last model call; calls alone become JSON."""
    if trace.output is not None or trace.status is not TraceStatus.COMPLETED:
        return trace.output
    if given := messages_in(trace.metadata.get("messages"), "input"):
        return _reply_text(given)
    calls = [span for span in trace.spans if span.kind in CALLERS]
    if not calls:
        return None
    ends = [span.ended_at or span.started_at for span in calls]
    moments = [moment for moment in ends if moment is not None]
    # Times are compared only where every call has one; otherwise the order of arrival decides.
    last = calls[-1] if len(moments) < len(calls) else calls[ends.index(max(moments))]
    return _reply_text(exchange_of(last).output) or last.output


def _reply_text(messages: Sequence[Message]) -> str | None:
    """The text, or the calls, of the last assistant message, unless the user spoke after it."""
    for message in reversed(messages):
        if message["role"] == "user":
            return None
        if message["role"] == "assistant":
            calls = [call["function"] for call in message.get("tool_calls", ())]
            listed = [{"name": call["name"], "arguments": decoded(call["arguments"])} for call in calls]
            return text_of(message) or (as_json(listed) if listed else None)
    return None
