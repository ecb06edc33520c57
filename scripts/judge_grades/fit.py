"""Fit how model and words grade answers to expected answers of several sentences.

    python -m scripts.judge_grades.fit DATA ROWS.jsonl SUBSTITUTES.json.xz GRADED      writes judge/long_answers.json

DATA and ROWS are those of `scripts.judge_model.combine_data`, GRADED is the folder that `people.py` describes. The weights
are fitted to the differences between answers to the same expected answer, as a person compares them. Their scale and the
constant follow from two anchors: a copy of the expected answer gets 1, an answer to something else `UNRELATED`.

Printed for each family of examples, five folds that keep documents together: the correlation of grade and target, and in
brackets that of the differences; for the shared words alone (F1) and for the fit. About twenty minutes of one core.
"""

import json
import lzma
import random
import sys
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from evergold.judge import grades as long_answers
from evergold.judge.answer_words import likeness
from evergold.judge.grades import SHORT, entail, long_features
from evergold.judge.small_model import ClaimModel, shipped_model
from evergold.text.words import sentences
from scripts.judge_grades.examples import Graded, examples
from scripts.judge_grades.people import people_graded
from scripts.judge_model.combine_data import LONG, documents

PACKAGE = Path(long_answers.__file__).parent
SEED, FOLDS, RIDGE = 29, 5, 1e-3
FEATURES = ("support", "near_words", "near_f1", "support_back")
UNRELATED, OTHERS = 0.05, 16
"""The mean grade of an answer to something else, and how many such pairs of each family set it."""


def main() -> None:
    data, rows, graded = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[4])
    with lzma.open(sys.argv[3], "rt") as opened:
        table = json.load(opened)
    made = examples(rows, _held_documents(data, rows), table, SEED)
    every = [one for one in (*people_graded(graded, SEED), *made) if len(sentences(one.expected)) > SHORT]
    model = shipped_model()
    matrix, target = _matrix(every, model), np.array([one.target for one in every])
    others = _matrix(list(_mismatched(every)), model)
    families = np.array([one.family for one in every])
    groups = np.array([f"{one.family} {one.group}" for one in every])
    kept = [f"{one.family} {one.group if one.document is None else one.document}" for one in every]
    order = {name: number % FOLDS for number, name in enumerate(sorted(set(kept)))}
    folds = np.array([order[name] for name in kept])
    out = np.zeros(len(target))
    for fold in range(FOLDS):
        weights, bias = anchored(slopes(matrix, target, (families, groups), folds != fold), others)
        out[folds == fold] = np.clip(matrix @ weights + bias, 0, 0.99)[folds == fold]
    words = np.array([likeness(one.expected, one.answer) for one in every])
    for family in dict.fromkeys(families.tolist()):
        shown = [_shown(families == family, values, target, groups) for values in (words, out)]
        print(f"{family:10} n={(families == family).sum():4} words {shown[0]} fit {shown[1]}")
    weights, bias = anchored(slopes(matrix, target, (families, groups), np.ones(len(target), dtype=bool)), others)
    named = {name: round(float(weight), 4) for name, weight in zip(FEATURES, weights, strict=True)}
    stored = {"weights": named, "bias": round(bias, 4)}
    print(json.dumps(stored))
    (PACKAGE / "long_answers.json").write_text(json.dumps(stored, indent=1) + "\n")


def slopes(
    matrix: np.ndarray, target: np.ndarray, names: tuple[np.ndarray, np.ndarray], used: np.ndarray
) -> np.ndarray:
    """Least squares within each expected answer, each family by the same weight; a feature of the wrong sign gets none."""
    families, groups = names
    weight = used / np.array([(families == family).sum() for family in families])
    middle = {group: groups == group for group in sorted(set(groups))}
    features = matrix - np.array([matrix[middle[group]].mean(axis=0) for group in groups])
    wanted = target - np.array([target[middle[group]].mean() for group in groups])
    kept = np.ones(matrix.shape[1], dtype=bool)
    while True:
        part = features[:, kept]
        curvature = (part * weight[:, None]).T @ part + RIDGE * np.eye(part.shape[1])
        solution = np.zeros(len(kept))
        solution[kept] = np.linalg.solve(curvature, part.T @ (weight * wanted))
        if (solution >= 0).all():
            return solution
        kept &= solution >= 0


def anchored(weights: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, float]:
    """The weights scaled, and the constant: every feature of a copy is 1 and so is its grade; `others` get `UNRELATED`."""
    scaled = weights * (1 - UNRELATED) / (weights.sum() - (others @ weights).mean())
    return scaled, float(1 - scaled.sum())


def _mismatched(every: Sequence[Graded]) -> Iterator[Graded]:
    """Expected answers with the answer to another one of the same family."""
    rng = random.Random(SEED)
    for family in dict.fromkeys(one.family for one in every):
        inside = [one for one in every if one.family == family]
        for one in rng.sample(inside, OTHERS):
            far = [other for other in inside if (other.document, other.group) != (one.document, one.group)]
            if one.document is not None:
                far = [other for other in far if other.document != one.document]
            yield Graded(family, one.group, one.expected, rng.choice(far).answer, 0.0)


def _matrix(chosen: Sequence[Graded], model: ClaimModel) -> np.ndarray:
    rows = [long_features(one.expected, one.answer, entail(one.expected, one.answer, model), model) for one in chosen]
    return np.array([[row[name] for name in FEATURES] for row in rows])


def _held_documents(data: Path, rows: Path) -> list[tuple[str, ...]]:
    held = [row for row in map(json.loads, rows.open()) if row["held"] and row["source"].split("-")[0] in LONG]
    whole = documents(data)
    return sorted({whole[row["claim"]] for row in held if row["claim"] in whole})


def _shown(chosen: np.ndarray, out: np.ndarray, target: np.ndarray, groups: np.ndarray) -> str:
    pairs = [pair for group in sorted(set(groups[chosen])) for pair in combinations(np.flatnonzero(groups == group), 2)]
    one, other = np.array(pairs).T
    given, wanted = out[one] - out[other], target[one] - target[other]
    # About zero, not about the mean: which of two answers stands first means nothing.
    compared = (given * wanted).sum() / np.sqrt((given**2).sum() * (wanted**2).sum())
    return f"{np.corrcoef(out[chosen], target[chosen])[0, 1]:.3f} ({compared:.3f})"


if __name__ == "__main__":
    main()
