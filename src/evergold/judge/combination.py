"""The small model's answer and the features of the words → one calibrated probability that a claim is supported.

The model sees refutation and paraphrase, the features see copied text; which of them counts depends on how much of the
claim the evidence has: below `ENOUGH` the words count, above it the model alone. Weights: `combination.json`, made by
`scripts/judge_model/combine.py`; .5 is the border of balanced accuracy.
"""

import json
import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from evergold.judge.regression import SupportModel

SUREST = 6.0
ENOUGH = 0.35
"""Log-odds of the words beyond which more shared words say nothing: the model decides alone."""


def combined_features(words: float, answer: Sequence[float]) -> dict[str, float]:
    """The log-odds of the words alone and the model's answer (supported, unknown, refuted) as one row."""
    supported = min(max(float(answer[0]), 1e-6), 1 - 1e-6)
    return {"words": min(words, ENOUGH), "model": max(-SUREST, min(SUREST, math.log(supported / (1 - supported))))}


@cache
def shipped_combination() -> SupportModel:
    return SupportModel(**json.loads(files("evergold.judge").joinpath("combination.json").read_text()))
