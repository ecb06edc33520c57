"""Fit how the small model's answer and the words are combined, and the thresholds of verdicts.

    python -m scripts.judge_model.combine DESIGN.npz      the file of `combine_data`; writes judge/combination.json

Each source weighs what `SHARES` says and each label half of that; the threshold of support is that of the best balanced
accuracy. Printed are the figures of five folds that keep documents together.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from evergold.judge import support as combination
from scripts.judge_model.combine_data import NAMES
from scripts.judge_model.made import REFUTED
from scripts.judge_model.train_figures import auroc, balanced_accuracy

PACKAGE = Path(combination.__file__).parent
SHARES = {
    "wice": 2.0,
    "summedits": 2.0,
    "made": 1.0,
    "fm2": 1.0,
    "fever": 0.5,
    "mnli": 0.5,
    "symmetric": 0.5,
    "conj": 0.5,
}
"""Claims on whole documents, as the judge meets them most, weigh twice as much as claims on a few sentences."""
FEATURES = ("words", "model")
RIDGE, ROUNDS, FOLDS = 1e-3, 30, 5
NO_DIFFERENCE = 0.003
"""Thresholds whose balanced accuracy differs less than this are equal: 4,636 rows cannot tell them apart."""
Arrays = dict[str, np.ndarray]


def main() -> None:
    with np.load(sys.argv[1]) as opened:
        data = {name: opened[name] for name in opened.files}
    columns = dict(zip(NAMES, data["matrix"].T, strict=True))
    good = data["labels"] == 0
    order = {group: number % FOLDS for number, group in enumerate(sorted(set(data["groups"])))}
    folds = np.array([order[group] for group in data["groups"]])
    out = np.zeros(len(good))
    for fold in range(FOLDS):
        fitted = fit(columns, data["sources"], good, folds != fold)
        out[folds == fold] = probabilities(fitted, columns)[folds == fold]
    supported = supported_from(out, good, _balance(data["sources"], good, np.ones(len(good), dtype=bool)))
    for source in sorted(set(data["sources"])):
        chosen = data["sources"] == source
        print(
            f"{source:10} n={chosen.sum():4} model {auroc(columns['model'][chosen], good[chosen]):.3f}, combined "
            f"{auroc(out[chosen], good[chosen]):.3f}, balanced accuracy at {supported} "
            f"{balanced_accuracy(out[chosen] >= supported, good[chosen]):.3f}"
        )
    refuted = refuted_from(columns["refuted"], out < supported, data["labels"])
    stored = {
        "regression": fit(columns, data["sources"], good, np.ones(len(good), dtype=bool)),
        "thresholds": {"supported": supported, "refuted": refuted},
    }
    print(json.dumps(stored, indent=1))
    (PACKAGE / "combination.json").write_text(json.dumps(stored, indent=1) + "\n")


def fit(columns: Arrays, sources: np.ndarray, good: np.ndarray, used: np.ndarray) -> dict[str, Any]:
    """The logistic regression on the rows that `used` marks, by Newton's method."""
    weight = _balance(sources, good, used)
    means = {name: float(weight @ columns[name]) for name in FEATURES}
    scales = {name: float(np.sqrt(weight @ (columns[name] - means[name]) ** 2)) for name in FEATURES}
    design = np.column_stack([*((columns[name] - means[name]) / scales[name] for name in FEATURES), np.ones(len(good))])
    found = np.zeros(design.shape[1])
    for _ in range(ROUNDS):
        p = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
        gradient = design.T @ (weight * (p - good)) + RIDGE * found
        curvature = (design * (weight * p * (1 - p))[:, None]).T @ design + RIDGE * np.eye(len(found))
        found -= np.linalg.solve(curvature, gradient)
    *slopes, bias = found.tolist()
    parts = {"means": means, "scales": scales, "weights": dict(zip(FEATURES, slopes, strict=True))}
    rounded = {part: {name: round(value, 6) for name, value in values.items()} for part, values in parts.items()}
    return rounded | {"bias": round(bias, 6)}


def _balance(sources: np.ndarray, good: np.ndarray, used: np.ndarray) -> np.ndarray:
    weight = np.zeros(len(good))
    for source, share in SHARES.items():
        for label in (True, False):
            chosen = (sources == source) & (good == label) & used
            weight[chosen] = share / max(1, chosen.sum())
    return np.asarray(weight / weight.sum())


def probabilities(fitted: dict[str, Any], columns: Arrays) -> np.ndarray:
    terms = [fitted["weights"][n] * (columns[n] - fitted["means"][n]) / fitted["scales"][n] for n in FEATURES]
    return np.asarray(1 / (1 + np.exp(-(sum(terms) + fitted["bias"]))))


def supported_from(out: np.ndarray, good: np.ndarray, weight: np.ndarray) -> float:
    """The threshold of the best balanced accuracy on the folds, each source by its share; the middle of equal ones."""
    steps = np.arange(0.3, 0.701, 0.01)
    scores = np.array([(weight * ((out >= step) == good)).sum() for step in steps])
    return round(float(np.median(steps[scores >= scores.max() - NO_DIFFERENCE])), 2)


def refuted_from(refuted: np.ndarray, unsupported: np.ndarray, labels: np.ndarray) -> float:
    """The threshold that best tells refuted claims from unknown ones, among claims that are not supported."""
    asked = unsupported & np.isin(labels, (1, REFUTED))
    true = labels[asked] == REFUTED
    steps = np.arange(0.05, 0.96, 0.05)
    scores = [balanced_accuracy(refuted[asked] >= step, true) for step in steps]
    return round(float(steps[int(np.argmax(scores))]), 2)


if __name__ == "__main__":
    main()
