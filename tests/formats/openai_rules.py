"""OpenAI's published rules for a fine-tuning file, as a check of its lines.

From the fine-tuning guide and the cookbook's data checks: one JSON object per line; `messages` is a list that is not
empty; roles and keys are known; content is text (a user's may be parts), missing only where calls are made; arguments are
the JSON text of an object; each call has its result; an assistant message is last; names of tools are
`[a-zA-Z0-9_-]{1,64}`, at most 128 tools, each described by a JSON schema of an object.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

ROLES = {"system", "developer", "user", "assistant", "tool"}
KEYS = {"role", "content", "name", "tool_calls", "tool_call_id", "weight"}
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
PERSON = re.compile(r"[^\s<|\\/>]{1,64}")
PARTS = {"text", "image_url"}


def problems_of(line: str) -> list[str]:
    """Everything that a trainer would refuse in one line; nothing where it is right."""
    record = json.loads(line)
    if not isinstance(record, dict) or not record.keys() <= {"messages", "tools", "parallel_tool_calls"}:
        return ["the line is no object of messages and tools"]
    messages = record.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["no messages"]
    found = [*_of_messages(messages), *_of_tools(record.get("tools"))]
    if messages[-1].get("role") != "assistant":
        found.append("the last message is not the assistant's")
    offered = {tool["function"]["name"] for tool in record.get("tools") or ()}
    made = {call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    return [*found, *(f"{name} is called but not offered" for name in sorted(made - offered))]


def _of_messages(messages: list[dict[str, Any]]) -> Iterator[str]:
    open_calls: set[str] = set()
    for number, message in enumerate(messages):
        role = message.get("role")
        if role not in ROLES:
            yield f"message {number}: role {role!r}"
        if unknown := message.keys() - KEYS:
            yield f"message {number}: unknown keys {sorted(unknown)}"
        if role == "tool":
            if message.get("tool_call_id") not in open_calls:
                yield f"message {number}: a result without its call"
            open_calls.discard(message.get("tool_call_id", ""))
        elif open_calls:
            yield f"message {number}: calls without a result: {sorted(open_calls)}"
        yield from (f"message {number}: {problem}" for problem in _of_content(message))
        calls = message.get("tool_calls")
        if calls is not None:
            yield from (f"message {number}: {problem}" for problem in _of_calls(calls, role))
            open_calls |= {call["id"] for call in calls if number < len(messages) - 1}


def _of_content(message: dict[str, Any]) -> Iterator[str]:
    content = message.get("content")
    if content is None and not message.get("tool_calls"):
        yield "no content"
    if isinstance(content, list):
        if message["role"] != "user":
            yield f"content of a {message['role']} message in parts"
        elif any(part.get("type") not in PARTS for part in content):
            yield "a part of an unknown type"
    elif content is not None and not isinstance(content, str):
        yield f"content is {type(content).__name__}"
    if "name" in message and not PERSON.fullmatch(message["name"]):
        yield f"the name {message['name']!r}"


def _of_calls(calls: Any, role: Any) -> Iterator[str]:
    if role != "assistant" or not isinstance(calls, list) or not calls:
        yield "calls that are none of the assistant's"
        return
    if len({call.get("id") for call in calls}) < len(calls):
        yield "two calls of one id"
    for call in calls:
        if not isinstance(call.get("id"), str) or call.get("type") != "function":
            yield f"a call without id or type: {call}"
        if not NAME.fullmatch(call["function"]["name"]):
            yield f"the function name {call['function']['name']!r}"
        if not isinstance(json.loads(call["function"]["arguments"]), dict):
            yield "arguments that are no object"


def _of_tools(tools: Any) -> Iterator[str]:
    for tool in tools or ():
        function = tool.get("function", {})
        if tool.get("type") != "function" or not NAME.fullmatch(function.get("name", "")):
            yield f"a tool {tool}"
        if function.get("parameters", {"type": "object"}).get("type") != "object":
            yield f"parameters of {function.get('name')} are no object"
    if len(tools or ()) > 128:
        yield "more than 128 tools"
