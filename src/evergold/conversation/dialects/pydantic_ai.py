"""Pydantic AI: requests and responses of parts, each with its `part_kind`; and the events of its older spans."""

from typing import Any

from evergold.conversation.nested_json import decoded

ROLE_OF_PART = {"system-prompt": "system", "user-prompt": "user"}


def as_chat(item: dict[str, Any]) -> list[dict[str, Any]] | None:
    if isinstance(name := item.get("event.name"), str):
        return _event(name, item)
    if item.get("kind") not in ("request", "response") or not isinstance(item.get("parts"), list):
        return None
    parts = [part for part in item["parts"] if isinstance(part, dict)]
    if item["kind"] == "response":
        return [{"role": "assistant", "content": [_output_part(part) for part in parts]}]
    instructions = item.get("instructions")
    first = [{"role": "system", "content": instructions}] if instructions else []
    return first + [_asked(part) for part in parts]


def _output_part(part: dict[str, Any]) -> dict[str, Any]:
    kind = part.get("part_kind")
    if kind in ("tool-call", "builtin-tool-call"):
        return {
            "type": "tool_use",
            "name": part.get("tool_name"),
            "input": part.get("args"),
            "id": part.get("tool_call_id"),
        }
    if kind == "builtin-tool-return":
        return {"type": "tool_result", "tool_use_id": part.get("tool_call_id"), "content": part.get("content")}
    return {
        "type": "thinking" if kind == "thinking" else "text",
        "text": part.get("content"),
        "content": part.get("content"),
    }


def _asked(part: dict[str, Any]) -> dict[str, Any]:
    kind = str(part.get("part_kind"))
    if kind in ("tool-return", "retry-prompt") and part.get("tool_name"):
        message = {"role": "tool", "content": part.get("content"), "tool_call_id": part.get("tool_call_id")}
        return message | {"name": part["tool_name"], "failed": kind == "retry-prompt"}
    return {"role": ROLE_OF_PART.get(kind, "user"), "content": part.get("content")}


def _event(name: str, item: dict[str, Any]) -> list[dict[str, Any]]:
    """A message as the log event that it was: `gen_ai.user.message`, `gen_ai.choice`."""
    role = name.removeprefix("gen_ai.").removesuffix(".message")
    own = {key: value for key, value in item.items() if not key.startswith(("event.", "gen_ai."))}
    message = decoded(own.pop("message", None))
    fields = {**own, **message} if isinstance(message, dict) else own
    if isinstance(message, str):
        fields["content"] = message
    if role == "tool" and "id" in fields:
        fields["tool_call_id"] = fields.pop("id")
    fields.pop("index", None)
    return [{"role": "assistant" if role == "choice" else role, **fields}]
