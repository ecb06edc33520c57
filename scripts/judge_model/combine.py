"""Fit how the small model's answer and the words are combined, for each kind of text, and the thresholds of verdicts.

    python -m scripts.judge_model.combine DESIGN.npz      the file of `combine_data`; writes judge/combination.json

Within a kind, each source weighs what `SHARES` says and each label half of that, so that .5 is the border of balanced
accuracy. Rows with changed words cannot show what words are worth in text as people and models write it, so the words'
share beside the model (`WORDS`) is set: as high as costs little on such rows, see `docs/offline-judge.md`.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from evergold.judge import combination
from evergold.judge.combination import COPIED, LONG, SHORT, kinds
from scripts.judge_model.combine_data import NAMES
from scripts.judge_model.made import REFUTED
from scripts.judge_model.train_figures import auroc, balanced_accuracy

PACKAGE = Path(combination.__file__).parent
WORDS = {COPIED: 0.3, SHORT: 0.1, LONG: 0.5}
"""What the words weigh beside the model, both in units of their spread within the kind."""
SHARES = {
    COPIED: {"made": 2.0, "summedits": 1.0, "conj": 0.5, "fever": 0.3},
    SHORT: {"fever": 1.0, "fm2": 1.0, "symmetric": 1.0, "mnli": 1.0, "conj": 0.3},
    LONG: {"wice": 2.0, "summedits": 1.0},
}
RIDGE, ROUNDS, FOLDS = 1e-3, 30, 5
Arrays = dict[str, np.ndarray]


def main() -> None:
    with np.load(sys.argv[1]) as opened:
        data = {name: opened[name] for name in opened.files}
    columns = dict(zip(NAMES, data["matrix"].T, strict=True))
    good = data["labels"] == 0
    rows = [kinds({"copied": c, "evidence": e}) for c, e in zip(columns["copied"], columns["evidence"], strict=True)]
    shares = {kind: np.array([row[kind] for row in rows]) for kind in WORDS}
    order = {group: number % FOLDS for number, group in enumerate(sorted(set(data["groups"])))}
    folds = np.array([order[group] for group in data["groups"]])
    out = np.zeros(len(good))
    for fold in range(FOLDS):
        fitted = fit(columns, shares, data["sources"], good, folds != fold)
        out[folds == fold] = probabilities(fitted, columns, shares)[folds == fold]
    for source in sorted(set(data["sources"])):
        chosen = data["sources"] == source
        print(
            f"{source:10} n={chosen.sum():4} model {auroc(columns['model'][chosen], good[chosen]):.3f}, words "
            f"{auroc(columns['words'][chosen], good[chosen]):.3f}, combined {auroc(out[chosen], good[chosen]):.3f}, "
            f"balanced accuracy {balanced_accuracy(out[chosen] >= 0.5, good[chosen]):.3f}"
        )
    stored = {
        "kinds": fit(columns, shares, data["sources"], good, np.ones(len(good), dtype=bool)),
        "thresholds": {"supported": 0.5, "refuted": refuted_from(columns["refuted"], out, data["labels"])},
    }
    print(json.dumps(stored, indent=1))
    (PACKAGE / "combination.json").write_text(json.dumps(stored, indent=1) + "\n")


def fit(columns: Arrays, shares: Arrays, sources: np.ndarray, good: np.ndarray, used: np.ndarray) -> dict[str, Any]:
    """The regression of each kind, fitted on the rows that `used` marks."""
    fitted = {}
    for kind, words in WORDS.items():
        weight = shares[kind] * used * _balance(sources, good, shares[kind] * used, SHARES[kind])
        weight /= weight.sum()
        means = {name: float(weight @ columns[name]) for name in ("words", "model")}
        scales = {name: float(np.sqrt(weight @ (columns[name] - means[name]) ** 2)) for name in means}
        both = sum(w * (columns[n] - means[n]) / scales[n] for n, w in (("model", 1.0), ("words", words)))
        slope, bias = _line(both, good, weight)
        weights = {"words": slope * words, "model": slope}
        parts = {"means": means, "scales": scales, "weights": weights}
        rounded = {part: {name: round(value, 6) for name, value in values.items()} for part, values in parts.items()}
        fitted[kind] = rounded | {"bias": round(bias, 6)}
    return fitted


def _balance(sources: np.ndarray, good: np.ndarray, there: np.ndarray, shares: dict[str, float]) -> np.ndarray:
    weight = np.zeros(len(good))
    for source, share in shares.items():
        for label in (True, False):
            chosen = (sources == source) & (good == label)
            weight[chosen] = share / max(1e-9, there[chosen].sum())
    return weight


def _line(x: np.ndarray, good: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """The slope and the bias of a logistic regression on one number, by Newton's method."""
    design = np.column_stack([x, np.ones(len(x))])
    found = np.zeros(2)
    for _ in range(ROUNDS):
        p = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
        gradient = design.T @ (weight * (p - good)) + RIDGE * found
        curvature = (design * (weight * p * (1 - p))[:, None]).T @ design + RIDGE * np.eye(2)
        found -= np.linalg.solve(curvature, gradient)
    return float(found[0]), float(found[1])


def probabilities(fitted: dict[str, Any], columns: Arrays, shares: Arrays) -> np.ndarray:
    total = np.zeros(len(columns["model"]))
    for kind, model in fitted.items():
        terms = (model["weights"][n] * (columns[n] - model["means"][n]) / model["scales"][n] for n in model["weights"])
        total += shares[kind] / (1 + np.exp(-(sum(terms) + model["bias"])))
    return total


def refuted_from(refuted: np.ndarray, supported: np.ndarray, labels: np.ndarray) -> float:
    """The threshold that best tells refuted claims from unknown ones, among claims that are not supported."""
    asked = (supported < 0.5) & np.isin(labels, (1, REFUTED))
    true = labels[asked] == REFUTED
    steps = np.arange(0.05, 0.96, 0.05)
    scores = [balanced_accuracy(refuted[asked] >= step, true) for step in steps]
    return round(float(steps[int(np.argmax(scores))]), 2)


if __name__ == "__main__":
    main()
