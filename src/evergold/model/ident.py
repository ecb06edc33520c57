"""Identity by content: one canonical JSON, one tagged hash."""

import hashlib
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
