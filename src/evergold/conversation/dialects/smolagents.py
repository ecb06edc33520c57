"""smolagents: roles `tool-call` and `tool-response`, whose texts hold the calls as Python prints them."""

import ast
from typing import Any

from evergold.conversation.calls import calls_in

CALLING = "Calling tools:"
LONGEST = 200_000  # characters that are parsed as a Python literal


def as_chat(item: dict[str, Any]) -> list[dict[str, Any]] | None:
    role = str(item.get("role")).rpartition(".")[2].lower().replace("_", "-")
    if role not in ("tool-call", "tool-response"):
        return None
    content = item.get("content") or item.get("contents")
    if role == "tool-response":
        return [{"role": "tool", "content": content}]
    text = content
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        part = content[0].get("message_content", content[0])
        text = part.get("text") if isinstance(part, dict) else None
    if isinstance(text, str) and text.lstrip().startswith(CALLING) and len(text) < LONGEST:
        try:
            # Printed by Python's repr, so single quotes and None: no JSON. `literal_eval` runs no code.
            calls = calls_in(ast.literal_eval(text.lstrip().removeprefix(CALLING).strip()))
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            calls = []
        if calls:
            return [{"role": "assistant", "content": None, "tool_calls": calls}]
    return [{"role": "assistant", "content": content}]
