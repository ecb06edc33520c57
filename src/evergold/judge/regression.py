"""The calibrated regression: features → the probability that a claim is supported.

The weights are data (`regression.json`), made by `scripts/fit_offline_judge.py`. There are two sets: with word vectors,
and lexical for an installation without them.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from evergold.model.ident import hash_bytes


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


@dataclass(frozen=True)
class Weights:
    """The shipped file: both models, and the hash that goes into the judge's identity."""

    lexical: SupportModel
    embedded: SupportModel
    digest: str


@cache
def shipped_weights() -> Weights:
    raw = files("evergold.judge").joinpath("regression.json").read_bytes()
    data = json.loads(raw)
    return Weights(SupportModel(**data["lexical"]), SupportModel(**data["embedded"]), hash_bytes(raw))
