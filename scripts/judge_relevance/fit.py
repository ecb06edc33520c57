"""Fit how likely a statement is about a question, and the threshold from which it counts as relevant.

    python -m scripts.judge_relevance.fit ROWS.jsonl SUMMEDITS      writes judge/relevance.json

ROWS is the file of `scripts.judge_model.sources`, SUMMEDITS the folder of its records. Each source weighs the same and each
label half of that. Printed are the figures of five folds that keep documents together.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from evergold.judge import relevance
from evergold.judge.relevance import VECTORS, WORDS, relevance_features
from evergold.judge.small_model import ClaimModel, shipped_model
from scripts.fit_offline_judge import logistic, named
from scripts.judge_model.train_figures import auroc, balanced_accuracy
from scripts.judge_relevance.examples import Example, examples, fold_of

PACKAGE = Path(relevance.__file__).parent
FOLDS = 5
RIDGE, SAMPLE_WEIGHT = 10.0, 1000.0
SHARES = {"everyday": 6.0, "spanish": 2.0, "call": 2.0, "after": 2.0}
"""What a source weighs; 1 for every other one. Questions of people weigh more than those made of sentences."""


def main() -> None:
    made = [one for one in examples(Path(sys.argv[1]), Path(sys.argv[2])) if one.source != "refusal"]
    print(f"{len(made)} examples, {sum(one.relevant for one in made)} relevant")
    model = shipped_model()
    stored: dict[str, Any] = {"thresholds": {}}
    for name, known, features in (("vectors", model, WORDS + VECTORS), ("words", None, WORDS)):
        rows = _rows(made, known, features)
        stored[name], stored["thresholds"][name] = _fitted(rows, made, features, name)
    (PACKAGE / "relevance.json").write_text(json.dumps(stored, indent=1) + "\n")


def _rows(made: list[Example], model: ClaimModel | None, names: tuple[str, ...]) -> np.ndarray:
    rows = relevance_features([(one.question, one.statement) for one in made], model)
    return np.array([[row[name] for name in names] for row in rows])


def _fitted(rows: np.ndarray, made: list[Example], names: tuple[str, ...], title: str) -> tuple[dict[str, Any], float]:
    labels = np.array([one.relevant for one in made])
    sources = np.array([one.source for one in made])
    weight = _balance(sources, labels)
    folds = np.array(fold_of([one.group for one in made], FOLDS))
    out = np.zeros(len(made))
    for fold in range(FOLDS):
        used = folds != fold
        out[~used] = _probabilities(_fit(rows[used], labels[used], weight[used], names), rows[~used], names)
    steps = np.arange(0.2, 0.81, 0.01)
    scores = [_weighted_accuracy(out >= step, labels, weight) for step in steps]
    threshold = round(float(steps[int(np.argmax(scores))]), 2)
    for source in sorted(set(sources)):
        chosen = sources == source
        print(
            f"{title:8}{source:10} n={chosen.sum():4} AUROC {auroc(out[chosen], labels[chosen]):.3f}, balanced "
            f"accuracy {balanced_accuracy(out[chosen] >= threshold, labels[chosen]):.3f}"
        )
    print(f"{title:8}all: balanced accuracy {max(scores):.3f} from {threshold}")
    return _fit(rows, labels, weight, names), threshold


def _fit(rows: np.ndarray, labels: np.ndarray, weight: np.ndarray, names: tuple[str, ...]) -> dict[str, Any]:
    means, scales = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    found = logistic((rows - means) / scales, labels, weight * SAMPLE_WEIGHT / weight.sum(), RIDGE)
    parts = {"means": named(names, means), "scales": named(names, scales), "weights": named(names, found[:-1])}
    return parts | {"bias": round(float(found[-1]), 6)}


def _probabilities(fitted: dict[str, Any], rows: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    terms = [
        fitted["weights"][name] * (column - fitted["means"][name]) / fitted["scales"][name]
        for name, column in zip(names, rows.T, strict=True)
    ]
    return np.asarray(1 / (1 + np.exp(-(sum(terms) + fitted["bias"]))))


def _balance(sources: np.ndarray, labels: np.ndarray) -> np.ndarray:
    weight = np.zeros(len(labels))
    for source in set(sources):
        for label in (True, False):
            chosen = (sources == source) & (labels == label)
            weight[chosen] = SHARES.get(source, 1.0) / max(1, chosen.sum())
    return weight / weight.sum()


def _weighted_accuracy(said: np.ndarray, true: np.ndarray, weight: np.ndarray) -> float:
    halves = [weight[(said == true) & (true == side)].sum() / weight[true == side].sum() for side in (True, False)]
    return float(np.mean(halves))


if __name__ == "__main__":
    main()
