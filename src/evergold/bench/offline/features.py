"""A claim against evidence → a row of numbers, each of which a person can check.

Text that is copied and text that is rephrased fail in different ways. For copied text what counts is how much of it
stands together in the evidence: long n-grams, words in one order in one sentence. For rephrased text what counts is
what is missing: words, numbers, names, pairs of words that never meet. So the second kind is weighed by the share of
trigrams that are not copied. The last two need word vectors and are left out of the lexical model.
"""

import math

import numpy as np
from rapidfuzz.distance import LCSseq

from evergold.bench.offline.evidence import Evidence, Match
from evergold.text.words import STOPWORDS, Text, ngrams, stem

LEXICAL = (
    "copied_trigrams",
    "copied_fourgrams",
    "in_order",
    "best_sentence",
    "unigrams",
    "missing_words",
    "missing_numbers",
    "far_numbers",
    "missing_names",
    "far_names",
    "unpaired",
    "negation",
)
EMBEDDED = ("strangest_word", "far_words")
NEAR = 3
FEW_TRIGRAMS, FEW_FOURGRAMS = 0.3, 0.2


def claim_features(claim: Text, evidence: Evidence) -> dict[str, float]:
    """The features of one claim. The evidence must have a sentence, and the claim a word."""
    match = Match(claim, evidence)
    near = [int(index) for index in match.order[:NEAR]]
    near_stems: frozenset[str] = frozenset().union(*(evidence.stems[i] for i in near))
    trigrams = _precision(claim, evidence, 3)
    missing = _missing(claim, evidence, match, near, near_stems) | _embedded(claim, evidence, near_stems)
    rephrased = 1 - trigrams
    return {
        "copied_trigrams": max(0.0, trigrams - FEW_TRIGRAMS),
        "copied_fourgrams": max(0.0, _precision(claim, evidence, 4) - FEW_FOURGRAMS),
        "in_order": max(LCSseq.similarity(claim.stems, evidence.sentences[i].stems) for i in near) / len(claim.stems),
        "best_sentence": float(match.coverage.max()),
        "unigrams": sum(word in evidence.where for word in claim.stems) / len(claim.stems),
    } | {name: rephrased * value for name, value in missing.items()}


def _precision(claim: Text, evidence: Evidence, n: int) -> float:
    """The share of the claim's n-grams that stand in the evidence; shorter ones where the claim is too short."""
    for size in range(n, 1, -1):
        grams = ngrams(claim.stems, size)
        if grams:
            return sum(gram in evidence.grams[size] for gram in grams) / len(grams)
    return float(claim.stems[0] in evidence.where)


def _missing(
    claim: Text, evidence: Evidence, match: Match, near: list[int], near_stems: frozenset[str]
) -> dict[str, float]:
    near_numbers: frozenset[float] = frozenset().union(*(evidence.sentences[i].numbers for i in near))
    turned = claim.negated and not any(evidence.sentences[i].negated for i in near)
    return {
        "missing_words": math.log1p(float((1 - match.found.max(axis=0)).sum())),
        "missing_numbers": float(bool(claim.numbers - evidence.numbers)),
        "far_numbers": float(bool(claim.numbers - near_numbers)),
        "missing_names": math.log1p(len(claim.names - evidence.where.keys())),
        "far_names": math.log1p(len(claim.names - near_stems)),
        "unpaired": _unpaired(claim, match),
        "negation": float(turned),
    }


def _unpaired(claim: Text, match: Match) -> float:
    """Of pairs of words that stand close in the claim, the share that never meet in one sentence of the evidence."""
    column = {word: match.found[:, index] for index, word in enumerate(match.words)}
    content = claim.content
    pairs = [(a, b) for i, a in enumerate(content) for b in content[i + 1 : i + 3] if a != b]
    if not pairs:
        return 1 - float(match.found.max(axis=0).mean())
    return sum(not (column[a] * column[b]).any() for a, b in pairs) / len(pairs)


def _embedded(claim: Text, evidence: Evidence, near_stems: frozenset[str]) -> dict[str, float]:
    """How far each word of the claim is from any word of the evidence: a synonym is not a missing word."""
    if evidence.embedder is None or evidence.word_vectors is None:
        return {}
    words = list(dict.fromkeys(word for word in claim.words if word not in STOPWORDS)) or list(claim.words)
    similar = evidence.embedder.word_vectors(words) @ evidence.word_vectors.T
    is_near = np.array([stem(word) in near_stems for word in evidence.words])
    near = float(similar[:, is_near].max(axis=1).mean()) if is_near.any() else 0.0
    return {"strangest_word": 1 - float(similar.max(axis=1).min()), "far_words": 1 - near}
