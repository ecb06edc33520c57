"""A record as it travels: plain JSON, times as text, ids and names as the texts they have to be.

An app gives what it has: a number as user id, an object of its own in the metadata, half a character that JSON has no word
for. None of that is a reason to lose the trace. This runs in the background thread.
"""

from datetime import UTC, datetime
from typing import Any

import orjson

from evergold.sdk.recording import shown

TEXTS = ("trace_id", "session_id", "user_id", "comment", "author", "emoji")
DEEPEST = 50


def travelling(kind: str, record: dict[str, Any]) -> dict[str, Any]:
    """The record as the other side reads it."""
    outgoing = {"type": kind, **record}
    for step in (outgoing, *outgoing.get("spans", ())):
        for name in ("started_at", "ended_at"):
            if isinstance(step.get(name), float):
                step[name] = datetime.fromtimestamp(step[name], UTC).isoformat().replace("+00:00", "Z")
        for name in ("name", "kind"):
            if name in step:
                step[name] = _word(step[name])
    for name in TEXTS:
        if outgoing.get(name) is not None:
            outgoing[name] = _word(outgoing[name])
    if outgoing.get("tags"):
        outgoing["tags"] = [_word(tag) for tag in outgoing["tags"] if tag is not None]
    return _as_json(outgoing)


def _word(value: Any) -> str:
    """An id or a name, whatever type the app keeps it in."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return str(value)
    except Exception:
        return shown(value)


def _as_json(outgoing: dict[str, Any]) -> dict[str, Any]:
    try:
        written = orjson.dumps(outgoing, default=str, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, ValueError, RecursionError):
        written = orjson.dumps(_plain(outgoing, DEEPEST))
    read: dict[str, Any] = orjson.loads(written)
    return read


def _plain(value: Any, depth: int) -> Any:
    """The value of nothing but what JSON has; slower, and never at a loss."""
    # 2⁵³: larger integers lose digits in JavaScript and other readers, so they become text.
    if value is None or isinstance(value, (bool, float)) or (isinstance(value, int) and -(2**53) < value < 2**53):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict) and depth:
        return {str(_plain(_word(key), 0)): _plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)) and depth:
        return [_plain(item, depth - 1) for item in value]
    return _plain(shown(value), 0)
