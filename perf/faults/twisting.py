"""Values that no sender means: what parsers, columns and paths stumble over."""

import json
import random
from contextlib import suppress
from typing import Any

TEXTS: tuple[str, ...] = (
    *(
        "",
        "\x00",
        "a\x00b",
        "\ud800",
        "9" * 30,
        "-1",
        "1e999",
        "NaN",
        "null",
        "'\";--",
        "../../etc/passwd",
        "%2F%00",
        "[::1",
    ),
    *(
        "x" * 300,
        "x" * 5000,
        "é" * 300,
        "\u202e\U0001f4a9",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59+23:59",
        "(" * 2000,
    ),
    *(
        "a@" * 50,
        "(a+)+$",
        "{{}}",
        "{}",
        "[]",
        "*",
        "%",
        "_",
        "\\",
        "\r\nX: y",
        " ",
        "0x10",
        "١٢٣",
        "v999999999999999999999",
    ),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 10**30, -(10**30), 2**63, 2**64, 1e308, -1e308, 1e-320, [], {}, [[]], {"": ""}, *TEXTS),
    *({"stringValue": 5}, {"intValue": "x"}, {"doubleValue": "NaN"}, {"kvlistValue": {"values": [{}]}}, [None] * 50),
    {"a": {"b": {"c": {"d": {"e": {"f": [[[[[[]]]]]]}}}}}},
)

FRAGMENTS: tuple[str, ...] = (*"{}[]()<>'\"\\=,:\n", "{{1}}", "{[]: 1}", "None", "1e999", "\u202e")


def twisted(value: Any, source: random.Random) -> Any:
    """A copy with one value somewhere in it replaced, dropped, doubled or renamed."""
    if isinstance(value, dict) and value and source.random() < 0.9:
        key = source.choice(list(value))
        chance = source.random()
        if chance < 0.15:
            return {name: inner for name, inner in value.items() if name != key}
        if chance < 0.2:
            return {**value, source.choice(TEXTS): value[key]}
        return {**value, key: twisted(value[key], source)}
    if isinstance(value, list) and value and source.random() < 0.9:
        at = source.randrange(len(value))
        if source.random() < 0.1:
            return [*value, value[at]]
        return [*value[:at], twisted(value[at], source), *value[at + 1 :]]
    if isinstance(value, str) and source.random() < 0.7:
        return _twisted_text(value, source)
    return source.choice(VALUES)


def _twisted_text(text: str, source: random.Random) -> str:
    """A text with something else in one place of it; JSON in a text is twisted as what it stands for."""
    if text[:1] in ("{", "[") and source.random() < 0.8:
        with suppress(ValueError, RecursionError):
            return json.dumps(twisted(json.loads(text), source))
    at = source.randrange(len(text) + 1)
    return text[:at] + source.choice(FRAGMENTS) + text[at + source.randrange(4) :]
