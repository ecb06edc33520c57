"""Texts that are nearly the same, and documents that hold the words of a query.

Texts are compared by the word triples they share. Of two sets that share four fifths, the rarest fifth of the one meets the
rarest fifth of the other, so only texts that meet there are measured, and none is missed. With all texts at hand
(`pairs_across`) it is known which triples are rare. An index that is asked text by text (`NearIndex`) takes the longest for
the rarest: of ten thousand questions made from one template it measures every pair, which takes long.

BM25 ranks documents by the words of a query, rare words counting more and long documents less. Whoever has counted words already
passes a way to look them up (`bm25`); whoever asks many questions about the same documents lets an `Index` remember where each
word is.
"""

import heapq
import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from math import ceil
from typing import Generic, NamedTuple, TypeVar

THRESHOLD = 0.8
_WORD = re.compile(r"\w+")
_MIN_WORDS = 5
"""Shorter texts ("yes", "thanks") are alike without being copies; they count only when equal to the letter."""

Shingles = frozenset[str]


class NearIndex:
    """The texts added so far; asked which of them another is nearly the same as."""

    def __init__(self, threshold: float = THRESHOLD) -> None:
        self._threshold = threshold
        self._texts: list[tuple[str, Shingles]] = []
        self._holding: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, name: str, shingles: Shingles) -> None:
        for words in self._choose(shingles):
            self._holding[words].append(len(self._texts))
        self._texts.append((name, shingles))

    def find_similar(self, shingles: Shingles) -> Iterator[tuple[str, float]]:
        """Names of texts that are alike, in the order they were added, with how much of their triples is shared."""
        near = set(chain.from_iterable(self._holding.get(words, ()) for words in self._choose(shingles)))
        for name, others in (self._texts[index] for index in sorted(near)):
            share = jaccard(shingles, others)
            if share >= self._threshold:
                yield name, share

    def _choose(self, shingles: Shingles) -> list[str]:
        return rarest(shingles, self._threshold, lambda words: -len(words))


def normalise(text: str) -> str:
    """The words alone: texts that differ in case and punctuation only are equal."""
    return " ".join(_WORD.findall(text.casefold()))


def shingles_of(text: str) -> Shingles:
    words = _WORD.findall(text.casefold())
    if len(words) < _MIN_WORDS:
        return frozenset()
    return frozenset(" ".join(words[index : index + 3]) for index in range(len(words) - 2))


def jaccard(one: Shingles, other: Shingles) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0


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
        rare = rarest(entry.shingles, threshold, often.__getitem__)
        if not copy:
            groups = ((name, listed) for word in rare for name, listed in known[word].items())
            near = sorted(set(chain.from_iterable(listed for name, listed in groups if name != entry.group)))
            pairs = (Pair(entries[one], entry, jaccard(entries[one].shingles, entry.shingles)) for one in near)
            yield from islice((pair for pair in pairs if pair.share >= threshold), 1)
        # One copy of each group is enough to find the next; more would make each later search longer.
        if entry.group not in same:
            same[entry.group] = entry
            for word in rare:
                known[word][entry.group].append(index)


def rarest(shingles: Shingles, threshold: float, how_often: Callable[[str], int]) -> list[str]:
    """As many as two sets cannot both do without."""
    # The 1e-9 guards against 0.8 · n landing just above an integer in floating point, which would drop one shingle.
    most = len(shingles) - ceil(threshold * len(shingles) - 1e-9) + 1
    return sorted(shingles, key=lambda words: (how_often(words), words))[:most]


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


def count_words(documents: Mapping[Key, Counter[str]]) -> Callable[[str], Sequence[tuple[Key, int]]]:
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

    def find_best(self, wanted: Iterable[str], most: int) -> list[tuple[Key, float]]:
        """The best documents with their scores; equal scores in the order in which they were added."""

        def find_documents(word: str) -> list[tuple[int, int]]:
            return list(zip(*self._postings.get(word, ((), ())), strict=True))

        scores = bm25(wanted, find_documents, self._lengths, self._words)
        # The index breaks ties, so equal scores rank the same on every machine.
        ranked = heapq.nsmallest(most, scores.items(), key=lambda item: (-item[1], item[0]))
        return [(self._keys[index], score) for index, score in ranked]
