"""Texts that are nearly the same.

MinHash over word triples finds the candidates in one pass; each is then measured exactly, so that nothing is called a
copy on an estimate alone.
"""

import re
from collections.abc import Iterator
from typing import Any

THRESHOLD = 0.8
# 32 bands of 4 rows find a pair that shares 0.8 nearly always (1 - (1 - 0.8⁴)³²); the fixed seed makes runs equal.
_PERMUTATIONS, _BANDS, _SEED = 128, 32, 1
_WORD = re.compile(r"\w+")
_MIN_WORDS = 5
"""Shorter texts ("yes", "thanks") are alike without being copies; they count only when equal to the letter."""

Shingles = frozenset[str]


class NearIndex:
    """The texts added so far; asked which of them another is nearly the same as."""

    def __init__(self, threshold: float = THRESHOLD) -> None:
        from rensa import RMinHash, RMinHashLSH

        self._threshold = threshold
        self._hash = RMinHash
        self._lsh = RMinHashLSH(threshold, _PERMUTATIONS, _BANDS)
        self._texts: list[tuple[str, Shingles]] = []

    def add(self, name: str, shingles: Shingles) -> None:
        if shingles:
            self._lsh.insert(len(self._texts), self._of(shingles))
            self._texts.append((name, shingles))

    def similar(self, shingles: Shingles) -> Iterator[tuple[str, float]]:
        """Names of texts that are alike, with how much of their triples is shared."""
        if not shingles:
            return
        for index in self._lsh.query(self._of(shingles)):
            name, others = self._texts[index]
            share = jaccard(shingles, others)
            if share >= self._threshold:
                yield name, share

    def _of(self, shingles: Shingles) -> Any:
        sketch = self._hash(_PERMUTATIONS, _SEED)
        # A frozenset of strings has another order in every process; sorted, the same text gives the same sketch.
        sketch.update(sorted(shingles))
        return sketch


def plain(text: str) -> str:
    """The words alone: texts that differ in case and punctuation only are equal."""
    return " ".join(_WORD.findall(text.casefold()))


def shingles_of(text: str) -> Shingles:
    words = _WORD.findall(text.casefold())
    if len(words) < _MIN_WORDS:
        return frozenset()
    return frozenset(" ".join(words[index : index + 3]) for index in range(len(words) - 2))


def jaccard(one: Shingles, other: Shingles) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0
