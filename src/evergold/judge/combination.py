"""The small model's answer and the features of the words → one calibrated probability that a claim is supported.

The model sees refutation and paraphrase, the features see copied text. One regression weighs the two; its weights and the
thresholds of verdicts are in `combination.json`, made by `scripts/judge_model/combine.py`.
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


@dataclass(frozen=True)
class Combination:
    """The regression on model and words, the thresholds of verdicts, and the hash of both."""

    regression: SupportModel
    thresholds: Mapping[str, float]
    digest: str

    def probability(self, row: Mapping[str, float], answer: Sequence[float]) -> float:
        return self.regression.probability(combined_features(row, answer))


def combined_features(row: Mapping[str, float], answer: Sequence[float]) -> dict[str, float]:
    """The log-odds of the words alone and those of the model's answer (supported, unknown, refuted).

    Words that are missing in the evidence speak against a claim; shared words alone do not speak for it.
    """
    return {"words": min(0.0, shipped_weights().lexical.log_odds(row)), "model": _log_odds(answer[0])}


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
