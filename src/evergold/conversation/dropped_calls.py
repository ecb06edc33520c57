"""Put calls back that an exporter left out of the history: their results are there, and an earlier request made them.

Some exporters write a message that only calls tools as no message at all, others keep its words and drop its calls.
"""

from collections.abc import Iterable, Sequence

from evergold.conversation.shape import Message, text_of


def answered_elsewhere(messages: Sequence[Message]) -> set[str]:
    """The ids of results whose calls are not among the messages."""
    made = {call["id"] for message in messages for call in message.get("tool_calls", ())}
    return {str(message["tool_call_id"]) for message in messages if message.get("tool_call_id")} - made


def restored(messages: Sequence[Message], made: Iterable[Message]) -> list[Message]:
    """The messages with each lost call before its first result; `made` are messages with calls, the latest first."""
    lacking = answered_elsewhere(messages)
    callers: dict[str, Message] = {}
    for caller in made:
        for call in caller.get("tool_calls", ()):
            if call["id"] in lacking:
                callers.setdefault(call["id"], caller)
    whole: list[Message] = []
    known: set[str] = set()
    for message in messages:
        ident = message.get("tool_call_id")
        if ident in callers and ident not in known:
            caller = callers[ident]
            known |= {call["id"] for call in caller["tool_calls"]}
            # What the assistant said beside its calls may still be there, as a message without them.
            if whole and whole[-1]["role"] == "assistant" and _is_rest(whole[-1], caller):
                whole.pop()
            whole.append({key: value for key, value in caller.items() if key != "extra"})
        whole.append(message)
    return whole


def _is_rest(message: Message, caller: Message) -> bool:
    return not message.get("tool_calls") and text_of(message).strip() == text_of(caller).strip()


def holds_question(messages: Sequence[Message], earlier: Sequence[Message]) -> bool:
    """Whether messages hold what the user said in an earlier request, so that they are a history and not only what is new."""
    texts = {text_of(message) for message in messages if message["role"] == "user"}
    asked = [text_of(message) for message in earlier if message["role"] == "user"]
    return bool(asked) and all(text in texts for text in asked)
