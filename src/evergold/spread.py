"""The seam for work in parts: whoever has a function done for many parts, here or by the workers of a cluster.

Stages take a `Spread` and never ask who does the work. What goes through it is pickled: a function of a module (or a `partial`
of one) and parts that are plain values. Workers compute; the one process that gave the command writes.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


class Spread(Protocol):
    """Has a function done for each part, and gives the results in the order of the parts."""

    def __call__(self, work: Callable[[Part], Result], parts: Iterable[Part], /) -> Iterator[Result]: ...


def spread_here(work: Callable[[Part], Result], parts: Iterable[Part], /) -> Iterator[Result]:
    """Do the parts in this process, one when its result is asked for."""
    return map(work, parts)
