"""Align the lines of two texts: equal lines, in order, anchored where a line is unique.

Code repeats itself: braces, blank lines, `return nil`. A line that stands once in both texts is a sure anchor; from an
anchor the lines follow outward as long as they agree, and between two anchors the same is done again. The rest
between two anchors is matched as `diff` would; the rest outside all anchors is not matched at all.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple

# Matching a gap is quadratic. Longer gaps are rewritten files, where equal lines are more often chance than origin.
LARGEST_GAP = 400


class _Region(NamedTuple):
    """Lines `first…last` of one text against `start…end` of the other; `left` and `right`: that end is sure."""

    first: int
    last: int
    start: int
    end: int
    left: bool
    right: bool


def align(texts: Sequence[str], base: Sequence[str], whole: bool = False) -> list[int]:
    """For each line of `texts` the number (from 1) of its line in `base`; 0 where it has none.

    `whole` says that both are complete files, so that their beginnings and ends belong together.
    """
    result = [0] * len(texts)
    work = [_Region(0, len(texts), 0, len(base), whole, whole)]
    # A stack instead of recursion: a file of many thousand unique lines would exceed Python's limit.
    while work:
        region = _trimmed(texts, base, result, work.pop())
        if region.first >= region.last or region.start >= region.end:
            continue
        anchors = _anchors(texts, base, region)
        if not anchors:
            # A region with an open end has no known neighbour, so equal lines in it prove nothing.
            if region.left and region.right:
                _match_gap(texts, base, result, region)
            continue
        for at, to in anchors:
            result[at] = to + 1
        work += _between(region, anchors)
    return result


def _between(region: _Region, anchors: list[tuple[int, int]]) -> list[_Region]:
    edges = [(region.first - 1, region.start - 1), *anchors, (region.last, region.end)]
    final = len(edges) - 2
    return [
        _Region(a + 1, c, b + 1, d, at > 0 or region.left, at < final or region.right)
        for at, ((a, b), (c, d)) in enumerate(pairwise(edges))
        if a + 1 < c and b + 1 < d
    ]


def _trimmed(texts: Sequence[str], base: Sequence[str], results: list[int], region: _Region) -> _Region:
    """Equal lines next to a sure end are each other's."""
    first, last, start, end, left, right = region
    while left and first < last and start < end and texts[first] == base[start]:
        results[first] = start + 1
        first, start = first + 1, start + 1
    while right and first < last and start < end and texts[last - 1] == base[end - 1]:
        results[last - 1] = end
        last, end = last - 1, end - 1
    return _Region(first, last, start, end, left, right)


def _anchors(texts: Sequence[str], base: Sequence[str], region: _Region) -> list[tuple[int, int]]:
    """Pairs of lines that stand once in both regions, the longest run of them that is in order."""
    ours = Counter(texts[region.first : region.last])
    theirs = Counter(base[region.start : region.end])
    # Blank lines are no anchors even where there is only one: their text says nothing.
    where = {base[at]: at for at in range(region.start, region.end) if theirs[base[at]] == 1 and base[at].strip()}
    lines = range(region.first, region.last)
    return _in_order([(at, where[texts[at]]) for at in lines if ours[texts[at]] == 1 and texts[at] in where])


def _in_order(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence whose second numbers rise."""
    # Patience sorting: tails[n] is the smallest last value of a rising run of n + 1 pairs.
    tails: list[int] = []
    last_of: list[int] = []
    before: list[int] = []
    for index, (_, value) in enumerate(pairs):
        at = bisect_left(tails, value)
        if at == len(tails):
            tails.append(value)
            last_of.append(index)
        else:
            tails[at], last_of[at] = value, index
        before.append(last_of[at - 1] if at else -1)
    chain: list[tuple[int, int]] = []
    index = last_of[-1] if last_of else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


def _match_gap(texts: Sequence[str], base: Sequence[str], results: list[int], region: _Region) -> None:
    first, last, start, end, _, _ = region
    if last - first > LARGEST_GAP or end - start > LARGEST_GAP:
        return
    # autojunk would drop lines that are frequent in long texts, and braces are lines of base as well.
    matcher = SequenceMatcher(None, texts[first:last], base[start:end], autojunk=False)
    for block in matcher.get_matching_blocks():
        for offset in range(block.size):
            results[first + block.a + offset] = start + block.b + offset + 1
