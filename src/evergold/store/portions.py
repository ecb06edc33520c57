"""Write much in many short transactions: each takes as much as can be written in a fifth of a second.

Whoever else writes waits for the transaction under way. How long a thousand traces take depends on their texts, on the checks in
force and on the machine, so the size is not a number that anybody could choose: it follows what the last transaction took.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from sqlalchemy import Connection

T = TypeVar("T")

HELD_SECONDS = 0.2  # that a transaction should take
FIRST = 100
MOST_GROWTH = 4.0  # from one transaction to the next: a quick one may have had nothing to change
# A transaction has costs that do not shrink with its size; below a few items only really slow ones, as a tagger of seconds, do.
FEW, SLOW_SECONDS = 25, 2.0


class Portion:
    """How many items the next transaction takes; at most `most`.

    >>> portion = Portion(most=1000)
    >>> portion.took(0.4)  # twice as long as it should have
    >>> portion.size
    50
    """

    def __init__(self, most: int, first: int | None = None) -> None:
        self._most = most
        self.size = min(first or FIRST, most)

    def timed(self, work: Callable[[Connection], T]) -> Callable[[Connection], T]:
        """The same work, whose time decides about the next size."""

        def run(connection: Connection) -> T:
            began = time.perf_counter()
            result = work(connection)
            self.took(time.perf_counter() - began)
            return result

        return run

    def took(self, seconds: float) -> None:
        growth = min(MOST_GROWTH, HELD_SECONDS / max(seconds, 1e-6))
        fewest = 1 if seconds > SLOW_SECONDS else min(FEW, self.size)
        self.size = max(fewest, min(self._most, int(self.size * growth) or 1))

    def of(self, items: Iterable[T]) -> Iterator[Sequence[T]]:
        """The items in lists, each of the size that holds when it is asked for."""
        source = iter(items)
        while batch := list(islice(source, self.size)):
            yield batch
