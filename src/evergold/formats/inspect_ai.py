"""Inspect samples: `{"id", "input", "target", "metadata"}` as JSON lines.

A conversation is spelled as Inspect does, tool calls with their arguments as an object and pictures as parts of their own, and
back. One that Inspect has no words for (a part of another kind, arguments that are no object) is not spelled at all: half of
it would ask another question.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import orjson

from evergold.formats.lines import Record
from evergold.formats.records import Message, RecordLines, metadata_of, read_asked, unread_of
from evergold.model.case import Case, plain_messages

KEYS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls"},
    "tool": {"role", "content", "tool_call_id", "name"},
}


def spell_messages(messages: Sequence[Message]) -> list[Message] | None:
    """The conversation in Inspect's words, or None where it has none."""
    try:
        return [_spell_message(message) for message in messages] or None
    # Messages are anybody's JSON: whatever shape is missing means that Inspect cannot hold it.
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _spell_message(message: Message) -> Message:
    # A key that Inspect drops would be lost on the way back.
    if not message.keys() <= KEYS[message["role"]]:
        raise ValueError("a key that Inspect does not know")
    content = message.get("content") or ""
    converted: Message = {
        "role": message["role"],
        "content": content if isinstance(content, str) else [_spell_part(part) for part in content],
    }
    if message.get("tool_calls"):
        converted["tool_calls"] = [_spell_call(call) for call in message["tool_calls"]]
    if message["role"] == "tool":
        converted |= {"tool_call_id": message["tool_call_id"], "function": message.get("name")}
    return {key: value for key, value in converted.items() if value is not None}


def _spell_part(part: Message) -> Message:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    if part["type"] == "image_url":
        return {"type": "image", "image": part["image_url"]["url"]}
    raise ValueError(f"a part of type {part['type']}")


def _spell_call(call: Message) -> Message:
    arguments = orjson.loads(call["function"].get("arguments") or "{}")
    if not isinstance(arguments, dict):
        raise TypeError("arguments that are no object")
    return {"id": call["id"], "type": "function", "function": call["function"]["name"], "arguments": arguments}


def read_message(message: Message) -> Message:
    """A message of Inspect in the words of a chat API; what is not in Inspect's own words stays as it is."""
    converted = dict(message)
    if isinstance(converted.get("content"), list):
        converted["content"] = [_read_part(part) for part in converted["content"]]
    if isinstance(converted.get("tool_calls"), list):
        converted["tool_calls"] = [_read_call(call) for call in converted["tool_calls"]]
    if converted.get("role") == "tool" and "function" in converted:
        converted["name"] = converted.pop("function")
    return converted


def _read_part(part: Any) -> Any:
    if isinstance(part, dict) and part.get("type") == "image" and isinstance(part.get("image"), str):
        return {"type": "image_url", "image_url": {"url": part["image"]}}
    return part


def _read_call(call: Any) -> Any:
    if not isinstance(call, dict) or not isinstance(call.get("function"), str):
        return call
    arguments = orjson.dumps(call.get("arguments") or {}).decode()
    return {"id": call.get("id"), "type": "function", "function": {"name": call["function"], "arguments": arguments}}


HELD = {"id", "input", "expected"}


class Inspect(RecordLines):
    suffix: ClassVar[str] = ".inspect.jsonl"
    expresses: ClassVar[frozenset[str]] = frozenset({"messages"})
    keys = frozenset({"input", "target"})
    needs_reference: ClassVar[bool] = True

    def record(self, case: Case) -> Record:
        """A conversation is the input itself, as a solver wants it."""
        talk = spell_messages(plain_messages(case.messages))
        given, held = (talk, HELD - {"input"}) if talk else (case.input, HELD)
        return {
            "id": case.id,
            "input": given,
            "target": case.reference_text() or "",
            "metadata": metadata_of(case, held),
        }

    def case(self, record: Record) -> Case:
        """A foreign sample may hold messages as its input and several targets; the first target is the expected answer."""
        target = record.get("target")
        metadata = dict(record.get("metadata") or {})
        if isinstance(target, list):
            metadata.setdefault("targets", target)
        shown = self.read_shown(record)
        held = {
            "id": str(record["id"]) if record.get("id") is not None else None,
            "input": shown["input"],
            "expected": (target[0] if target else None) if isinstance(target, list) else target,
        }
        return self.edited_case(record, held, metadata, shown, unread_of(record, "id", "input", "target", "metadata"))

    def read_shown(self, record: Record) -> Record:
        given = record["input"]
        return read_asked([read_message(message) for message in given] if isinstance(given, list) else given)
