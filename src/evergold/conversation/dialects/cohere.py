"""Cohere: `message` instead of `content` in the first version of its API, results beside the calls they answer."""

from typing import Any

from evergold.conversation.calls import call_of
from evergold.conversation.shape import Piece, result_piece

SPEAKERS = frozenset({"USER", "CHATBOT", "SYSTEM", "TOOL"})


def part(part: dict[str, Any]) -> list[Piece] | None:
    """A document that a tool's message brings."""
    if part.get("type") == "document" and isinstance(part.get("document"), dict):
        data = part["document"].get("data", part["document"])
        return [Piece("content", {"type": "text", "text": data})] if isinstance(data, str) else [Piece("content", part)]
    if part.keys() == {"call", "outputs"} and (call := call_of(part["call"])) is not None:
        return [result_piece(part["outputs"], call["id"], call["function"]["name"])]
    return None


def as_chat(item: dict[str, Any]) -> list[dict[str, Any]] | None:
    if str(item.get("role")) in SPEAKERS and ("message" in item or "tool_results" in item):
        results = item.get("tool_results") or []
        content = results if results else item.get("message")
        rest = {key: value for key, value in item.items() if key not in ("message", "tool_results")}
        return [rest | {"content": content}]
    # The second API says its reasoning before calls in a field of its own, where others have the content.
    if isinstance(plan := item.get("tool_plan"), str) and item.get("role") == "assistant" and not item.get("content"):
        return [{key: value for key, value in item.items() if key != "tool_plan"} | {"content": plan}]
    return None
