"""Grade an answer against an expected one of several sentences: how much of it the answer has, and how much else.

The model reads sentences one by one; words, and words that are near in meaning, show how complete the whole is. One linear
fit weighs both; its weights are in `long_answers.json`, made by `scripts/judge_grades/fit.py`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from evergold.judge.answer_words import ALL_STOPWORDS, WORD
from evergold.judge.claim_model import SUPPORTED, Array, ClaimModel
from evergold.judge.entailment import Entailment
from evergold.judge.quantities import plain, quantities
from evergold.model.ident import hash_bytes
from evergold.text.words import stem

MOST_WORDS = 1000
"""Different words of a text that are compared: a bound on memory, beyond what an answer of 20,000 characters has."""


@dataclass(frozen=True)
class LongGrading:
    """The weight of each feature, a constant, and the hash of both."""

    weights: Mapping[str, float]
    bias: float
    digest: str

    def value(self, row: Mapping[str, float]) -> float:
        return self.bias + sum(weight * row[name] for name, weight in self.weights.items())


def long_features(expected: str, output: str, entailment: Entailment, model: ClaimModel) -> dict[str, float]:
    """Numbers from 0 to 1, each 1 for a copy: support of either text by the other, and words that are the same or near."""
    recall, precision = _near_words(_words(expected), _words(output), model)
    wanted, given = quantities(expected), quantities(output)
    missing = sum(not any(quantity.same(another) for another in given) for quantity in wanted)
    return {
        # Between no support and little lies more than between much and full: so the cube root of each sentence's support.
        "support": float(np.cbrt(entailment.there[:, SUPPORTED]).mean()),
        "support_back": float(np.cbrt(entailment.back[:, SUPPORTED]).mean()),
        "near_words": recall,
        "near_f1": 2 * recall * precision / (recall + precision) if recall + precision else 0.0,
        "missing_numbers": missing / max(1, len(wanted)),
    }


def _near_words(wanted: list[str], given: list[str], model: ClaimModel) -> tuple[float, float]:
    """The mean nearness of each wanted word to the nearest given one, and back; words of one stem are the same."""
    if not wanted or not given:
        return 0.0, 0.0
    cosines: Array = np.clip(model.word_vectors(wanted) @ model.word_vectors(given).T, 0, 1)
    stems, others = [stem(word) for word in wanted], [stem(word) for word in given]
    there = np.where([one in set(others) for one in stems], 1.0, cosines.max(axis=1))
    back = np.where([one in set(stems) for one in others], 1.0, cosines.max(axis=0))
    return float(there.mean()), float(back.mean())


def _words(text: str) -> list[str]:
    """The different words that carry meaning; every word where a text has only function words."""
    words = list(dict.fromkeys(plain(word) for word in WORD.findall(text)))
    return ([word for word in words if word not in ALL_STOPWORDS] or words)[:MOST_WORDS]


@cache
def shipped_long_grading() -> LongGrading:
    raw = files("evergold.judge").joinpath("long_answers.json").read_bytes()
    data = json.loads(raw)
    return LongGrading(data["weights"], data["bias"], hash_bytes(raw))
