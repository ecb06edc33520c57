"""Convert values to the form of the tables: times as sortable UTC text, JSON as text."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeVar

import orjson

T = TypeVar("T")
NUL = "\\u0000"
# An even number of backslashes before it: `\\\\u0000` is a backslash and the text "u0000", not a NUL.
NUL_IN_JSON = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def stamp(moment: datetime | None) -> str | None:
    """`2026-01-02T03:04:05.678Z`; finer digits are kept when there are any."""
    if moment is None:
        return None
    # Texts of different length still sort right, as long as the longer one has more digits behind the same
    # milliseconds.
    spec = "microseconds" if moment.microsecond % 1000 else "milliseconds"
    return moment.astimezone(UTC).isoformat(timespec=spec).replace("+00:00", "Z")


def now() -> str:
    moment = datetime.now(UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def text_or_none(value: Any) -> str | None:
    """A value that has to be a text to stand in a column of its own; anything else has no place there."""
    return storable(value) if isinstance(value, str) else None


def storable(text: str | None) -> str | None:
    """PostgreSQL's texts hold every character but NUL; it becomes the sign for an unreadable one, in SQLite too."""
    return text.replace("\x00", "\ufffd") if text and "\x00" in text else text


def dumps(value: Any) -> str:
    """JSON that both databases can read into: PostgreSQL refuses NUL in it even as an escape."""
    try:
        text = orjson.dumps(value).decode()
    except TypeError:  # keys that are no texts, which nearly no value has and every other pays for
        text = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    return NUL_IN_JSON.sub("\\1\ufffd", text) if NUL in text else text


def loads(text: str | None) -> Any:
    return orjson.loads(text) if text else {}


def batches(items: Iterable[T], size: int = 500) -> Iterator[Sequence[T]]:
    """Lists of at most `size`, so that a stream of any length fits the database's limits."""
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch
