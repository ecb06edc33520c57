"""Fit the offline judge's weights and measure it against people.

    python -m scripts.fit_offline_judge DATA            fit, write regression.json, measure, write figures.json
    python -m scripts.fit_offline_judge DATA --measure  measure the shipped weights only

DATA is a folder with copies of public data, none of which is part of this repository: `judge_data.py` lists it. Fitted on
WiCE dev and, with a tenth of its weight, SummEdits; measured on data that is not fitted on.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evergold.judge import regression as model
from evergold.judge.evidence import EvidenceSearch, Floats, Match
from evergold.judge.features import EMBEDDED, LEXICAL, RISING, claim_features
from evergold.judge.offline import OfflineJudge
from evergold.stats.correlation import pearson, spearman
from evergold.stats.intervals import Interval, bootstrap, proportion_interval
from evergold.text.embed import Embedder, embedder
from evergold.text.words import Text
from scripts.judge_data import Document, lines, rated_summaries, training_data, unseen_edits

PACKAGE = Path(model.__file__).parent
RIDGE = 1000.0
SAMPLE_WEIGHT = 1000.0
SHARES = {"wice": 1.0, "summedits": 0.1}
"""What a dataset weighs; inside each, supported and unsupported weigh the same."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--measure", action="store_true", help="measure the shipped weights, fit nothing")
    options = parser.parse_args()
    if not options.measure:
        fitted = {"lexical": fit(options.data, None), "embedded": fit(options.data, embedder())}
        _write(PACKAGE / "regression.json", fitted)
        model.shipped_weights.cache_clear()
    measured = {
        basis: measure(options.data, OfflineJudge(lexical=basis == "lexical")) for basis in ("model", "lexical")
    }
    _write(PACKAGE / "figures.json", {"identity": OfflineJudge().identity, "figures": measured})
    for basis, figures in measured.items():
        for name, figure in figures.items():
            print(
                f"{basis:9} {name:44} {figure['value']:.3f} [{figure['low']:.3f}, {figure['high']:.3f}] n={figure['n']}"
            )


def fit(data: Path, vectors: Embedder | None) -> dict[str, Any]:
    """A ridge logistic regression in which no feature may speak against its own direction."""
    names = LEXICAL if vectors is None else LEXICAL + EMBEDDED
    parts = {name: _rows(_both_cases(found), vectors, names) for name, found in training_data(data).items()}
    rows = np.concatenate([found for found, _ in parts.values()])
    labels = np.concatenate([found for _, found in parts.values()])
    weight = np.concatenate([SHARES[name] * _balanced(found) for name, (_, found) in parts.items()])
    means, scales = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    directions = np.array([1.0 if name in RISING else -1.0 for name in names])
    found = _directed((rows - means) / scales, labels, weight * SAMPLE_WEIGHT / weight.sum(), directions)
    return {
        "means": _named(names, means),
        "scales": _named(names, scales),
        "weights": _named(names, found[:-1]),
        "bias": round(float(found[-1]), 6),
    }


def measure(data: Path, judge: OfflineJudge) -> dict[str, dict[str, Any]]:
    found: dict[str, Interval | None] = {}
    rows = list(lines(data / "wice" / "test.jsonl"))
    supported = np.array([row["label"] == "supported" for row in rows])
    evidence = [EvidenceSearch(row["evidence"], None) for row in rows]
    p = np.array([judge.support(row["claim"], seen)[0] for row, seen in zip(rows, evidence, strict=True)])
    found["WiCE test: balanced accuracy"] = _balanced_accuracy(p >= 0.5, supported)
    found["WiCE test: evidence hit@1"] = _hit_at_one(rows, evidence)
    for title, documents in rated_summaries(data).items():
        found[f"{title}: Spearman"] = spearman(_supports(documents, judge), [document.label for document in documents])
    found |= _preference(data / "ragchecker" / "human_labeled_data.json", judge)
    edits = unseen_edits(data)
    said = np.array(_lowest(edits, judge)) >= 0.5
    found["SummEdits, unseen domains: balanced accuracy"] = _balanced_accuracy(
        said, np.array([edit.label == 1 for edit in edits])
    )
    return {name: interval.as_dict() for name, interval in found.items() if interval is not None}


def _both_cases(documents: Sequence[Document]) -> list[Document]:
    """Each document as it is, and without its capitals: much text has none, and names are then only words."""
    plain = [
        replace(
            document, evidence=[*map(str.capitalize, document.evidence)], claims=[*map(str.capitalize, document.claims)]
        )
        for document in documents
    ]
    return [*documents, *plain]


def _rows(documents: Sequence[Document], vectors: Embedder | None, names: Sequence[str]) -> tuple[Floats, Floats]:
    """One row per document: the mean over its claims."""
    rows, labels = [], []
    for document in documents:
        evidence = EvidenceSearch(document.evidence, vectors)
        claims = [claim_features(Text(claim), evidence) for claim in document.claims]
        rows.append([float(np.mean([claim[name] for claim in claims])) for name in names])
        labels.append(document.label)
    return np.array(rows), np.array(labels)


def _supports(documents: Sequence[Document], judge: OfflineJudge) -> list[float]:
    """Our mean support of each document's claims."""
    found = []
    for document in documents:
        evidence = EvidenceSearch(document.evidence, None)
        found.append(float(np.mean([support.supported for support in judge.supports(document.claims, evidence)])))
    return found


def _lowest(documents: Sequence[Document], judge: OfflineJudge) -> list[float]:
    """The support of each document's weakest claim: one wrong sentence makes a summary wrong."""
    return [
        min(support.supported for support in judge.supports(document.claims, EvidenceSearch(document.evidence, None)))
        for document in documents
    ]


def _preference(path: Path, judge: OfflineJudge) -> dict[str, Interval | None]:
    """Two answers to one question: the difference of our grades against the mean preference of two people (-2 to 2)."""
    records = json.loads(path.read_text())
    deltas = []
    for record in records[::2]:
        first, second = (
            judge.correctness(record.get("query", ""), record["gt_answer"], record[model]["response"])
            for model in ("model1", "model2")
        )
        deltas.append(second - first)
    found = {}
    for label in ("overall", "completeness", "correctness"):
        people = np.array([record[f"{label}_label"] for record in records], dtype=float).reshape(-1, 2).mean(axis=1)
        found[f"RAGChecker: Pearson, preference ({label})"] = pearson(deltas, people)
    return found


def _hit_at_one(rows: Sequence[dict[str, Any]], evidence: Sequence[EvidenceSearch]) -> Interval | None:
    """Is the sentence we take for the best one of those people took as support?"""
    hits = asked = 0
    for row, seen in zip(rows, evidence, strict=True):
        gold = {index for group in row["supporting_sentences"] for index in group}
        if gold:
            places = [index for index, text in enumerate(row["evidence"]) if Text(text).tokens]
            asked += 1
            hits += places[int(Match(Text(row["claim"]), seen).order[0])] in gold
    return proportion_interval(hits, asked)


def _balanced_accuracy(said: NDArray[np.bool_], true: NDArray[np.bool_]) -> Interval | None:
    def accuracy(rows: Any) -> Floats:
        right, positive = (said == true)[rows], true[rows]
        halves = [
            np.divide(
                (right & side).sum(axis=-1), side.sum(axis=-1), where=side.any(axis=-1), out=np.full(len(rows), np.nan)
            )
            for side in (positive, ~positive)
        ]
        mean: Floats = (halves[0] + halves[1]) / 2
        return mean

    return bootstrap(accuracy, len(true))


def _directed(rows: Floats, labels: Floats, weight: Floats, directions: Floats) -> Floats:
    """Weights of the right sign: features that want another one are left out, until none does."""
    kept = np.ones(rows.shape[1], dtype=bool)
    while True:
        fitted = _logistic(rows[:, kept], labels, weight)
        found = np.zeros(rows.shape[1] + 1)
        found[np.append(kept, True)] = fitted
        wrong = found[:-1] * directions < 0
        if not wrong.any():
            return found
        kept &= ~wrong


def _logistic(rows: Floats, labels: Floats, weight: Floats) -> Floats:
    """Newton's method with a ridge on every weight but the bias, which comes last."""
    design = np.column_stack([rows, np.ones(len(rows))])
    ridge = np.append(np.full(rows.shape[1], RIDGE), 1e-6)
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


def _named(names: Sequence[str], values: Floats) -> dict[str, float]:
    return {name: round(float(value), 6) for name, value in zip(names, values, strict=True)}


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n")


if __name__ == "__main__":
    main()
