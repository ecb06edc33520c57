"""The support of claims by evidence: features of words, the answer of the small model, one calibrated probability.

The features are a row of numbers, each of which a person can check. Text that is copied and text that is rephrased fail
in different ways. For copied text what counts is how much of it stands together in the evidence: long n-grams, long
runs, words in one order in one sentence. For rephrased text what counts is what is missing: words, numbers, names,
pairs of words that never meet. So the second kind is weighed by the share of trigrams that are not copied. A name or a
number from nowhere counts in full in either. Each feature has a direction known beforehand; the fit may not turn it
around (`RISING`). Its weights are data (`regression.json`), made by `scripts/fit_offline_judge.py`.

The model sees refutation and paraphrase; the words see what long evidence lacks. One regression weighs the two; its weights
and the thresholds of verdicts are in `combination.json`, made by `scripts/judge_model/combine.py`.

The small model reads a window of the evidence for each claim, and perhaps a second one. The first window is put
together of the sentences with most of a claim's words. Where it does not support the claim, the consecutive sentences
around the best one are read as well: what a passage says together is lost in single sentences of it.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq

from evergold.judge.small_model import SUPPORTED, Array, ClaimModel
from evergold.model.values import hash_bytes
from evergold.text.words import Text, ngrams

Floats = NDArray[np.float64]


class EvidenceSearch:
    """What the contexts say, with what is needed to find the sentences that bear on a claim."""

    def __init__(self, texts: Iterable[str]) -> None:
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
        # Coverage weighs rare words, the mean all words alike; pairs of words add what single words miss.
        self.bearing: Floats = self.coverage + 0.5 * self.presence.mean(axis=1) + 0.5 * shared
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


RISING = ("copied_trigrams", "copied_fourgrams", "copied_runs", "in_order", "best_sentence", "unigrams")
"""More of these speaks for a claim; more of any other feature speaks against it."""
LEXICAL = (
    *RISING,
    "missing_words",
    "missing_numbers",
    "far_numbers",
    "missing_names",
    "far_names",
    "unpaired",
    "negation",
    "new_names",
    "new_numbers",
)
NEAR = 3
# Shares below these are chance in any two texts on one subject.
FEW_TRIGRAMS, FEW_FOURGRAMS = 0.3, 0.2


def claim_features(claim: Text, evidence: EvidenceSearch) -> dict[str, float]:
    """The features of one claim. The evidence must have a sentence, and the claim a word."""
    match = Match(claim, evidence)
    near = [int(index) for index in match.order[:NEAR]]
    near_stems: frozenset[str] = frozenset().union(*(evidence.stems[i] for i in near))
    trigrams = _precision(claim, evidence, 3)
    missing = _missing_parts(claim, evidence, match, near, near_stems)
    rephrased = 1 - trigrams
    return {
        "copied_trigrams": max(0.0, trigrams - FEW_TRIGRAMS),
        "copied_fourgrams": max(0.0, _precision(claim, evidence, 4) - FEW_FOURGRAMS),
        "copied_runs": _runs(claim, evidence),
        "in_order": max(LCSseq.similarity(claim.stems, evidence.sentences[i].stems) for i in near) / len(claim.stems),
        "best_sentence": float(match.coverage.max()),
        "unigrams": sum(word in evidence.where for word in claim.stems) / len(claim.stems),
        "new_names": float(bool(claim.names - evidence.where.keys())),
        "new_numbers": math.log1p(len(claim.numbers - evidence.numbers)),
    } | {name: rephrased * value for name, value in missing.items()}


def _precision(claim: Text, evidence: EvidenceSearch, n: int) -> float:
    """The share of the claim's n-grams that stand in the evidence; shorter ones where the claim is too short."""
    for size in range(n, 1, -1):
        grams = ngrams(claim.stems, size)
        if grams:
            return sum(gram in evidence.grams[size] for gram in grams) / len(grams)
    # A claim of one word has no n-grams.
    return float(claim.stems[0] in evidence.where)


def _runs(claim: Text, evidence: EvidenceSearch) -> float:
    """How long the pieces are that the claim can be put together from: the mean over its words, on a log scale."""
    stems, start, squares = claim.stems, 0, 0
    while start < len(stems):
        end = start
        while end < len(stems) and _joins(stems[start : end + 1], evidence):
            end += 1
        squares += (end - start) ** 2
        # A word that is nowhere is a piece of length 0 and is passed over.
        start = max(end, start + 1)
    return math.log1p(squares / len(stems))


def _joins(piece: tuple[str, ...], evidence: EvidenceSearch) -> bool:
    """Whether the last word of a piece follows in the evidence on the one or two before it."""
    if len(piece) == 1:
        return piece[0] in evidence.where
    return piece[-3:] in evidence.grams[min(len(piece), 3)]


def _missing_parts(
    claim: Text, evidence: EvidenceSearch, match: Match, near: list[int], near_stems: frozenset[str]
) -> dict[str, float]:
    near_numbers: frozenset[float] = frozenset().union(*(evidence.sentences[i].numbers for i in near))
    turned = claim.is_negated and not any(evidence.sentences[i].is_negated for i in near)
    return {
        "missing_words": math.log1p(float((1 - match.presence.max(axis=0)).sum())),
        "missing_numbers": float(bool(claim.numbers - evidence.numbers)),
        "far_numbers": float(bool(claim.numbers - near_numbers)),
        "missing_names": math.log1p(len(claim.names - evidence.where.keys())),
        "far_names": math.log1p(len(claim.names - near_stems)),
        "unpaired": _unpaired_share(claim, match),
        "negation": float(turned),
    }


def _unpaired_share(claim: Text, match: Match) -> float:
    """Of pairs of words that stand close in the claim, the share that never meet in one sentence of the evidence."""
    column = {word: match.presence[:, index] for index, word in enumerate(match.words)}
    content = claim.content
    pairs = [(a, b) for i, a in enumerate(content) for b in content[i + 1 : i + 3] if a != b]
    if not pairs:
        return 1 - float(match.presence.max(axis=0).mean())
    return sum(not (column[a] * column[b]).any() for a, b in pairs) / len(pairs)


@dataclass(frozen=True)
class SupportModel:
    """A logistic regression on standardised features. Half is the verdict's border."""

    means: Mapping[str, float]
    scales: Mapping[str, float]
    weights: Mapping[str, float]
    bias: float

    def log_odds(self, row: Mapping[str, float]) -> float:
        total = self.bias
        for name, weight in self.weights.items():
            total += weight * (row[name] - self.means[name]) / self.scales[name]
        # exp of more than 30 changes no probability that is shown, and overflows far beyond.
        return max(-30.0, min(30.0, total))

    def probability(self, row: Mapping[str, float]) -> float:
        return 1 / (1 + math.exp(-self.log_odds(row)))


def read_fit(name: str) -> tuple[Any, str]:
    """The content of a shipped file of weights, and its hash, which goes into the judge's identity."""
    raw = files("evergold.judge").joinpath(name).read_bytes()
    return json.loads(raw), hash_bytes(raw)


@cache
def shipped_weights() -> tuple[SupportModel, str]:
    """The model of the words alone, and the hash of its file."""
    data, digest = read_fit("regression.json")
    return SupportModel(**data["lexical"]), digest


# Log-odds beyond this are as sure as the data can show; a larger one would drown the other feature.
SUREST = 6.0
# Sentences of evidence up to which words count nothing, and from which they count in full.
FEW_SENTENCES, MANY_SENTENCES = 4, 40


@dataclass(frozen=True)
class Combination:
    """The regression on model and words, the thresholds of verdicts, and the hash of both."""

    regression: SupportModel
    thresholds: Mapping[str, float]
    digest: str

    def probability(self, row: Mapping[str, float], answer: Sequence[float], sentences: int) -> float:
        return self.regression.probability(combined_features(row, answer, sentences))


def combined_features(row: Mapping[str, float], answer: Sequence[float], sentences: int) -> dict[str, float]:
    """The log-odds of the words alone and those of the model's answer (supported, unknown, refuted).

    Words that are missing in the evidence speak against a claim; shared words alone do not speak for it. A document has
    most words of what it supports, one sentence may support a claim in other words: so they count more the more sentences
    the evidence has.
    """
    missing = min(0.0, shipped_weights()[0].log_odds(row))
    # From 0 to 1, evenly in the logarithm of the sentences.
    trust = math.log(max(1, sentences) / FEW_SENTENCES) / math.log(MANY_SENTENCES / FEW_SENTENCES)
    return {"words": max(0.0, min(1.0, trust)) * missing, "model": _log_odds(answer[0])}


def _log_odds(share: float) -> float:
    bounded = min(max(float(share), 1e-6), 1 - 1e-6)
    return max(-SUREST, min(SUREST, math.log(bounded / (1 - bounded))))


@cache
def shipped_combination() -> Combination:
    data, digest = read_fit("combination.json")
    return Combination(SupportModel(**data["regression"]), data["thresholds"], digest)


@cache
def shipped_thresholds() -> dict[str, float]:
    """From where a context is useful and tool arguments are the same; `scripts/judge_thresholds.py` calibrates them."""
    thresholds: dict[str, float] = read_fit("thresholds.json")[0]
    return thresholds


READ_AGAIN_BELOW = 0.5
"""The support of the first window below which the second is read: a claim that is supported costs one reading."""


def read(claims: Sequence[Text], evidence: EvidenceSearch, model: ClaimModel) -> Array:
    """Supported, unknown and refuted for each claim; of two windows the larger support, and the refutation of the first."""
    first = [window(claim, evidence) for claim in claims]
    answers = model.probabilities([(text, claim.raw) for text, claim in zip(first, claims, strict=True)])
    # Evidence of one window's size has been read, except what has no word of the claim.
    if evidence.size <= WINDOW_WORDS:
        return answers
    second = {
        number: passage(claims[number], evidence)
        for number, answer in enumerate(answers)
        if answer[SUPPORTED] < READ_AGAIN_BELOW
    }
    again = [number for number, text in second.items() if text != first[number]]
    supports = model.probabilities([(second[number], claims[number].raw) for number in again])[:, SUPPORTED]
    answers[again, SUPPORTED] = supports.clip(min=answers[again, SUPPORTED])
    return answers
