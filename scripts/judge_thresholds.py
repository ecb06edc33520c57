"""Calibrate the thresholds of contextual precision and of equal tool arguments.

    python -m scripts.judge_thresholds ROWS.jsonl      writes judge/thresholds.json

ROWS is the file of `scripts.judge_model.sources`; only rows that the claim model was not trained on are read. A context is
useful when it supports the expected answer: a supported claim with its own evidence, against the same claim with the other
evidence that shares most words with it. Arguments are the same from the grade that best tells right from wrong among the
probes that shaped grading. Half of the claims choose the thresholds of contexts, the other half measures them.
"""

import json
import random
import sys
from itertools import product
from pathlib import Path

import numpy as np

from evergold.judge import offline
from evergold.judge.grades import grade
from evergold.judge.offline import OfflineJudge, context_features
from evergold.text.words import Text
from scripts.judge_model.train_figures import balanced_accuracy

PACKAGE = Path(offline.__file__).parent
PROBES = Path(__file__).parents[1] / "tests" / "judge" / "probes"
SOURCES = ("fever", "fm2", "wice", "symmetric")
CLAIMS, SEED = 300, 23
SUBJECT = 12
"""Passages that begin with the same letters are mostly about the same thing, so either may support a claim."""
NO_DIFFERENCE = 0.005


def main() -> None:
    judge = OfflineJudge()
    support, coverage, useful = _contexts(Path(sys.argv[1]), judge)
    chosen = np.arange(len(useful)) % 4 < 2  # a claim and its two contexts stay in one half
    steps = list(product(np.arange(0.3, 0.951, 0.05), np.arange(0.5, 1.051, 0.05)))
    scores = np.array([balanced_accuracy(_useful(support, coverage, step)[chosen], useful[chosen]) for step in steps])
    best = [step for step, score in zip(steps, scores, strict=True) if score >= scores.max() - NO_DIFFERENCE]
    least = tuple(round(float(np.median([step[side] for step in best])), 2) for side in (0, 1))
    measured = balanced_accuracy(_useful(support, coverage, least)[~chosen], useful[~chosen])
    print(
        f"useful from support {least[0]} or coverage {least[1]}: balanced accuracy {scores.max():.3f}, other half {measured:.3f}"
    )
    stored = {"useful_support": least[0], "useful_coverage": least[1], "same": _same(judge)}
    print(stored)
    (PACKAGE / "thresholds.json").write_text(json.dumps(stored, indent=1) + "\n")


def _useful(support: np.ndarray, coverage: np.ndarray, least: tuple[float, ...]) -> np.ndarray:
    return np.asarray((support >= least[0]) | (coverage >= least[1]))


def _contexts(rows: Path, judge: OfflineJudge) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Support and coverage of each claim by its own evidence and by the nearest other one, in turn."""
    held = [row for row in map(json.loads, rows.open()) if row["held"] and row["source"].split("-")[0] in SOURCES]
    asked = [row for row in held if row["label"] == 0]
    random.Random(SEED).shuffle(asked)
    words = {row["premise"]: set(Text(row["premise"]).content) for row in held}
    own: dict[str, set[str]] = {}
    for row in held:
        own.setdefault(row["claim"], set()).add(row["premise"][:SUBJECT])
    features, useful = [], []
    for row in asked[:CLAIMS]:
        claim = set(Text(row["claim"]).content)
        others = (text for text in words if text[:SUBJECT] not in own[row["claim"]])
        near = max(others, key=lambda text: (len(claim & words[text]), text))
        features += [context_features(judge, [row["claim"]], text) for text in (row["premise"], near)]
        useful += [True, False]
    support, coverage = np.array(features).T
    return support, coverage, np.array(useful)


def _same(judge: OfflineJudge) -> float:
    """The middle of the grades that best tell right probes from wrong ones."""
    lines = [
        line for name in ("shaping", "second_shaping") for line in (PROBES / f"{name}.jsonl").read_text().splitlines()
    ]
    probes = [json.loads(line) for line in lines]
    graded = [grade(one["question"], one["expected"], one["answer"], judge.model) for one in probes]
    values = np.array([one.value if one else 0.0 for one in graded])
    right = np.array([one["verdict"] == "right" for one in probes])
    steps = np.arange(0.3, 0.91, 0.01)
    scores = np.array([balanced_accuracy(values >= step, right) for step in steps])
    print(f"same: balanced accuracy {scores.max():.3f}")
    return round(float(np.median(steps[scores >= scores.max() - NO_DIFFERENCE])), 2)


if __name__ == "__main__":
    main()
