"""Make items ahead of their use, by a thread."""

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from evergold.spread import in_order as in_order

Item = TypeVar("Item")


def ahead(items: Iterator[Item], most: int) -> Generator[Item]:
    """The items, made by a thread that is up to `most` of them ahead."""
    with ThreadPoolExecutor(1) as thread:
        # `None` marks the end: `next` gives it where the items are exhausted.
        waiting = deque(thread.submit(next, items, None) for _ in range(most))
        try:
            while (item := waiting.popleft().result()) is not None:
                waiting.append(thread.submit(next, items, None))
                yield item
        finally:
            for future in waiting:
                future.cancel()
