"""Fit the weights of the words alone.

    python -m scripts.fit_offline_judge DATA            writes judge/regression.json

DATA is a folder with copies of public data, none of which is part of this repository: `judge_data.py` lists it. Fitted on
WiCE dev and, with a tenth of its weight, SummEdits. `measure_offline_judge` measures the judge.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evergold.judge import support as model
from evergold.judge.support import LEXICAL, RISING, EvidenceSearch, Floats, claim_features
from evergold.text.words import Text
from scripts.judge_data import Document, training_data

PACKAGE = Path(model.__file__).parent
RIDGE = 1000.0
SAMPLE_WEIGHT = 1000.0
SHARES = {"wice": 1.0, "summedits": 0.1}
"""What a dataset weighs; inside each, supported and unsupported weigh the same."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    options = parser.parse_args()
    _write(PACKAGE / "regression.json", {"lexical": fit(options.data)})


def fit(data: Path) -> dict[str, Any]:
    """A ridge logistic regression in which no feature may speak against its own direction."""
    parts = {name: _rows(_both_cases(found)) for name, found in training_data(data).items()}
    rows = np.concatenate([found for found, _ in parts.values()])
    labels = np.concatenate([found for _, found in parts.values()])
    weight = np.concatenate([SHARES[name] * _balanced(found) for name, (_, found) in parts.items()])
    means, scales = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    directions = np.array([1.0 if name in RISING else -1.0 for name in LEXICAL])
    found = _directed((rows - means) / scales, labels, weight * SAMPLE_WEIGHT / weight.sum(), directions)
    return {
        "means": named(LEXICAL, means),
        "scales": named(LEXICAL, scales),
        "weights": named(LEXICAL, found[:-1]),
        "bias": round(float(found[-1]), 6),
    }


def _both_cases(documents: Sequence[Document]) -> list[Document]:
    """Each document as it is, and without its capitals: much text has none, and names are then only words."""
    plain = [
        replace(
            document, evidence=[*map(str.capitalize, document.evidence)], claims=[*map(str.capitalize, document.claims)]
        )
        for document in documents
    ]
    return [*documents, *plain]


def _rows(documents: Sequence[Document]) -> tuple[Floats, Floats]:
    """One row per document: the mean over its claims."""
    rows, labels = [], []
    for document in documents:
        evidence = EvidenceSearch(document.evidence)
        claims = [claim_features(Text(claim), evidence) for claim in document.claims]
        rows.append([float(np.mean([claim[name] for claim in claims])) for name in LEXICAL])
        labels.append(document.label)
    return np.array(rows), np.array(labels)


def _directed(rows: Floats, labels: Floats, weight: Floats, directions: Floats) -> Floats:
    """Weights of the right sign: features that want another one are left out, until none does."""
    kept = np.ones(rows.shape[1], dtype=bool)
    while True:
        fitted = logistic(rows[:, kept], labels, weight, RIDGE)
        found = np.zeros(rows.shape[1] + 1)
        found[np.append(kept, True)] = fitted
        wrong = found[:-1] * directions < 0
        if not wrong.any():
            return found
        kept &= ~wrong


def logistic(rows: Floats, labels: Floats, weight: Floats, penalty: float) -> Floats:
    """Newton's method with a ridge on every weight but the bias, which comes last."""
    design = np.column_stack([rows, np.ones(len(rows))])
    ridge = np.append(np.full(rows.shape[1], penalty), 1e-6)
    found: Floats = np.zeros(design.shape[1])
    for _ in range(100):
        p = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
        gradient = design.T @ (weight * (p - labels)) + ridge * found
        curvature = (design * (weight * p * (1 - p))[:, None]).T @ design + np.diag(ridge)
        step = np.linalg.solve(curvature, gradient)
        found = found - step
        if np.abs(step).max() < 1e-9:
            break
    return found


def _balanced(labels: Floats) -> Floats:
    share = labels.mean()
    weight: Floats = np.where(labels == 1, 0.5 / share, 0.5 / (1 - share)) / len(labels)
    return weight


def named(names: Sequence[str], values: Floats) -> dict[str, float]:
    return {name: round(float(value), 6) for name, value in zip(names, values, strict=True)}


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n")


if __name__ == "__main__":
    main()
