"""Fit how model and words grade answers to expected answers of several sentences.

    python -m scripts.judge_grades.fit DATA ROWS.jsonl SUBSTITUTES.json.xz      writes judge/long_answers.json

DATA and ROWS are those of `scripts.judge_model.combine_data`. Printed for each family of examples, five folds that keep
the answers to one expected answer together: the correlation of grade and target, and that of their differences between
two answers to the same expected answer, as a person compares them.
"""

import json
import lzma
import random
import sys
from itertools import combinations
from pathlib import Path

import numpy as np

from evergold.judge import long_answers
from evergold.judge.claim_model import ClaimModel, shipped_model
from evergold.judge.entailment import entail
from evergold.judge.grading import SHORT
from evergold.judge.long_answers import long_features
from evergold.text.words import sentences
from scripts.judge_grades.examples import Graded, examples
from scripts.judge_model.combine_data import LONG, documents

PACKAGE = Path(long_answers.__file__).parent
SEED, FOLDS, RIDGE = 29, 5, 1e-3
GROUPS = {"claims": 50, "documents": 19}  # expected answers of each family: about three minutes of one core
SIGNS = {
    "recall": 1,
    "precision": 1,
    "refuted": -1,
    "word_recall": 1,
    "word_precision": 1,
    "missing_numbers": -1,
}
"""The direction of each feature, known beforehand; one that the fit would turn around is left out."""


def main() -> None:
    data, rows = Path(sys.argv[1]), Path(sys.argv[2])
    with lzma.open(sys.argv[3], "rt") as opened:
        table = json.load(opened)
    chosen = _sample(examples(rows, _held_documents(data, rows), table, SEED))
    model = shipped_model()
    matrix, target = _matrix(chosen, model), np.array([one.target for one in chosen])
    families = np.array([one.family for one in chosen])
    groups = np.array([f"{one.family} {one.group}" for one in chosen])
    order = {group: number % FOLDS for number, group in enumerate(sorted(set(groups)))}
    folds = np.array([order[group] for group in groups])
    out = np.zeros(len(target))
    for fold in range(FOLDS):
        fitted = fit(matrix, target, families, folds != fold)
        out[folds == fold] = (matrix @ fitted[:-1] + fitted[-1])[folds == fold]
    for family in sorted(set(families)):
        _show(family, families == family, out, target, groups)
    *slopes, bias = fit(matrix, target, families, np.ones(len(target), dtype=bool)).tolist()
    weights = {name: round(slope, 4) for name, slope in zip(SIGNS, slopes, strict=True) if slope}
    stored = {"weights": weights, "bias": round(bias, 4)}
    print(json.dumps(stored))
    (PACKAGE / "long_answers.json").write_text(json.dumps(stored, indent=1) + "\n")


def fit(matrix: np.ndarray, target: np.ndarray, families: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Least squares, each family by the same weight; a feature of the wrong sign gets none, and the rest is fitted anew."""
    weight = used / np.array([(families[used] == family).sum() or 1 for family in families])
    kept = np.append(np.ones(matrix.shape[1], dtype=bool), True)
    design = np.column_stack([matrix, np.ones(len(target))])
    signs = np.array([*SIGNS.values(), 0])
    while True:
        part = design[:, kept]
        curvature = (part * weight[:, None]).T @ part + RIDGE * np.eye(part.shape[1])
        solution = np.zeros(len(kept))
        solution[kept] = np.linalg.solve(curvature, part.T @ (weight * target))
        wrong = solution * signs < 0
        if not wrong.any():
            return solution
        kept &= ~wrong


def _sample(made: list[Graded]) -> list[Graded]:
    """`GROUPS` expected answers of each family with all their answers."""
    every = sorted({(one.family, one.group) for one in made})
    random.Random(1).shuffle(every)
    used = {key for family, most in GROUPS.items() for key in [key for key in every if key[0] == family][:most]}
    return [one for one in made if (one.family, one.group) in used and len(sentences(one.expected)) > SHORT]


def _matrix(chosen: list[Graded], model: ClaimModel) -> np.ndarray:
    rows = [long_features(one.expected, one.answer, entail(one.expected, one.answer, model)) for one in chosen]
    return np.array([[row[name] for name in SIGNS] for row in rows])


def _held_documents(data: Path, rows: Path) -> list[tuple[str, ...]]:
    held = [row for row in map(json.loads, rows.open()) if row["held"] and row["source"].split("-")[0] in LONG]
    whole = documents(data)
    return sorted({whole[row["claim"]] for row in held if row["claim"] in whole})


def _show(family: str, chosen: np.ndarray, out: np.ndarray, target: np.ndarray, groups: np.ndarray) -> None:
    pairs = [pair for group in sorted(set(groups[chosen])) for pair in combinations(np.flatnonzero(groups == group), 2)]
    one, other = np.array(pairs).T
    alone = np.corrcoef(out[chosen], target[chosen])[0, 1]
    compared = np.corrcoef(out[one] - out[other], target[one] - target[other])[0, 1]
    print(f"{family:10} n={chosen.sum()}: {alone:.3f}, of two answers {compared:.3f} ({len(pairs)} pairs)")


if __name__ == "__main__":
    main()
