"""Haystack: content as objects of one key (`text`, `tool_call`, `tool_call_result`); older dumps begin with `_`, printed
messages too."""

from typing import Any

from evergold.conversation.calls import call_of
from evergold.conversation.printed import PRINTED_AS
from evergold.conversation.shape import Piece, result_piece, text_piece

KEYS = {"ToolCall": "tool_call", "ToolCallResult": "tool_call_result", "ReasoningContent": "reasoning"}


def part(part: dict[str, Any]) -> list[Piece] | None:
    if "type" in part:
        return None
    if key := KEYS.get(str(part.get(PRINTED_AS))):
        part = {key: part}
    if part.get(PRINTED_AS) == "TextContent":
        return [text_piece(str(part.get("text") or ""))]
    if isinstance(result := part.get("tool_call_result"), dict):
        origin = result.get("origin")
        origin = origin if isinstance(origin, dict) else {}
        failed = bool(result.get("error"))
        return [result_piece(result.get("result"), origin.get("id"), origin.get("tool_name"), failed=failed)]
    if isinstance(part.get("tool_call"), dict) and (call := call_of(part["tool_call"])) is not None:
        return [Piece("call", call)]
    if isinstance(reasoning := part.get("reasoning"), dict):
        return [Piece("reasoning", reasoning.get("reasoning_text"))]
    return None


def as_chat(item: dict[str, Any]) -> list[dict[str, Any]] | None:
    if "_role" in item and "_content" in item:
        message = {"role": item["_role"], "content": item["_content"]}
        meta = item.get("_meta")
        return [
            message
            | ({"name": item["_name"]} if item.get("_name") else {})
            | ({"extra": {"meta": meta}} if meta else {})
        ]
    return None
