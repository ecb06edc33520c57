"""Values: canonical JSON and its hash, times in UTC, a JSON parser that repairs cut characters, likeness of two JSON values;
what a text or the metadata of a trace looks like.

JavaScript writes half of a cut character as a lone surrogate, which is no Unicode text. One of them in one record must not
reject a batch.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

HASH_TAG = "sha256:"
# 48 bits: exact in a double, and in the numeric type that SQL computes the same share with.
UNIT_HEX_DIGITS = 12


def canonical_json(value: Any) -> bytes:
    """The same bytes for the same value, whatever the order its keys were written in."""
    # Non-string keys become text as in any JSON, so the hash does not depend on whether a value was written and read
    # again.
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)


def hash_bytes(data: bytes) -> str:
    """A tagged hash, so that a later algorithm can stand beside this one."""
    return HASH_TAG + hashlib.sha256(data).hexdigest()


def content_hash(value: Any) -> str:
    return hash_bytes(canonical_json(value))


def unit_interval(key: str) -> float:
    """A number in [0, 1) fixed by `key`: sampling decides by it, so that a retry decides the same.

    MD5, because PostgreSQL has it built in and the same number must come out of SQL; nothing secret hangs on it.
    """
    digest = hashlib.md5(key.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    return int(digest[:UNIT_HEX_DIGITS], 16) / float(16**UNIT_HEX_DIGITS)


def in_utc(value: datetime) -> datetime:
    """Times are UTC; one without a zone is taken as UTC."""
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    try:
        # 0001-01-01T00:00+14:00 lies before year 1 in UTC.
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("in UTC this time falls outside the years 1 to 9999") from None


def seconds_between(start: str | None, end: str | None) -> float | None:
    """Seconds from one stored time to another; None when either is missing or unreadable."""
    if not start or not end:
        return None
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return None


HALF = re.compile("[\ud800-\udfff]")
UNREADABLE_SIGN = "\ufffd"


def load_json(body: bytes) -> Any:
    """The document; a half of a character becomes the sign for an unreadable one. orjson.JSONDecodeError if it is none."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        try:
            return _repair(json.loads(body.decode("utf-8", "replace"), parse_constant=_refuse))
        # The first error is raised: it names the place in the body as it was sent.
        except (ValueError, RecursionError):
            raise error from None


def _refuse(constant: str) -> Any:
    """NaN and infinity are no JSON, repaired or not."""
    raise ValueError(f"{constant} is no JSON")


def _repair(value: Any) -> Any:
    if isinstance(value, str):
        return HALF.sub(UNREADABLE_SIGN, value)
    if isinstance(value, list):
        return [_repair(item) for item in value]
    if isinstance(value, dict):
        return {_repair(key): _repair(item) for key, item in value.items()}
    return value


Leaf = Callable[[Any, Any], float]


def compare_values(one: Any, other: Any) -> float:
    """Equal values of one type; 1 and 1.0 are one number, True is not a number."""
    if isinstance(one, bool) or isinstance(other, bool):
        # In Python True == 1; in JSON they are different values.
        return float(one is other)
    return float(one == other)


def likeness(one: Any, other: Any, leaf: Leaf = compare_values) -> float:
    """Objects: the mean over the union of their keys. Lists: the mean over positions of the longer."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = one.keys() | other.keys()
        shared = (likeness(one[key], other[key], leaf) for key in keys if key in one and key in other)
        return sum(shared) / len(keys) if keys else 1.0
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        longest = max(len(one), len(other))
        return sum(likeness(a, b, leaf) for a, b in zip(one, other, strict=False)) / longest if longest else 1.0
    return leaf(one, other)


def is_raw(value: str | None) -> bool:
    """Whether a text looks like the JSON of messages, which no person asked or answered with."""
    return bool(value) and str(value).lstrip()[:1] in ("{", "[")


def app_of(name: str, metadata: Mapping[str, Any]) -> str:
    """Name the app of a trace: its service and the name of its first span, as far as they are known."""
    services = metadata.get("services")
    service = services[0] if isinstance(services, list) and services else None
    return "/".join(part for part in (service, name) if isinstance(part, str) and part)
