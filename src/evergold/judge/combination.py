"""The small model's answer and the features of the words → one calibrated probability that a claim is supported.

The model sees refutation and paraphrase, the features see copied text. How much each counts, and which probability is the
border, depends on the kind of text: a claim copied from its evidence, a claim on a few sentences, a claim on a long
document. A claim between two kinds gets a mean of both. Weights and thresholds: `combination.json`, made by
`scripts/judge_model/combine.py`.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from evergold.judge.regression import SupportModel, shipped_weights
from evergold.model.ident import hash_bytes

SUREST = 6.0
COPIED, SHORT, LONG = "copied", "short", "long"
COPIED_FROM, COPIED_TO = 0.4, 0.6
"""Shares of copied trigrams between which a claim passes from rephrased to copied."""
SHORT_TO, LONG_FROM = 4, 8
"""Numbers of evidence sentences between which evidence passes from short to long."""


@dataclass(frozen=True)
class Combination:
    """One regression for each kind of text, the thresholds of verdicts, and the hash of both."""

    models: Mapping[str, SupportModel]
    thresholds: Mapping[str, float]
    digest: str

    def probability(self, row: Mapping[str, float], answer: Sequence[float]) -> float:
        features = combined_features(row, answer)
        shares = kinds(row)
        return sum(share * self.models[kind].probability(features) for kind, share in shares.items() if share)


def combined_features(row: Mapping[str, float], answer: Sequence[float]) -> dict[str, float]:
    """The log-odds of the words alone and those of the model's answer (supported, unknown, refuted)."""
    return {"words": shipped_weights().lexical.log_odds(row), "model": _log_odds(answer[0])}


def kinds(row: Mapping[str, float]) -> dict[str, float]:
    """How far a claim is of each kind; the shares sum to 1."""
    copied = _between(row["copied"], COPIED_FROM, COPIED_TO)
    long = _between(row["evidence"], SHORT_TO, LONG_FROM)
    return {COPIED: copied, SHORT: (1 - copied) * (1 - long), LONG: (1 - copied) * long}


def _between(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))


def _log_odds(share: float) -> float:
    bounded = min(max(float(share), 1e-6), 1 - 1e-6)
    return max(-SUREST, min(SUREST, math.log(bounded / (1 - bounded))))


@cache
def shipped_combination() -> Combination:
    raw = files("evergold.judge").joinpath("combination.json").read_bytes()
    data = json.loads(raw)
    models = {kind: SupportModel(**stored) for kind, stored in data["kinds"].items()}
    return Combination(models, data["thresholds"], hash_bytes(raw))
