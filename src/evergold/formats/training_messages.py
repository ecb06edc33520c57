"""Conversations with their answer, as OpenAI's fine-tuning wants them: real calls, their results, and nothing of ours."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from evergold.formats.carrying import Message, assistant, conversation, text_of
from evergold.model.case import Case, Reference
from evergold.model.tool_calls import ExpectedTool, ToolCall, calls_in, expected_of
from evergold.model.tool_schemas import derived_schemas

KEYS = {
    "system": ("role", "content", "name"),
    "developer": ("role", "content", "name"),
    "user": ("role", "content", "name"),
    "assistant": ("role", "content", "tool_calls", "name"),
    "tool": ("role", "content", "tool_call_id"),
}


# OpenAI's rule for names of functions.
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# OpenAI's rule for `name` of a message; a name that breaks it is dropped, since nothing depends on it.
PERSON = re.compile(r"[^\s<|\\/>]{1,64}")
PARTS = ("text", "image_url")
MOST_TOOLS = 128


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
    # The recorded turn is used only where it made the very calls of the reference: its results belong to those calls.
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
    """The tools of the case, and schemas derived from calls of tools that it does not name.

    Raises `Unfit` where there are more tools, or other names, than a trainer takes.
    """
    tools = [_schema(tool) for tool in case.tools]
    known = {tool["function"].get("name") for tool in tools}
    tools.extend(derived_schemas(call for call in _made(messages) if call.name not in known))
    if len(tools) > MOST_TOOLS:
        raise Unfit(f"{len(tools)} tools are offered; fine-tuning takes at most {MOST_TOOLS}")
    for tool in tools:
        _named(tool["function"].get("name"))
    return tools


def checked(messages: Sequence[Message]) -> list[Message]:
    """The messages, if each call can be read and has its result before anything else is said, and each result its call."""
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                raise Unfit("a tool result belongs to no call before it")
            waiting.discard(message["tool_call_id"])
            continue
        # OpenAI refuses a file in which anything but its results follows a call.
        if waiting:
            raise Unfit("a tool call has no result")
        waiting = _readable_calls(message.get("tool_calls") or ())
    if not messages or messages[-1]["role"] != "assistant":
        raise Unfit("the conversation does not end with an answer")
    return list(messages)


def _known(message: Message) -> Message:
    keys = KEYS.get(message.get("role", ""))
    if keys is None:
        raise Unfit(f"a message has the role {message.get('role')!r}, which fine-tuning does not know")
    kept = {key: message[key] for key in keys if message.get(key) is not None}
    if not PERSON.fullmatch(str(kept.get("name", "-"))):
        del kept["name"]
    if not kept.get("tool_calls"):
        kept.pop("tool_calls", None)
    if kept["role"] == "user" and isinstance(kept.get("content"), list):
        _known_parts(kept["content"])
    elif kept["role"] == "tool" or kept.get("content") is not None:
        kept["content"] = text_of(kept.get("content"))
    else:
        # Content may be null only beside calls.
        kept["content"] = None if kept.get("tool_calls") else ""
    return kept


def _known_parts(parts: Iterable[Any]) -> None:
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else type(part).__name__
        if kind not in PARTS:
            raise Unfit(f"a user message has a part of type {kind!r}; fine-tuning takes {' and '.join(PARTS)}")


def _readable_calls(calls: Iterable[Message]) -> set[str]:
    """The ids of these calls. Raises `Unfit` where one has no id of its own, no name, or arguments that are no object."""
    ids: set[str] = set()
    for call in calls:
        function = call.get("function") or {}
        _named(function.get("name"))
        if not isinstance(call.get("id"), str) or call["id"] in ids:
            raise Unfit(f"a call of {function['name']} has no id of its own")
        ids.add(call["id"])
        try:
            arguments = orjson.loads(function.get("arguments") or "")
        except orjson.JSONDecodeError:
            arguments = None
        if not isinstance(arguments, dict):
            raise Unfit(f"the arguments of a call of {function['name']} are no JSON object")
    return ids


def _named(name: Any) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Unfit(f"the tool name {name!r} has other characters than letters, digits, _ and -, or more than 64")


def _schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool as fine-tuning spells it, also where its source left the wrapping out."""
    if isinstance(tool.get("function"), Mapping):
        return dict(tool)
    function = {key: tool[key] for key in ("name", "description", "parameters") if tool.get(key) is not None}
    if "parameters" not in function and isinstance(tool.get("input_schema"), Mapping):
        function["parameters"] = tool["input_schema"]
    return {"type": "function", "function": function}


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
