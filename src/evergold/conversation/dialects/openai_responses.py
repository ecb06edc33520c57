"""OpenAI's Responses API and Agents SDK: a list of items, in which calls and their outputs stand beside messages."""

from typing import Any

from evergold.conversation.nested_json import as_text
from evergold.conversation.shape import Piece, call_piece, result_piece

CALLS = frozenset({"function_call", "custom_tool_call", "mcp_call", "computer_call", "local_shell_call"})
RESULTS = frozenset(
    {"function_call_output", "custom_tool_call_output", "computer_call_output", "local_shell_call_output"}
)
HOSTED = frozenset({"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"})
ITEMS = CALLS | RESULTS | HOSTED | {"reasoning", "message", "item_reference", "mcp_list_tools"}


def part(part: dict[str, Any]) -> list[Piece] | None:
    """An item that is no message. What a hosted tool did is a call with its result."""
    kind = str(part.get("type"))
    ident = part.get("call_id") or part.get("id")
    if kind in CALLS:
        arguments = next((part[key] for key in ("arguments", "input", "action") if part.get(key) is not None), None)
        pieces = [call_piece(part.get("name") or kind.removesuffix("_call"), arguments, ident)]
        if kind == "mcp_call" and part.get("output") is not None:
            pieces.append(result_piece(part["output"], ident, part.get("name"), failed=bool(part.get("error"))))
        return pieces
    if kind in RESULTS:
        return [result_piece(part.get("output"), ident, part.get("name"))]
    if kind in HOSTED:
        name = kind.removesuffix("_call")
        keys = ("type", "id", "status", "results", "result", "outputs")
        arguments = part.get("action") or {key: value for key, value in part.items() if key not in keys}
        result = next((part[key] for key in ("results", "result", "outputs") if part.get(key) is not None), None)
        return [call_piece(name, arguments, ident), result_piece(result, ident, name)]
    if kind == "reasoning" and ("summary" in part or "encrypted_content" in part):
        summary = part.get("summary") or part.get("content") or []
        texts = [item.get("text") if isinstance(item, dict) else item for item in summary]
        return [Piece("reasoning", "\n\n".join(as_text(text) for text in texts if text))]
    return None


def is_item_list(items: list[Any]) -> bool:
    """Whether a list holds items that are no messages, which have to be put together to messages."""
    kinds = [item.get("type") for item in items if isinstance(item, dict) and "role" not in item]
    return any(isinstance(kind, str) and kind in ITEMS and kind != "message" for kind in kinds)
