"""Conversations with their answer, as OpenAI's fine-tuning wants them: real calls, their results, and nothing of ours."""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from evergold.formats.messages import Message, assistant, conversation, text_of
from evergold.model.case import Case
from evergold.model.reference import Reference
from evergold.model.tool_calls import ExpectedTool, ToolCall, calls_in, expected_of
from evergold.model.tool_schemas import derived_schemas

KEYS = {
    "system": ("role", "content", "name"),
    "developer": ("role", "content", "name"),
    "user": ("role", "content", "name"),
    "assistant": ("role", "content", "tool_calls", "name"),
    "tool": ("role", "content", "tool_call_id"),
}


class Unfit(ValueError):
    """A conversation that a trainer would refuse, and why."""


def asked(case: Case) -> list[Message]:
    """What was to be answered, in the roles and keys a trainer knows. Raises `Unfit` where there is one it does not know."""
    return [_known(message) for message in conversation(case)]


def answered(case: Case, reference: Reference) -> list[Message]:
    """The reference as messages: the turn with its calls and results, closed by the reference's text.

    Where only calls are known, the last message makes them: that is what the model has to learn.
    """
    turn = [_known(message) for message in case.turn]
    if turn and reference.tool_calls is not None and _made(turn) == list(expected_of(reference.tool_calls)):
        return _closed(turn, reference.text)
    if reference.tool_calls:
        calls = [_spelled(call, number) for number, call in enumerate(reference.tool_calls, 1)]
        return [{"role": "assistant", "content": None, "tool_calls": calls}]
    return [assistant(reference.text or "")]


def worked(case: Case) -> list[Message]:
    """The calls of the turn and their results, which both a wrong and a right answer rest on."""
    turn = [_known(message) for message in case.turn]
    last = max((number for number, message in enumerate(turn) if message["role"] == "tool"), default=-1)
    return turn[: last + 1]


def offered(case: Case, messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The tools of the case; where it has none and calls are made, schemas derived from those."""
    if case.tools:
        return list(case.tools)
    return list(derived_schemas(_made(messages)))


def checked(messages: Sequence[Message]) -> list[Message]:
    """The messages, if each call has its result before anything else is said and each result its call."""
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                raise Unfit("a tool result belongs to no call before it")
            waiting.discard(message["tool_call_id"])
            continue
        if waiting:
            raise Unfit("a tool call has no result")
        waiting = {str(call.get("id")) for call in message.get("tool_calls") or ()}
    if not messages or messages[-1]["role"] != "assistant":
        raise Unfit("the conversation does not end with an answer")
    return list(messages)


def _known(message: Message) -> Message:
    keys = KEYS.get(message.get("role", ""))
    if keys is None:
        raise Unfit(f"a message has the role {message.get('role')!r}, which fine-tuning does not know")
    kept = {key: message[key] for key in keys if message.get(key) is not None}
    if kept["role"] == "tool":
        kept["content"] = text_of(kept.get("content"))
    elif "content" not in kept:
        kept["content"] = None if kept.get("tool_calls") else ""
    return kept


def _made(messages: Iterable[Message]) -> list[ExpectedTool]:
    return list(expected_of(calls_in(messages)))


def _closed(turn: list[Message], text: str | None) -> list[Message]:
    """The turn with this text as its last answer."""
    last = turn[-1]
    if last["role"] == "assistant" and not last.get("tool_calls"):
        turn = turn[:-1]
    return [*turn, assistant(text)] if text is not None else turn


def _spelled(call: ToolCall, number: int) -> dict[str, Any]:
    function = {"name": call.name, "arguments": orjson.dumps(call.args).decode()}
    return {"id": call.id or f"call_{number}", "type": "function", "function": function}
