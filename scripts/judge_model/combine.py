"""Fit how the small model's answer and the features of the words are combined into one calibrated probability.

    python -m scripts.judge_model.combine DATA ROWS.jsonl HELD.npz      writes judge/combination.json

Fitted on the rows that `sources` held out, each kind of text with the same weight and each label with half of it, so
that .5 is the border of balanced accuracy. A feature's sign is known beforehand and may not be turned (`RISING`).
"""

import json
import sys
from pathlib import Path

import numpy as np

from evergold.judge import combination
from evergold.judge.combination import combined_features
from evergold.judge.evidence import EvidenceSearch
from evergold.judge.features import claim_features
from evergold.judge.regression import shipped_weights
from evergold.text.words import Text, sentences
from scripts.judge_model.train_figures import auroc, balanced_accuracy

PACKAGE = Path(combination.__file__).parent
GROUPS = {
    "wice": 4.0,
    "summedits": 2.0,
    "cg2c": 0.5,
    "fever": 0.4,
    "fm2": 0.5,
    "symmetric": 0.2,
    "mnli": 0.3,
    "conj": 0.1,
}
"""Text as the judge meets it weighs most; pairs of single sentences, which the model was trained on by the thousand, least."""
MOST_OF_A_SOURCE = 400
RISING = ("words", "model")
STEPS, RATE, RIDGE = 3000, 0.5, 3e-3


def documents(data: Path) -> dict[str, list[str]]:
    """The whole evidence of each claim that the rows have only a window of."""
    found: dict[str, list[str]] = {}
    for line in (data / "ryokamoi+wice/data/entailment_retrieval/claim/dev.jsonl").read_text().splitlines():
        row = json.loads(line)
        found[row["claim"]] = row["evidence"]
    for path in (data / "salesforce+factualNLG/data/summedits").glob("summedits_*.json"):
        for record in json.loads(path.read_text() or "[]"):
            parts = list(sentences(record["doc"]))
            found |= dict.fromkeys(sentences(record["summary"]), parts)
    for path in (data / "derenlei+FactCG/data").glob("*/CG2C*.json"):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            parts = list(sentences(row["text_a"]))
            found |= dict.fromkeys(row["text_b"], parts)
    return found


def design(data: Path, rows: Path, held: Path) -> tuple[list[str], list[str], np.ndarray, np.ndarray]:
    every = [row for row in map(json.loads, rows.open()) if row["held"] and row["label"] >= 0]
    logits = np.load(held)["student"]
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    answers = odds / odds.sum(axis=1, keepdims=True)
    whole = documents(data)
    sources, matrix, good = [], [], []
    used: dict[str, int] = {}
    names: list[str] = []
    for row, answer in zip(every, answers, strict=True):
        source = row["source"].split("-")[0]
        used[row["source"]] = used.get(row["source"], 0) + 1
        long = source in ("wice", "summedits", "cg2c")
        text = Text(row["claim"])
        if used[row["source"]] > MOST_OF_A_SOURCE or not text.stems:
            continue
        evidence = EvidenceSearch(whole[row["claim"]] if long else sentences(row["premise"]), None)
        if not evidence.sentences:
            continue
        words = shipped_weights().lexical.log_odds(claim_features(text, evidence))
        features = combined_features(words, answer)
        names = list(features)
        sources.append(source)
        matrix.append(list(features.values()))
        good.append(row["label"] == 0)
    return names, sources, np.array(matrix), np.array(good)


def fit(
    names: list[str], sources: list[str], matrix: np.ndarray, good: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    means, scales = matrix.mean(axis=0), matrix.std(axis=0) + 1e-9
    x = (matrix - means) / scales
    where = np.array(sources)
    weight = np.zeros(len(good))
    for source, share in GROUPS.items():
        for label in (True, False):
            chosen = (where == source) & (good == label)
            weight[chosen] = share / max(1, chosen.sum())
    weight /= weight.sum()
    rising = np.array([name in RISING for name in names])
    w, bias = np.zeros(len(names)), 0.0
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-(x @ w + bias)))
        error = weight * (p - good)
        w -= RATE * (x.T @ error + RIDGE * w)
        bias -= RATE * error.sum()
        w = np.where(rising & (w < 0), 0.0, w)
    return means, scales, w, bias


def main() -> None:
    names, sources, matrix, good = design(*map(Path, sys.argv[1:4]))
    means, scales, w, bias = fit(names, sources, matrix, good)
    folds = np.random.default_rng(17).integers(0, 5, len(good))
    p = np.zeros(len(good))
    for fold in range(5):
        inside = folds != fold
        m, s, weights, b = fit(
            names, [one for one, kept in zip(sources, inside, strict=True) if kept], matrix[inside], good[inside]
        )
        p[~inside] = 1 / (1 + np.exp(-((matrix[~inside] - m) / s @ weights + b)))
    model = matrix[:, names.index("model")]
    for source in GROUPS:
        chosen = np.array(sources) == source
        print(
            f"{source:10} n={chosen.sum():4} model alone {auroc(model[chosen], good[chosen]):.3f}, combined "
            f"{auroc(p[chosen], good[chosen]):.3f}, balanced accuracy {balanced_accuracy(p[chosen] >= 0.5, good[chosen]):.3f}"
        )
    stored = {
        "means": dict(zip(names, np.round(means, 6).tolist(), strict=True)),
        "scales": dict(zip(names, np.round(scales, 6).tolist(), strict=True)),
        "weights": dict(zip(names, np.round(w, 6).tolist(), strict=True)),
        "bias": round(float(bias), 6),
    }
    print(stored["weights"], stored["bias"])
    (PACKAGE / "combination.json").write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
