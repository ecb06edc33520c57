"""Answer against expected answer and question, without a model: how alike, how relevant, and whether it refuses."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evergold.text.embed import Embedder
from evergold.text.words import STOPWORDS, Text

ALIKE = 0.5
RELEVANT_FROM = 0.3
SHORT_ANSWER = 2
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|unable|not able)|i (?:cannot|can't|can not|won't|don't know|do not know)|as an ai\b|"
    r"(?:do|does|did)(?: not|n't) (?:\w+ )?(?:provide|contain|mention|include|specify|state|have|offer|address)\b|"
    r"(?:is|are|was|were)(?: not|n't) (?:\w+ )?(?:mentioned|specified|provided|stated|included|available)\b|"
    r"no (?:\w+ )?(?:information|mention|answer)|(?:not|in)sufficient information|not enough information)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Likeness:
    """How an answer compares with the expected one; `value` is what the offline judge grades by."""

    shared_words: float
    near_words: float | None
    numbers: float | None

    @property
    def value(self) -> float:
        """The mean of shared and near words, nine parts in ten, and the numbers the expected answer has, one in ten."""
        words = self.shared_words if self.near_words is None else (self.shared_words + self.near_words) / 2
        return words if self.numbers is None else 0.9 * words + 0.1 * self.numbers


def refuses(text: str) -> bool:
    """Whether an answer declines to answer; only its beginning is looked at, where a refusal stands."""
    return bool(_REFUSAL.search(text[:300].replace("’", "'")))


def compare_answers(expected: str, output: str, embedder: Embedder | None) -> Likeness:
    want, got = Text(expected), Text(output)
    if not want.words or not got.words:
        return Likeness(float(expected.strip() == output.strip()), None, None)
    numbers = len(want.numbers & got.numbers) / len(want.numbers) if want.numbers else None
    shared = (Counter(want.content) & Counter(got.content)).total()
    return Likeness(_f1(shared / len(got.content), shared / len(want.content)), _near(want, got, embedder), numbers)


def relevance(question: str, statements: Sequence[str], embedder: Embedder | None) -> list[float]:
    """How much each statement is about the question, from 0 to 1: shared words or nearness in meaning, the greater.

    A statement of a few words ("Goethe.") is taken for a direct answer: it can share nothing with its question.
    """
    content = set(Text(question).content)
    contents = [set(Text(text).content) for text in statements]
    shared = [len(content & words) / max(1, len(content)) for words in contents]
    near = [2 * share for share in shared]
    if embedder is not None and content:
        near = [float(cosine) for cosine in embedder.vectors(list(statements)) @ embedder.vectors([question])[0]]
    short = [RELEVANT_FROM if len(words) <= SHORT_ANSWER else 0.0 for words in contents]
    return [min(1.0, max(values)) for values in zip(shared, near, short, strict=True)]


def _near(want: Text, got: Text, embedder: Embedder | None) -> float | None:
    """F1 of words matched to their nearest word on the other side; pairs less alike than ALIKE count nothing."""
    if embedder is None:
        return None
    similar = embedder.word_vectors(_meaning(want)) @ embedder.word_vectors(_meaning(got)).T
    similar = np.where(similar >= ALIKE, similar, 0.0)
    return _f1(float(similar.max(axis=0).mean()), float(similar.max(axis=1).mean()))


def _meaning(text: Text) -> list[str]:
    return list(dict.fromkeys(word for word in text.words if word not in STOPWORDS)) or list(text.words)


def _f1(precision: float, recall: float) -> float:
    return min(1.0, 2 * precision * recall / (precision + recall)) if precision + recall else 0.0
