"""The JSON object that a model's reply is, or holds."""

import re
from json import JSONDecodeError, JSONDecoder
from typing import Any

_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)\n\s*```", re.DOTALL | re.IGNORECASE)


def parse_object(text: str) -> dict[str, Any] | None:
    """Whole, in a Markdown fence, or after some words."""
    fenced = _FENCED.search(text)
    for candidate in (text.strip(), fenced.group(1) if fenced else "", text[text.find("{") :]):
        try:
            value, _ = JSONDecoder().raw_decode(candidate)
        except (JSONDecodeError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return None
