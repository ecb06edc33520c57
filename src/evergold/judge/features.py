"""A claim against evidence → a row of numbers, each of which a person can check.

Text that is copied and text that is rephrased fail in different ways. For copied text what counts is how much of it
stands together in the evidence: long n-grams, long runs, words in one order in one sentence. For rephrased text what
counts is what is missing: words, numbers, names, pairs of words that never meet. So the second kind is weighed by the
share of trigrams that are not copied. A name or a number from nowhere counts in full in either. The last four need word
vectors and are left out of the lexical model.

Each feature has a direction known beforehand; the fit may not turn it around (`RISING`).
"""

import math

import numpy as np
from rapidfuzz.distance import LCSseq

from evergold.judge.evidence import EvidenceSearch, Match
from evergold.text.words import STOPWORDS, Text, ngrams, stem

RISING = ("copied_trigrams", "copied_fourgrams", "copied_runs", "in_order", "best_sentence", "unigrams", "best_cosine")
"""More of these speaks for a claim; more of any other feature speaks against it."""
LEXICAL = (
    *RISING[:-1],
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
EMBEDDED = ("strangest_word", "far_words", "unlike_words", "best_cosine")
NEAR = 3
# Shares below these are chance in any two texts on one subject.
FEW_TRIGRAMS, FEW_FOURGRAMS = 0.3, 0.2
ALIKE = 0.7


def claim_features(claim: Text, evidence: EvidenceSearch) -> dict[str, float]:
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
        "copied_runs": _runs(claim, evidence),
        "in_order": max(LCSseq.similarity(claim.stems, evidence.sentences[i].stems) for i in near) / len(claim.stems),
        "best_sentence": float(match.coverage.max()),
        "unigrams": sum(word in evidence.where for word in claim.stems) / len(claim.stems),
        "best_cosine": float(match.cosine.max()),
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


def _missing(
    claim: Text, evidence: EvidenceSearch, match: Match, near: list[int], near_stems: frozenset[str]
) -> dict[str, float]:
    near_numbers: frozenset[float] = frozenset().union(*(evidence.sentences[i].numbers for i in near))
    turned = claim.negated and not any(evidence.sentences[i].negated for i in near)
    return {
        "missing_words": math.log1p(float((1 - match.presence.max(axis=0)).sum())),
        "missing_numbers": float(bool(claim.numbers - evidence.numbers)),
        "far_numbers": float(bool(claim.numbers - near_numbers)),
        "missing_names": math.log1p(len(claim.names - evidence.where.keys())),
        "far_names": math.log1p(len(claim.names - near_stems)),
        "unpaired": _unpaired(claim, match),
        "negation": float(turned),
    }


def _unpaired(claim: Text, match: Match) -> float:
    """Of pairs of words that stand close in the claim, the share that never meet in one sentence of the evidence."""
    column = {word: match.presence[:, index] for index, word in enumerate(match.words)}
    content = claim.content
    pairs = [(a, b) for i, a in enumerate(content) for b in content[i + 1 : i + 3] if a != b]
    if not pairs:
        return 1 - float(match.presence.max(axis=0).mean())
    return sum(not (column[a] * column[b]).any() for a, b in pairs) / len(pairs)


def _embedded(claim: Text, evidence: EvidenceSearch, near_stems: frozenset[str]) -> dict[str, float]:
    """How far each word of the claim is from any word of the evidence: a synonym is not a missing word."""
    if evidence.embedder is None or evidence.word_vectors is None:
        return {}
    words = list(dict.fromkeys(word for word in claim.words if word not in STOPWORDS)) or list(claim.words)
    similar = evidence.embedder.word_vectors(words) @ evidence.word_vectors.T
    is_near = np.array([stem(word) in near_stems for word in evidence.words])
    near = float(similar[:, is_near].max(axis=1).mean()) if is_near.any() else 0.0
    nearest = similar.max(axis=1)
    unlike = float(np.maximum(0.0, ALIKE - nearest).sum())
    return {"strangest_word": 1 - float(nearest.min()), "far_words": 1 - near, "unlike_words": unlike}
