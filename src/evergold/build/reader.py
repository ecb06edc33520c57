"""A line of JSON → the bytes of its fields, without decoding them.

Values are never decoded and encoded again. msgspec checks that the line is JSON and hands every field over as the bytes
it was written in. So a number like `1E400` or `0.10`, a date-like string, a 39-digit integer or a repeated key deep inside
`metadata` arrives as it left, and there is less work to do.

This is the careful reader: any line, one at a time. `lines.py` looks at many lines at once, if they hold no surprise.
"""

import io
import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

Parts: TypeAlias = dict[str, bytes]
"""Dotted path → the bytes of its value."""

_decode_object = msgspec.json.Decoder(dict[str, Raw]).decode
_SPACINGS = ((b", ", b": "), (b",", b":"))
"""How programs write JSON on one line: between members, and behind a key."""


class Refusal(Exception):
    """Why one line cannot become a record: a reason to count by, and the detail for a person."""

    def __init__(self, reason: str, detail: str = "", task_id: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail
        self.task_id = task_id


def read_carefully(line: bytes) -> Parts:
    """The fields of any JSON object, one level of `rag` opened."""
    parts: Parts = {}
    for key, value in members_of(line).items():
        if key != "rag":
            parts[key] = value
        elif value[:1] == b"{":
            parts |= {f"rag.{name}": data for name, data in members_of(value).items()}
        elif value != b"null":
            raise Refusal("wrong type", f"rag must be an object, not {shown(value)}")
    return parts


def members_of(data: bytes) -> dict[str, bytes]:
    """The members of a JSON object, none of them given twice."""
    try:
        members = {key: bytes(raw) for key, raw in _decode_object(data).items()}
        # A repeated key is only possible where the bytes are not the members put together again.
        if not _is_all(data.strip(), members):
            _require_unique_keys(data)
    except msgspec.ValidationError as problem:
        raise Refusal("not an object", str(problem)) from None
    except RecursionError:
        raise Refusal("not JSON", "nested too deeply") from None
    except msgspec.DecodeError as problem:
        raise Refusal("not JSON", _why_not(data, str(problem))) from None
    return members


def _why_not(line: bytes, message: str) -> str:
    """Python writes two things that are not JSON; whoever meets them wants to know which."""
    try:
        # parse_int avoids Python's limit on the digits of an integer.
        json.loads(line, parse_int=str)
    except (ValueError, RecursionError):
        return message
    return "NaN and Infinity are not JSON, and half of a surrogate pair is not text"


def _is_all(data: bytes, members: Mapping[str, bytes]) -> bool:
    """Whether these members, written with one of the usual spacings, are the very bytes of the object.

    Of a key that is given twice the decoder keeps only the last, and the bytes differ.
    """
    return any(
        # Comparing bytes with what the members give is far cheaper than parsing the keys a second time.
        data == b"{%b}" % comma.join(b'"%b"%b%b' % (key.encode(), colon, value) for key, value in members.items())
        for comma, colon in _SPACINGS
    )


class _Pairs(list[tuple[str, Any]]):
    """An object as the standard library saw it, repeated keys included."""


def _require_unique_keys(data: bytes) -> None:
    names = [key for key, _ in json.loads(data, object_pairs_hook=_Pairs, parse_int=str, parse_float=str)]
    for name in names:
        if names.count(name) > 1:
            raise Refusal("repeated key", f"{name!r} is given {names.count(name)} times in one object")


def require_utf8(line: bytes) -> None:
    if line.isascii():
        return
    try:
        line.decode()
    except UnicodeDecodeError as problem:
        raise Refusal("not UTF-8", f"byte {problem.start + 1} of the line is 0x{line[problem.start]:02x}") from None


def shown(value: bytes, most: int = 60) -> str:
    """The beginning of a value, for a message."""
    text = value[: 4 * most].decode("utf-8", "replace")
    return text if len(text) <= most else text[:most] + "…"


def lines_of(data: bytes) -> Iterator[bytes]:
    """The lines of a range, each with its line break."""
    return iter(io.BytesIO(data))
