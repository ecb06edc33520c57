"""Anthropic's messages: content blocks, in which a user's message brings the results of tools."""

from typing import Any

from evergold.conversation.shape import Piece, call_piece, data_url, image_piece, result_piece


def part(part: dict[str, Any]) -> list[Piece] | None:
    kind = part.get("type")
    if not isinstance(kind, str):
        return None
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        return [call_piece(part.get("name"), part.get("input"), part.get("id"))]
    # `web_search_tool_result` and other server tools end the same way.
    if kind.endswith("tool_result") and ("tool_use_id" in part or "content" in part):
        return [result_piece(part.get("content"), part.get("tool_use_id"), failed=bool(part.get("is_error")))]
    if kind == "thinking":
        return [Piece("reasoning", part.get("thinking") or part.get("content") or part.get("text"))]
    if kind == "redacted_thinking":
        return [Piece("reasoning", "[redacted]")]
    if kind == "image" and isinstance(source := part.get("source"), dict):
        data = source.get("url") or source.get("data")
        return [image_piece(data_url(source.get("media_type"), data))] if data else [Piece("content", part)]
    return [Piece("content", part)] if kind == "document" and "source" in part else None
