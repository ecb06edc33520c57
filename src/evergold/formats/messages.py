"""Conversations as the chat formats spell them: `[{"role", "content"}, …]`."""

from collections.abc import Sequence
from typing import Any

import orjson

from evergold.model.case import Case
from evergold.model.conversation import plain_messages

Message = dict[str, Any]


def conversation(case: Case) -> list[Message]:
    """What the model is given: the case's own conversation, or its input as one user message."""
    if case.messages:
        return plain_messages(case.messages)
    return [{"role": "user", "content": case.input}]


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


def last_user_text(messages: Sequence[Message]) -> str:
    """The last thing the user said; of a message in parts, its text parts."""
    for message in reversed(messages):
        if message.get("role") == "user":
            return text_of(message.get("content"))
    return text_of(messages[-1].get("content")) if messages else ""


def conversation_or_none(messages: Sequence[Message]) -> list[Message] | None:
    """The messages, where they say more than one plain text of the user does."""
    if len(messages) == 1 and messages[0].keys() == {"role", "content"} and isinstance(messages[0]["content"], str):
        return None
    return list(messages)


def tool_call_of(call: Message) -> dict[str, Any]:
    """A call in the words of a chat API, whose arguments are the JSON text of an object."""
    function = call["function"]
    arguments = orjson.loads(function.get("arguments") or "{}")
    return {"name": function["name"], "args": arguments}


def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and part.get("text"))
    return "" if content is None else str(content)
