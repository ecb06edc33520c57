"""BM25: which documents hold the words of a query, rare words counting more and long documents less.

The formula stands here once. Whoever has counted words already passes a way to look them up (`bm25`); whoever asks many
questions about the same documents lets an `Index` remember where each word is.
"""

import heapq
import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

# The usual constants: K1 bounds the weight of a repeated word, B how much long documents lose.
K1, B = 1.2, 0.75
Key = TypeVar("Key")


def bm25(
    wanted: Iterable[str],
    holding: Callable[[str], Sequence[tuple[Key, int]]],
    lengths: Mapping[Key, int],
    words: int | None = None,
) -> dict[Key, float]:
    """Scores of the documents that hold any wanted word. `holding` gives (document, how often) for one word.

    `words` is the length of all documents together, where the caller knows it.
    """
    # No document or only empty ones: any mean but 0 will do, since no score uses it.
    mean = (sum(lengths.values()) if words is None else words) / max(len(lengths), 1) or 1
    scores: dict[Key, float] = {}
    # A word that a query repeats counts once.
    for word in dict.fromkeys(wanted):
        result = holding(word)
        # The "+ 1" inside the logarithm keeps words that stand in most documents from counting against a document.
        rarity = math.log(1 + (len(lengths) - len(result) + 0.5) / (len(result) + 0.5))
        for key, often in result:
            weight = often * (K1 + 1) / (often + K1 * (1 - B + B * lengths[key] / mean))
            scores[key] = scores.get(key, 0.0) + rarity * weight
    return scores


def counted(documents: Mapping[Key, Counter[str]]) -> Callable[[str], Sequence[tuple[Key, int]]]:
    """`holding` over documents whose words are counted: for a query or two, where no index would pay."""
    return lambda word: [(key, counts[word]) for key, counts in documents.items() if word in counts]


class Index(Generic[Key]):
    """Documents added once, asked often; eight bytes for each word of each document."""

    def __init__(self) -> None:
        self._keys: list[Key] = []
        self._lengths: dict[int, int] = {}
        self._words = 0
        self._postings: dict[str, tuple[array[int], array[int]]] = {}

    def add(self, key: Key, words: Iterable[str]) -> None:
        counts = Counter(words)
        self._lengths[len(self._keys)] = counts.total()
        self._words += counts.total()
        self._keys.append(key)
        for word, often in counts.items():
            # "I" is four bytes: two arrays make the eight bytes a word of the class docstring.
            document_indexes, times = self._postings.setdefault(word, (array("I"), array("I")))
            document_indexes.append(len(self._keys) - 1)
            times.append(often)

    def best(self, wanted: Iterable[str], most: int) -> list[tuple[Key, float]]:
        """The best documents with their scores; equal scores in the order in which they were added."""
        scores = bm25(wanted, self._holding, self._lengths, self._words)
        # The index breaks ties, so equal scores rank the same on every machine.
        ranked = heapq.nsmallest(most, scores.items(), key=lambda item: (-item[1], item[0]))
        return [(self._keys[index], score) for index, score in ranked]

    def _holding(self, word: str) -> list[tuple[int, int]]:
        document_indexes, times = self._postings.get(word, ((), ()))
        return list(zip(document_indexes, times, strict=True))
