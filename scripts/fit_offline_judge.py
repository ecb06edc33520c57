"""Fit the offline judge's weights and measure it against people.

    python scripts/fit_offline_judge.py DATA            fit, write weights.json, measure, write figures.json
    python scripts/fit_offline_judge.py DATA --measure  measure the shipped weights only

DATA is a folder with copies of public data, none of which is part of this repository:

    wice/{dev,test}.jsonl            github.com/ryokamoi/wice, data/entailment_retrieval/claim
    summedits/*.json                 github.com/salesforce/factualNLG, data/summedits
    qags/mturk_{cnndm,xsum}.jsonl    github.com/W4ngatang/qags, data
    ragchecker/human_labeled_data.json   github.com/amazon-science/RAGChecker, data/meta_evaluation

Fitted on WiCE dev and a tenth of weight on SummEdits; measured on WiCE test, QAGS and RAGChecker, which are not fitted on.
"""

import argparse
import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evergold.bench.judges.offline import OfflineJudge
from evergold.bench.offline import model
from evergold.bench.offline.answers import compare_answers
from evergold.bench.offline.evidence import Evidence, Floats, Match
from evergold.bench.offline.features import EMBEDDED, LEXICAL, claim_features
from evergold.stats.correlation import pearson, spearman
from evergold.stats.intervals import Interval, bootstrap, proportion_interval
from evergold.text.embed import Embedder, embedder
from evergold.text.words import Text, sentences

PACKAGE = Path(model.__file__).parent
RIDGE = 600.0
SAMPLE_WEIGHT = 600.0
SUMMEDITS_SHARE = 0.1
SUMMEDITS_PER_DOMAIN = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--measure", action="store_true", help="measure the shipped weights, fit nothing")
    options = parser.parse_args()
    if not options.measure:
        fitted = {"lexical": fit(options.data, None), "embedded": fit(options.data, embedder())}
        _write(PACKAGE / "weights.json", fitted)
        model.shipped_weights.cache_clear()
    measured = {
        basis: measure(options.data, OfflineJudge(lexical=basis == "lexical")) for basis in ("embedded", "lexical")
    }
    _write(PACKAGE / "figures.json", {"identity": OfflineJudge().identity, "figures": measured})
    for basis, figures in measured.items():
        for name, figure in figures.items():
            print(
                f"{basis:9} {name:44} {figure['value']:.3f} [{figure['low']:.3f}, {figure['high']:.3f}] n={figure['n']}"
            )


def fit(data: Path, vectors: Embedder | None) -> dict[str, Any]:
    """A ridge logistic regression, classes balanced inside each dataset."""
    names = LEXICAL if vectors is None else LEXICAL + EMBEDDED
    wice, wice_labels = _wice_rows(data, vectors, names)
    edits, edit_labels = _summedits_rows(data, vectors, names)
    rows, labels = np.concatenate([wice, edits]), np.concatenate([wice_labels, edit_labels])
    weight = np.concatenate([_balanced(wice_labels), SUMMEDITS_SHARE * _balanced(edit_labels)])
    means, scales = wice.mean(axis=0), wice.std(axis=0) + 1e-9
    found = _logistic((rows - means) / scales, labels, weight * SAMPLE_WEIGHT / weight.sum())
    return {
        "means": _named(names, means),
        "scales": _named(names, scales),
        "weights": _named(names, found[:-1]),
        "bias": round(float(found[-1]), 6),
    }


def measure(data: Path, judge: OfflineJudge) -> dict[str, dict[str, Any]]:
    found: dict[str, Interval | None] = {}
    rows = list(_lines(data / "wice" / "test.jsonl"))
    supported = np.array([row["label"] == "supported" for row in rows])
    evidence = [Evidence(row["evidence"], judge.embedder) for row in rows]
    p = np.array([judge.support(row["claim"], seen)[0] for row, seen in zip(rows, evidence, strict=True)])
    found["WiCE test: balanced accuracy"] = _balanced_accuracy(p >= 0.5, supported)
    found["WiCE test: evidence hit@1"] = _hit_at_one(rows, evidence)
    for name, title in (("cnndm", "QAGS CNN/DailyMail: Spearman"), ("xsum", "QAGS XSum: Spearman")):
        ours, people = _qags(data / "qags" / f"mturk_{name}.jsonl", judge)
        found[title] = spearman(ours, people)
    found |= _preference(data / "ragchecker" / "human_labeled_data.json", judge.embedder)
    found["SummEdits: balanced accuracy"] = _summedits_accuracy(data, judge)
    return {name: interval.as_dict() for name, interval in found.items() if interval is not None}


def _wice_rows(data: Path, vectors: Embedder | None, names: Sequence[str]) -> tuple[Floats, Floats]:
    rows, labels = [], []
    for record in _lines(data / "wice" / "dev.jsonl"):
        row = claim_features(Text(record["claim"]), Evidence(record["evidence"], vectors))
        rows.append([row[name] for name in names])
        labels.append(float(record["label"] == "supported"))
    return np.array(rows), np.array(labels)


def _summedits(data: Path, skip: int, count: int) -> Iterable[dict[str, Any]]:
    for path in sorted((data / "summedits").glob("*.json")):
        records = json.loads(path.read_text())
        random.Random(0).shuffle(records)
        yield from records[skip : skip + count]


def _summedits_rows(data: Path, vectors: Embedder | None, names: Sequence[str]) -> tuple[Floats, Floats]:
    """One row per summary: the mean over its sentences."""
    rows, labels = [], []
    for record in _summedits(data, 0, SUMMEDITS_PER_DOMAIN):
        evidence = Evidence.of_passages([record["doc"]], vectors)
        claims = [claim_features(Text(claim), evidence) for claim in sentences(record["summary"])]
        rows.append([float(np.mean([claim[name] for claim in claims])) for name in names])
        labels.append(float(record["label"]))
    return np.array(rows), np.array(labels)


def _summedits_accuracy(data: Path, judge: OfflineJudge) -> Interval | None:
    """On summaries that were not fitted on. Chance is 0.5, and a judge that counts words is near it."""
    said, true = [], []
    for record in _summedits(data, SUMMEDITS_PER_DOMAIN, SUMMEDITS_PER_DOMAIN):
        evidence = judge.evidence([record["doc"]])
        said.append(np.mean([judge.support(claim, evidence)[0] for claim in sentences(record["summary"])]) >= 0.5)
        true.append(record["label"] == 1)
    return _balanced_accuracy(np.array(said), np.array(true))


def _qags(path: Path, judge: OfflineJudge) -> tuple[list[float], list[float]]:
    """Per summary: our mean support, and the share of people's answers that say yes."""
    ours, people = [], []
    for record in _lines(path):
        evidence = judge.evidence([record["article"]])
        parts = record["summary_sentences"]
        ours.append(float(np.mean([judge.support(part["sentence"], evidence)[0] for part in parts])))
        votes = [answer["response"] == "yes" for part in parts for answer in part["responses"]]
        people.append(float(np.mean(votes)))
    return ours, people


def _preference(path: Path, vectors: Embedder | None) -> dict[str, Interval | None]:
    """Two answers to one question: the difference of our grades against the mean preference of two people (-2 to 2)."""
    records = json.loads(path.read_text())
    deltas = []
    for record in records[::2]:
        first, second = (
            compare_answers(record["gt_answer"], record[model]["response"], vectors).value
            for model in ("model1", "model2")
        )
        deltas.append(second - first)
    found = {}
    for label in ("overall", "completeness", "correctness"):
        people = np.array([record[f"{label}_label"] for record in records], dtype=float).reshape(-1, 2).mean(axis=1)
        found[f"RAGChecker: Pearson, preference ({label})"] = pearson(deltas, people)
    return found


def _hit_at_one(rows: Sequence[dict[str, Any]], evidence: Sequence[Evidence]) -> Interval | None:
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


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    with path.open() as lines:
        yield from map(json.loads, lines)


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n")


if __name__ == "__main__":
    main()
