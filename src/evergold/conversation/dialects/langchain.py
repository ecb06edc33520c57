"""LangChain and LangGraph, present and older, Python and JavaScript: messages as dumped, serialised or wrapped."""

from typing import Any

from evergold.conversation.nested_json import decoded

KINDS = frozenset({"human", "ai", "system", "tool", "function", "chat", "developer", "generic"})


def as_chat(item: dict[str, Any]) -> list[dict[str, Any]] | None:
    """`{"type": "human", "content"}`, `{"type", "data"}`, `{"lc", "id", "kwargs"}`, `{"lc_kwargs"}`, a generation."""
    if isinstance(kwargs := item.get("kwargs"), dict) and isinstance(path := item.get("id"), list) and path:
        if "messages" in kwargs:
            return [message for inner in kwargs["messages"] if isinstance(inner, dict) for message in [inner]]
        return [_fields(kwargs, _speaker(str(path[-1])))] if "content" in kwargs else None
    if isinstance(kwargs := item.get("lc_kwargs"), dict) and "content" in kwargs:
        return [_fields(kwargs, _speaker(str(item.get("type") or item.get("role") or (item.get("id") or [""])[-1])))]
    if isinstance(data := item.get("data"), dict) and _is_kind(item.get("type")) and "content" in data:
        return [_fields(data, str(item["type"]))]
    # A generation of an LLM result: its message where it has one, its text where the model is no chat model.
    if "generation_info" in item or ("message" in item and "text" in item and "role" not in item):
        message = item.get("message")
        return [message] if isinstance(message, dict) else [{"role": "assistant", "content": item.get("text")}]
    if "role" not in item and _is_kind(item.get("type")) and "content" in item:
        return [_fields(item, str(item["type"]))]
    # `blocks` beside `additional_kwargs` is a message of LlamaIndex.
    if "role" in item and "additional_kwargs" in item and "blocks" not in item:
        return [_fields(item, str(item["role"]))]
    return None


def _is_kind(kind: Any) -> bool:
    return isinstance(kind, str) and (kind in KINDS or kind.removesuffix("Chunk").endswith("Message"))


def _speaker(name: str) -> str:
    """The kind of message a class is: `AIMessageChunk` → ai."""
    return name.removesuffix("Chunk").removesuffix("Message").lower() or "assistant"


def _listed(calls: Any) -> list[Any]:
    """Calls as a list; a value of another kind is none."""
    return calls if isinstance(calls, list) else [calls] if isinstance(calls, dict) else []


def _fields(fields: dict[str, Any], kind: str) -> dict[str, Any]:
    """The fields of a message as a chat message has them. Calls may stand twice: read and as the provider wrote them."""
    kind = kind.removesuffix("Chunk").removesuffix("Message").lower() if kind[:1].isupper() else kind
    role = str(fields.get("role") or "user") if kind in ("chat", "generic") else kind
    beside = decoded(fields.get("additional_kwargs"))
    beside = beside if isinstance(beside, dict) else {}
    calls = _listed(fields.get("tool_calls")) or _listed(beside.get("tool_calls"))
    older = beside.get("function_call")
    if not calls and isinstance(older, dict):
        calls = [older]
    # Calls whose arguments LangChain could not parse: the model made them all the same.
    invalid = _listed(fields.get("invalid_tool_calls"))
    message: dict[str, Any] = {"role": role, "content": fields.get("content")}
    if role in ("ai", "assistant") and (calls or invalid):
        message["tool_calls"] = [*calls, *invalid]
    for key in ("tool_call_id", "name"):
        if fields.get(key):
            message[key] = fields[key]
    if fields.get("status") == "error":
        message["failed"] = True
    if isinstance(reasoning := beside.get("reasoning_content"), str):
        message["reasoning"] = reasoning
    known = {
        *message,
        "type",
        "role",
        "status",
        "invalid_tool_calls",
        "tool_call_chunks",
        "example",
        "is_chunk",
        "kwargs",
    }
    message["extra"] = {key: value for key, value in fields.items() if key not in known and value} | {}
    if beside and (rest := {k: v for k, v in beside.items() if k not in ("tool_calls", "function_call") and v}):
        message["extra"]["additional_kwargs"] = rest
    else:
        message["extra"].pop("additional_kwargs", None)
    return message
