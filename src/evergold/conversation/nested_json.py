"""JSON inside JSON: instrumentation writes documents as texts, and texts of documents as texts again."""

import json
from typing import Any

import orjson

DEEPEST = 8  # times a text is read as JSON that holds a text that is JSON …
STARTS = ("{", "[", '"')


def decoded(value: Any) -> Any:
    """Decode a text that holds a JSON document, again where the document is such a text; anything else as it is."""
    for _ in range(DEEPEST):
        if not isinstance(value, str) or value.lstrip()[:1] not in STARTS:
            return value
        try:
            inner = orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
        # `"plain"` in quotes is a text that was dumped once; a document that decodes to a bare text is left alone.
        if isinstance(inner, str) and inner.lstrip()[:1] not in STARTS:
            return value if value[:1] != '"' else inner
        value = inner
    return value


def decoded_object(value: Any) -> dict[str, Any]:
    """Decode an object; anything that is none is an empty one."""
    parsed = decoded(value)
    return parsed if isinstance(parsed, dict) else {}


def decoded_list(value: Any) -> list[Any]:
    """Decode a list; a single object is a list of one, anything else an empty one."""
    parsed = decoded(value)
    return parsed if isinstance(parsed, list) else [parsed] if isinstance(parsed, dict) else []


def as_json(value: Any) -> str:
    """JSON of any value; what the fast writer refuses (numbers over 64 bits, deep nesting) goes the slow way."""
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        return json.dumps(value, default=str, ensure_ascii=False)


def as_text(value: Any) -> str:
    """A text as it is, nothing as the empty text, anything else as JSON."""
    return value if isinstance(value, str) else "" if value is None else as_json(value)
