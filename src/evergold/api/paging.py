"""Bound the size of a page: 500 traces of a megabyte each would be half a gigabyte in one answer.

A page that would be too large ends earlier; its `next` goes on from there, as at the end of any page.
"""

from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel

Item = TypeVar("Item", bound=BaseModel)
Page = Callable[[int, str | None], tuple[list[Item], str | None]]

AT_ONCE = 50  # items that are read without a look at their size: a page of the web app is one question to the database
MOST_CHARACTERS = 8_000_000


def bounded(page: Page[Item], limit: int, before: str | None) -> tuple[list[Item], str | None]:
    """Read at most `limit` items, fewer where they are large, and the cursor of what follows."""
    items, cursor = page(min(limit, AT_ONCE), before)
    while cursor is not None and len(items) < limit:
        used = sum(map(_size, items))
        fitting = int((MOST_CHARACTERS - used) / max(1.0, used / len(items)))
        if fitting < 1:
            break
        more, cursor = page(min(limit - len(items), fitting), cursor)
        items += more
    return items, cursor


def _size(item: BaseModel) -> int:
    return sum(len(value if isinstance(value, str) else str(value)) for value in vars(item).values())
