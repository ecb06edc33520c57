"""Find the evidence for a claim, and compare words: what the regressions of `calibration.json` weigh beside the encoder."""

import math
import re
from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evergold.text.words import STOPWORDS, Text, fold_text, ngrams, sentences, stem

Floats = NDArray[np.float64]
SPANISH_WORDS = """el la los las un una unos unas de del al a en con por para que y o u es son fue era ser esta estan hay se su
sus lo le les como mas pero este esto eso ese si ha han muy ya tiene"""
SMALL_WORDS = STOPWORDS | frozenset(SPANISH_WORDS.split())
WORD = re.compile(r"[^\W_]+(?:[.\-'’][^\W_]+)*")


def stems_of(text: str) -> set[str]:
    """The stems of the words that carry meaning, without accents."""
    return {stem(fold_text(word)) for word in WORD.findall(text) if fold_text(word) not in SMALL_WORDS}


class EvidenceSearch:
    """What the contexts say, with what is needed to find the sentences that bear on a claim."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.sentences = [text for text in map(Text, texts) if text.tokens]
        self._latest: Match | None = None
        self.size = sum(len(text.raw.split()) for text in self.sentences)
        self.stems = [frozenset(text.stems) for text in self.sentences]
        self.where: dict[str, list[int]] = {}
        for index, stems in enumerate(self.stems):
            for word in stems:
                self.where.setdefault(word, []).append(index)

    @cached_property
    def bigrams(self) -> list[frozenset[tuple[str, ...]]]:
        return [frozenset(ngrams(text.stems, 2)) for text in self.sentences]

    def match(self, claim: Text) -> "Match":
        """Lay a claim over the sentences; the latest is kept: its windows and its sentence are chosen one after another."""
        if self._latest is None or self._latest.claim is not claim:
            self._latest = Match(claim, self)
        return self._latest

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
        self.claim, self._evidence = claim, evidence

    @cached_property
    def coverage(self) -> Floats:
        shares: Floats = self.presence @ self.weights / self.weights.sum()
        return shares

    @cached_property
    def bearing(self) -> Floats:
        bigrams = frozenset(ngrams(self.claim.stems, 2))
        shared = np.array([len(bigrams & theirs) for theirs in self._evidence.bigrams]) / max(1, len(bigrams))
        # Coverage weighs rare words, the mean all words alike; pairs of words add what single words miss.
        bearing: Floats = self.coverage + 0.5 * self.presence.mean(axis=1) + 0.5 * shared
        return bearing


WINDOW_WORDS = 120
WINDOW_SENTENCES = 8
LONG_SENTENCE = 60
COVERED = 0.4
"""What a word of the claim still counts once a chosen sentence has it."""


def window(claim: Text, evidence: EvidenceSearch) -> str:
    """The sentences that together hold most of a claim, in their order, at most about `WINDOW_WORDS` words.

    Each next sentence is the one with most of the words that the chosen ones lack; the sentence before the first one
    comes along for what its pronouns stand for. A very long sentence is cut around the words it shares with the claim.
    """
    match = evidence.match(claim)
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
    """The sentence that bears most on a claim and the ones around it, at most about `WINDOW_WORDS` words.

    What a passage says together is lost in single sentences of it, so this is read where `window` does not support a claim.
    """
    best = int(evidence.match(claim).bearing.argmax())
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


def windows(claim: Text, evidence: EvidenceSearch) -> list[str]:
    """What the encoder reads for a claim: one window of the evidence, and where that is not all of it a second one."""
    first = window(claim, evidence)
    # Evidence of one window's size has been read, except what has no word of the claim.
    second = passage(claim, evidence) if evidence.size > WINDOW_WORDS else first
    return [first] if second == first else [first, second]


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


def find_sentence(claim: Text, evidence: EvidenceSearch) -> str:
    """The sentence that bears most on a claim, as it is shown to people; empty where none has a word of it."""
    if not evidence.sentences or not claim.stems:
        return ""
    bearing = evidence.match(claim).bearing
    return evidence.sentences[int(bearing.argmax())].raw if bearing.max() > 0 else ""


def compare_words(claim: Text, window: str) -> dict[str, float]:
    """How much of a claim is copied from a window, and what of it is nowhere there."""
    evidence = EvidenceSearch(sentences(window) or (window,))
    if not evidence.sentences:
        return {"copied": 0.0, "missing": 1.0, "numbers": float(bool(claim.numbers)), "names": float(bool(claim.names))}
    match = evidence.match(claim)
    grams = ngrams(claim.stems, 3)
    trigrams = {gram for text in evidence.sentences for gram in ngrams(text.stems, 3)}
    numbers = frozenset[float]().union(*(text.numbers for text in evidence.sentences)) if claim.numbers else frozenset()
    names = claim.names
    return {
        "copied": sum(gram in trigrams for gram in grams) / len(grams) if grams else 0.0,
        "missing": 1 - float((match.presence.max(axis=0) * match.weights).sum() / match.weights.sum()),
        "numbers": float(bool(claim.numbers - numbers)),
        "names": len(names - evidence.where.keys()) / len(names) if names else 0.0,
    }


def compare_answers(question: str, expected: str, output: str) -> dict[str, float]:
    """The words of the reference that the answer has: all of them as F1, and those that the question lacks as a share.

    Beside them what speaks against an answer: another name instead of the expected one, "no" for "yes", and its length.
    """
    wanted, given, asked = stems_of(expected), stems_of(output), stems_of(question)
    if wanted and given:
        shared, key = len(wanted & given), wanted - asked or wanted
        f1, recall = 2 * shared / (len(wanted) + len(given)), len(key & given) / len(key)
    else:
        f1 = recall = float(expected.strip() == output.strip())
    missed, others = _names(expected) - asked - given, _names(output) - asked - wanted
    return {
        "f1": f1,
        "recall": recall,
        "novel": len(given - wanted - asked) / len(given) if wanted and given else 0.0,
        "name": float(bool(missed and others)),
        "polarity": float(_polarity(expected) * _polarity(output) < 0),
        "length": math.log((len(output.split()) + 3) / (len(expected.split()) + 3)),
    }


def _names(text: str) -> set[str]:
    """The stems of capitalised words that do not open the text."""
    return {stem(fold_text(word)) for word in WORD.findall(text)[1:] if word[0].isupper()}


def _polarity(text: str) -> int:
    """1 for a text that begins with yes, -1 with no, else 0."""
    begins = re.match(r"(yes|si|claro)\b|no\b", fold_text(text))
    return 0 if begins is None else 1 if begins[1] else -1
