"""Semantic Kernel: items with a `content_type` (Python) or a `$type` (.NET)."""

from typing import Any

from evergold.conversation.calls import call_of
from evergold.conversation.shape import Piece, image_piece, result_piece, text_piece


def part(part: dict[str, Any]) -> list[Piece] | None:
    kind = str(part.get("content_type") or part.get("$type") or "").replace("_", "").lower()
    kind = kind.removesuffix("content")
    lower = {key.lower(): value for key, value in part.items()}
    if kind == "text":
        return [text_piece(str(lower.get("text") or ""))]
    if kind == "functioncall" and (call := call_of(part)) is not None:
        return [Piece("call", call)]
    if kind == "functionresult":
        ident = lower.get("callid") or lower.get("id")
        return [result_piece(lower.get("result"), ident, lower.get("name") or lower.get("functionname"))]
    if kind == "image":
        return [image_piece(str(lower.get("uri") or lower.get("datauri") or lower.get("data_uri")))]
    return [Piece("content", part)] if kind else None


def as_chat(item: dict[str, Any]) -> list[dict[str, Any]] | None:
    if isinstance(items := item.get("Items", item.get("items")), list) and ("Role" in item or "role" in item):
        return [{"role": item.get("Role", item.get("role")), "content": items}]
    return None
