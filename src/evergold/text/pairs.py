"""Find pairs of nearly equal texts between groups, when all of them are in memory.

An index that is asked text by text (`near.py`) proposes every text that is somewhat alike; of ten thousand questions made
from one template that is all of them, and measuring every pair takes long. With all texts at hand there is a better filter,
and it misses nothing: of two sets that share four fifths, the rarest fifth of the one meets the rarest fifth of the other.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from math import ceil
from typing import NamedTuple

from evergold.text.near import THRESHOLD, Shingles, jaccard


class TextEntry(NamedTuple):
    """A text by name, with the group that it must not leave."""

    name: str
    group: str
    shingles: Shingles


class Pair(NamedTuple):
    first: TextEntry
    second: TextEntry
    share: float


def pairs_across(entries: Sequence[TextEntry], threshold: float = THRESHOLD) -> Iterator[Pair]:
    """Each text that is nearly the same as an earlier one of another group, with the first such one.

    A text without shingles is like no other. One pair a text: of a thousand copies there are half a million pairs, and
    they say no more.
    """
    often = Counter(chain.from_iterable(entry.shingles for entry in entries))
    copies: defaultdict[Shingles, dict[str, TextEntry]] = defaultdict(dict)
    known: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index, entry in enumerate(entries):
        if not entry.shingles:
            continue
        # Exact copies are found by their set alone: a template repeated ten thousand times costs one lookup each.
        same = copies[entry.shingles]
        if copy := next((one for group, one in same.items() if group != entry.group), None):
            yield Pair(copy, entry, 1.0)
        rare = rarest(entry.shingles, often, threshold)
        if not copy:
            near = sorted({one for word in rare for one in _of_others(known[word], entry.group)})
            shares = ((one, jaccard(entries[one].shingles, entry.shingles)) for one in near)
            yield from (Pair(entries[one], entry, share) for one, share in _first(shares, threshold))
        # One copy of each group is enough to find the next; more would make each later search longer.
        if entry.group not in same:
            same[entry.group] = entry
            for word in rare:
                known[word][entry.group].append(index)


def rarest(shingles: Shingles, often: Counter[str], threshold: float) -> list[str]:
    """As many as two sets cannot both do without."""
    # The 1e-9 guards against 0.8 · n landing just above an integer in floating point, which would drop one shingle.
    most = len(shingles) - ceil(threshold * len(shingles) - 1e-9) + 1
    return sorted(shingles, key=lambda word: (often[word], word))[:most]


def _of_others(by_group: dict[str, list[int]], group: str) -> Iterator[int]:
    return chain.from_iterable(result for name, result in by_group.items() if name != group)


def _first(shares: Iterator[tuple[int, float]], threshold: float) -> Iterator[tuple[int, float]]:
    for one, share in shares:
        if share >= threshold:
            yield one, share
            return
