"""The JSON columns of a Sidekick action → parameters and plain text.

`action_result` holds the JSON *encoding* of a result, so a search in it would find `\\n` where a line ends. It is unwrapped
here, from all the shapes the app has written over time, before anybody looks at the text.
"""

from typing import Any

import orjson


def text_of(value: object) -> str | None:
    """A column as text: SQLite gives back bytes where bytes were bound."""
    if value is None:
        return None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def read_params(value: object, where: str, problems: list[str]) -> dict[str, Any]:
    """The arguments of an action; what cannot be read is named in `problems` and empty."""
    text = text_of(value)
    if not text or not text.strip():
        return {}
    try:
        params = orjson.loads(text)
    except orjson.JSONDecodeError as problem:
        problems.append(f"{where}: column action_params is not JSON: {problem}")
        return {}
    if params is None:
        return {}
    if not isinstance(params, dict):
        problems.append(f"{where}: column action_params is a JSON {type(params).__name__}, not an object")
        return {}
    return params


def read_result(value: object, status: str, where: str, problems: list[str]) -> tuple[str | None, bool]:
    """(text, whether it is an error)."""
    text = text_of(value)
    if text is None or not text.strip():
        return None, status == "failed"
    # A failed action holds the plain text of its error, not JSON.
    if status == "failed" or text.startswith("failed: "):
        return text, True
    try:
        decoded = orjson.loads(text)
    except orjson.JSONDecodeError as problem:
        problems.append(f"{where}: column action_result is not JSON: {problem}; its text is used as it stands")
        return text, False
    return _unwrap(decoded, text)


def _unwrap(decoded: Any, text: str) -> tuple[str | None, bool]:
    if decoded is None:
        return None, False
    if isinstance(decoded, str):
        return decoded, False
    if isinstance(decoded, dict):
        # The shape of MCP tool results; `Response`/`IsError` is the app's older own.
        if isinstance(decoded.get("content"), list):
            parts = [block.get("text") for block in decoded["content"] if isinstance(block, dict)]
            return "\n".join(part for part in parts if isinstance(part, str)), bool(decoded.get("isError"))
        if "Response" in decoded:
            inner = decoded["Response"]
            return inner if isinstance(inner, str) else orjson.dumps(inner).decode(), bool(decoded.get("IsError"))
    return text, False
