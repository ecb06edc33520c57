"""Every way to break one value of a JSON document: readers must survive all of them."""

from collections.abc import Iterator
from typing import Any

ODD: list[Any] = [None, 5, -1, 1e300, True, "x", "", [], [5], ["x"], {}, {"a": 5}, [{"a": 5}], 10**18]


def mutations(value: Any) -> Iterator[Any]:
    """The value with one part of it, at any depth, replaced by something odd, or left out."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield {other: kept for other, kept in value.items() if other != key}
            yield from ({**value, key: changed} for changed in (*ODD, *mutations(item)))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from ([*value[:at], changed, *value[at + 1 :]] for changed in (*ODD, *mutations(item)))
