"""Values of any shape, within what can be kept: how deep, how many, how large a number.

What writes JSON gives up some hundred levels down and past 64 bits; a million keys in one record would hold up every other.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator

from evergold.model.values import in_utc

UtcTime = Annotated[datetime, AfterValidator(in_utc)]
MOST_LEVELS = 100
MOST_KEYS = 10_000  # of one object
MOST_VALUES = 100_000  # of one record: a conversation of 5,000 turns fits
LARGEST = 2**63


def require_shallow(value: Any, most: int = MOST_LEVELS) -> Any:
    """The value, unless it is nested too deep to be written anywhere."""
    inner: Iterable[Any] = (value,)
    # Level by level instead of recursively: a deep value would exhaust the stack of the very check for it.
    for _ in range(most + 1):
        inner = [part for whole in inner for part in _parts(whole) if isinstance(part, dict | list | tuple)]
        if not inner:
            return value
    raise ValueError(f"values are nested more than {most} levels deep")


def require_storable(value: dict[str, Any]) -> dict[str, Any]:
    """The value, unless it is nested too deep, has too many keys or values, or holds a number over 64 bits."""
    if not value:
        return value
    inner: list[Any] = [value]
    values = 0
    for _ in range(MOST_LEVELS + 1):
        following: list[Any] = []
        for whole in inner:
            values += len(whole)
            if isinstance(whole, dict) and len(whole) > MOST_KEYS:
                advice = "leave out what is not needed, or write them as a text"
                raise ValueError(f"an object has more than {MOST_KEYS} keys; {advice}")
            if values > MOST_VALUES:
                raise ValueError(f"a record holds more than {MOST_VALUES} values; write a long list as a text")
            following += [part for part in _parts(whole) if _is_container(part)]
        if not following:
            return value
        inner = following
    raise ValueError(f"values are nested more than {MOST_LEVELS} levels deep")


def _is_container(value: Any) -> bool:
    # From -2⁶³ to 2⁶⁴ - 1: what orjson writes, signed or unsigned.
    if isinstance(value, int) and not -LARGEST <= value < 2 * LARGEST:
        raise ValueError(f"number {str(value)[:20]}… is over 64 bits; send it as a text")
    return isinstance(value, dict | list | tuple)


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


Values = Annotated[dict[str, Any], AfterValidator(require_storable)]
