"""Evidence: sentences indexed once, asked about many claims."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from evergold.text.embed import Embedder, Vectors
from evergold.text.words import STOPWORDS, Text, ngrams, sentences

Floats = NDArray[np.float64]


class EvidenceSearch:
    """What the contexts say, with what is needed to find the sentences that bear on a claim."""

    def __init__(self, texts: Iterable[str], embedder: Embedder | None) -> None:
        self.embedder = embedder
        self.sentences = [text for text in map(Text, texts) if text.tokens]
        self.size = sum(len(text.raw.split()) for text in self.sentences)
        self.stems = [frozenset(text.stems) for text in self.sentences]
        self.bigrams = [frozenset(ngrams(text.stems, 2)) for text in self.sentences]
        self.where: dict[str, list[int]] = {}
        for index, stems in enumerate(self.stems):
            for word in stems:
                self.where.setdefault(word, []).append(index)
        self.grams = {n: {gram for text in self.sentences for gram in ngrams(text.stems, n)} for n in (2, 3, 4)}
        self.numbers: frozenset[float] = frozenset().union(*(text.numbers for text in self.sentences))
        words = list(dict.fromkeys(word for text in self.sentences for word in text.words))
        self.words = [word for word in words if word not in STOPWORDS] or words
        self.vectors: Vectors | None = None
        self.word_vectors: Vectors | None = None
        if embedder is not None and self.words:
            self.vectors = embedder.vectors([text.raw for text in self.sentences])
            self.word_vectors = embedder.word_vectors(self.words)

    @classmethod
    def of_passages(cls, passages: Sequence[str], embedder: Embedder | None) -> "EvidenceSearch":
        return cls([sentence for passage in passages for sentence in sentences(passage)], embedder)

    def weight(self, word: str) -> float:
        """A word in few sentences tells more than one in all of them."""
        # A word in all sentences still counts a little: its absence in the claim's sentence means something.
        return max(0.1, math.log((len(self.sentences) + 1) / (len(self.where.get(word, ())) + 0.5)))


class Match:
    """A claim laid over the evidence: which of its words each sentence has, and which sentences bear on it most."""

    def __init__(self, claim: Text, evidence: EvidenceSearch) -> None:
        self.words = list(dict.fromkeys(claim.content))
        self.weights: Floats = np.array([evidence.weight(word) for word in self.words])
        self.presence: Floats = np.zeros((len(evidence.sentences), len(self.words)))
        for column, word in enumerate(self.words):
            self.presence[evidence.where.get(word, []), column] = 1.0
        self.coverage: Floats = self.presence @ self.weights / self.weights.sum()
        bigrams = frozenset(ngrams(claim.stems, 2))
        shared = np.array([len(bigrams & theirs) for theirs in evidence.bigrams]) / max(1, len(bigrams))
        self.cosine: Floats = np.zeros(len(evidence.sentences))
        if evidence.vectors is not None and evidence.embedder is not None:
            self.cosine = evidence.vectors @ evidence.embedder.vectors([claim.raw])[0]
        # Coverage weighs rare words, the mean all words alike; pairs of words and meaning add what single words miss.
        self.bearing: Floats = self.coverage + 0.5 * self.presence.mean(axis=1) + 0.5 * shared + self.cosine
        self.order = np.argsort(-self.bearing, kind="stable")


WINDOW_WORDS = 150
WINDOW_SENTENCES = 8
LONG_SENTENCE = 60
COVERED = 0.4
"""What a word of the claim still counts once a chosen sentence has it."""


def window(claim: Text, evidence: EvidenceSearch) -> str:
    """The sentences that together hold most of a claim, in their order, at most about `WINDOW_WORDS` words.

    Each next sentence is the one with most of the words that the chosen ones lack; the sentence before the first one
    comes along for what its pronouns stand for. A very long sentence is cut around the words it shares with the claim.
    """
    match = Match(claim, evidence)
    left = match.weights / match.weights.sum()
    chosen: dict[int, str] = {}
    room = WINDOW_WORDS
    gain = match.bearing
    for step in range(WINDOW_SENTENCES):
        ranked = [int(index) for index in np.argsort(-gain, kind="stable")[: 2 * WINDOW_SENTENCES] if gain[index] > 0]
        wanted = [index for index in ranked if index not in chosen] or ([0] if not chosen else [])
        # After two sentences the one before the best: pronouns refer to it.
        if step == 2:
            wanted = [next(iter(chosen)) - 1, *wanted]
        for index in wanted:
            text = _excerpt(evidence.sentences[index], claim) if index >= 0 and index not in chosen else ""
            size = len(text.split())
            if text and (not chosen or size <= room):
                chosen[index] = text
                room -= size
                left = np.where(match.presence[index] > 0, left * COVERED, left)
                break
        # Words that are covered count less, so the next sentence adds something new.
        gain = match.presence @ left + 0.3 * (match.bearing - match.coverage)
    return " ".join(chosen[index] for index in sorted(chosen))


def passage(claim: Text, evidence: EvidenceSearch) -> str:
    """The sentence that bears most on a claim and the ones before and after it, at most about `WINDOW_WORDS` words."""
    best = int(Match(claim, evidence).order[0])
    chosen = {best: _excerpt(evidence.sentences[best], claim)}
    room = WINDOW_WORDS - len(chosen[best].split())
    ends = {-1: best, 1: best}
    while ends:
        for step, end in list(ends.items()):
            index = end + step
            text = _excerpt(evidence.sentences[index], claim) if 0 <= index < len(evidence.sentences) else ""
            if not text or len(text.split()) > room:
                del ends[step]
                continue
            chosen[index], ends[step] = text, index
            room -= len(text.split())
    return " ".join(chosen[index] for index in sorted(chosen))


def _excerpt(sentence: Text, claim: Text) -> str:
    """A sentence, or of a very long one the stretch that shares most words with the claim."""
    words = sentence.raw.split()
    if len(words) <= LONG_SENTENCE:
        return sentence.raw
    shared = set(claim.content)
    hits = np.cumsum([0, *(bool(shared & set(Text(word).content)) for word in words)])
    starts = np.arange(len(words) - LONG_SENTENCE + 1)
    best = int(np.argmax(hits[starts + LONG_SENTENCE] - hits[starts]))
    return " ".join(words[best : best + LONG_SENTENCE])
