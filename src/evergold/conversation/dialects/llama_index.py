"""LlamaIndex: a message of blocks, each with its `block_type`; calls of older versions beside the content."""

from typing import Any

from evergold.conversation.shape import Piece, call_piece, data_url, image_piece, text_piece


def part(part: dict[str, Any]) -> list[Piece] | None:
    kind = part.get("block_type")
    if kind == "text":
        return [text_piece(str(part.get("text") or ""))]
    if kind == "tool_call":
        return [call_piece(part.get("tool_name"), part.get("tool_kwargs"), part.get("tool_call_id"))]
    if kind == "thinking":
        return [Piece("reasoning", part.get("content"))]
    if kind == "image":
        data = part.get("url") or part.get("image")
        return [image_piece(data_url(part.get("image_mimetype"), data))] if data else [Piece("content", part)]
    return [Piece("content", part)] if kind else None


def as_chat(item: dict[str, Any]) -> list[dict[str, Any]] | None:
    if "role" not in item or not ("blocks" in item or "additional_kwargs" in item):
        return None
    beside = item.get("additional_kwargs")
    beside = beside if isinstance(beside, dict) else {}
    message = {"role": item["role"], "content": item.get("blocks") or item.get("content")}
    blocks = item.get("blocks") or []
    made = any(isinstance(block, dict) and block.get("block_type") == "tool_call" for block in blocks)
    if (calls := item.get("tool_calls") or beside.get("tool_calls")) and not made:
        message["tool_calls"] = calls
    for key in ("tool_call_id", "name"):
        if value := item.get(key) or beside.get(key):
            message[key] = value
    rest = {key: value for key, value in beside.items() if key not in (*message, "tool_calls") and value}
    return [message | ({"extra": {"additional_kwargs": rest}} if rest else {})]
