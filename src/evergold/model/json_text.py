"""Parse a JSON body. What only a strict parser refuses is repaired: senders cut texts in the middle of a character.

JavaScript writes such a half as `\\ud83d` alone, which is no Unicode text. One of them in one record must not sink a batch.
"""

import json
import re
from typing import Any

import orjson

HALF = re.compile("[\ud800-\udfff]")
UNREADABLE_SIGN = "\ufffd"


def load_json(body: bytes) -> Any:
    """The document; a half of a character becomes the sign for an unreadable one. orjson.JSONDecodeError if it is none."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        try:
            return _repaired(json.loads(body.decode("utf-8", "replace"), parse_constant=_refused))
        # The first error is raised: it names the place in the body as it was sent.
        except (ValueError, RecursionError):
            raise error from None


def _refused(constant: str) -> Any:
    """NaN and infinity are no JSON, repaired or not."""
    raise ValueError(f"{constant} is no JSON")


def _repaired(value: Any) -> Any:
    if isinstance(value, str):
        return HALF.sub(UNREADABLE_SIGN, value)
    if isinstance(value, list):
        return [_repaired(item) for item in value]
    if isinstance(value, dict):
        return {_repaired(key): _repaired(item) for key, item in value.items()}
    return value
