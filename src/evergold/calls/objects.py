"""The JSON object that a model's reply is, or holds."""

import re
from json import JSONDecoder
from typing import Any

_OPENING = re.compile(r"```(?:json)?[ \t]{0,20}\r?\n", re.IGNORECASE)
_CLOSING = re.compile(r"\n[ \t]{0,20}```")


def parse_object(text: str) -> dict[str, Any] | None:
    """Whole, in a Markdown fence, or after some words."""
    # `raw_decode` stops where the object ends, so words behind it do no harm.
    for candidate in (text.strip(), _in_fence(text), text[text.find("{") :]):
        try:
            value, _ = JSONDecoder().raw_decode(candidate)
        except (ValueError, RecursionError):  # no JSON, a number of thousands of digits, endless nesting
            continue
        if isinstance(value, dict):
            return value
    return None


def _in_fence(text: str) -> str:
    """What the first Markdown fence holds. Two searches, so that no text takes longer than it is long."""
    opening = _OPENING.search(text)
    closing = _CLOSING.search(text, opening.end() - 1) if opening else None
    return text[opening.end() : closing.start()].strip() if opening and closing else ""
