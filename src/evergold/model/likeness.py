"""Likeness of two JSON values: 1 for equal, the share of equal parts for objects and lists, 0 for the rest."""

from collections.abc import Callable
from typing import Any

Leaf = Callable[[Any, Any], float]


def same(one: Any, other: Any) -> float:
    """Equal values of one type; 1 and 1.0 are one number, True is not a number."""
    if isinstance(one, bool) or isinstance(other, bool):
        # In Python True == 1; in JSON they are different values.
        return float(one is other)
    return float(one == other)


def likeness(one: Any, other: Any, leaf: Leaf = same) -> float:
    """Objects: the mean over the union of their keys. Lists: the mean over positions of the longer."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = one.keys() | other.keys()
        shared = (likeness(one[key], other[key], leaf) for key in keys if key in one and key in other)
        return sum(shared) / len(keys) if keys else 1.0
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        longest = max(len(one), len(other))
        return sum(likeness(a, b, leaf) for a, b in zip(one, other, strict=False)) / longest if longest else 1.0
    return leaf(one, other)
