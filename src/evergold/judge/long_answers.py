"""Grade an answer against an expected one of several sentences: how much of it the answer has, and contradicts.

The model reads sentences one by one and the words show how complete the whole is. One linear fit weighs both; its weights
are in `long_answers.json`, made by `scripts/judge_grades/fit.py`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from evergold.judge.answer_words import stems_of
from evergold.judge.entailment import Entailment
from evergold.judge.quantities import quantities
from evergold.model.ident import hash_bytes


@dataclass(frozen=True)
class LongGrading:
    """The weight of each feature, a constant, and the hash of both."""

    weights: Mapping[str, float]
    bias: float
    digest: str

    def value(self, row: Mapping[str, float]) -> float:
        return self.bias + sum(weight * row[name] for name, weight in self.weights.items())


def long_features(expected: str, output: str, entailment: Entailment) -> dict[str, float]:
    """Numbers from 0 to 1: what of the expected answer is supported, refuted and shared in words, and back."""
    one, other = stems_of(expected), stems_of(output)
    wanted, given = quantities(expected), quantities(output)
    missing = sum(not any(quantity.same(another) for another in given) for quantity in wanted)
    return {
        "recall": entailment.recall,
        "precision": entailment.precision,
        "refuted": entailment.share_refuted,
        "word_recall": len(one & other) / max(1, len(one)),
        "word_precision": len(one & other) / max(1, len(other)),
        "missing_numbers": missing / max(1, len(wanted)),
    }


@cache
def shipped_long_grading() -> LongGrading:
    raw = files("evergold.judge").joinpath("long_answers.json").read_bytes()
    data = json.loads(raw)
    return LongGrading(data["weights"], data["bias"], hash_bytes(raw))
