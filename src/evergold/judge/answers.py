"""Answer against expected answer by words alone: how alike they are. The lexical judge grades by it."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from evergold.text.embed import Embedder
from evergold.text.words import STOPWORDS, Text

ALIKE = 0.5


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


def compare_answers(expected: str, output: str, embedder: Embedder | None) -> Likeness:
    want, got = Text(expected), Text(output)
    if not want.words or not got.words:
        # Without words (signs, emoji, numbers alone) only equality can be told.
        return Likeness(float(expected.strip() == output.strip()), None, None)
    numbers = len(want.numbers & got.numbers) / len(want.numbers) if want.numbers else None
    shared = (Counter(want.content) & Counter(got.content)).total()
    return Likeness(_f1(shared / len(got.content), shared / len(want.content)), _near(want, got, embedder), numbers)


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
