"""The small model's answer and the features of the words → one calibrated probability that a claim is supported.

The model sees refutation and paraphrase; the words see what long evidence lacks. One regression weighs the two; its weights
and the thresholds of verdicts are in `combination.json`, made by `scripts/judge_model/combine.py`.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from evergold.judge.regression import SupportModel, shipped_weights
from evergold.model.ident import hash_bytes

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
    missing = min(0.0, shipped_weights().lexical.log_odds(row))
    return {"words": _trusted(sentences) * missing, "model": _log_odds(answer[0])}


def _trusted(sentences: int) -> float:
    """How much words count in evidence of so many sentences: from 0 to 1, evenly in their logarithm."""
    share = math.log(max(1, sentences) / FEW_SENTENCES) / math.log(MANY_SENTENCES / FEW_SENTENCES)
    return max(0.0, min(1.0, share))


def _log_odds(share: float) -> float:
    bounded = min(max(float(share), 1e-6), 1 - 1e-6)
    return max(-SUREST, min(SUREST, math.log(bounded / (1 - bounded))))


@cache
def shipped_combination() -> Combination:
    raw = files("evergold.judge").joinpath("combination.json").read_bytes()
    data = json.loads(raw)
    return Combination(SupportModel(**data["regression"]), data["thresholds"], hash_bytes(raw))


@cache
def shipped_thresholds() -> dict[str, float]:
    """From where a context is useful and tool arguments are the same; `scripts/judge_thresholds.py` calibrates them."""
    thresholds: dict[str, float] = json.loads(files("evergold.judge").joinpath("thresholds.json").read_bytes())
    return thresholds
