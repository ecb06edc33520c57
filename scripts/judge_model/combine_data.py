"""Rows that the combination of model and words is fitted on: features, the model's answers and labels, as arrays.

    python -m scripts.judge_model.combine_data DATA ROWS.jsonl HELD.npz SUBSTITUTES.json.xz OUT.npz

Only rows that the model was not trained on. Claims on whole documents go through the judge's own choice of evidence and
through the packed model; pairs of single sentences have their answers in HELD. Each claim on a document is there twice,
as it is and without capitals.
"""

import json
import lzma
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evergold.judge.small_model import REFUTED, ClaimModel, shipped_model
from evergold.judge.support import EvidenceSearch, claim_features, combined_features, read
from evergold.text.words import Text, sentences
from scripts.judge_model.extracts import extracts
from scripts.judge_model.made import SUPPORTED, UNSUPPORTED

MOST_OF_A_SOURCE, MOST_MADE = 400, 600
LONG = ("wice", "summedits")
LEFT_OUT = ("cg2c",)
"""One claim stands there with several documents: which of them a row has is not known any more."""
NAMES = ("words", "model", "refuted")
SEED = 17


@dataclass(frozen=True)
class Example:
    """A claim on the sentences of a document; `group` names the document, so that folds keep it together."""

    source: str
    group: str
    document: tuple[str, ...]
    claim: str
    label: int
    answer: tuple[float, ...] | None = None


def documents(data: Path) -> dict[str, tuple[str, ...]]:
    """The whole evidence of each claim that the rows have only a window of."""
    found: dict[str, tuple[str, ...]] = {}
    for line in (data / "ryokamoi+wice/data/entailment_retrieval/claim/dev.jsonl").read_text().splitlines():
        row = json.loads(line)
        found[row["claim"]] = tuple(row["evidence"])
    for path in (data / "salesforce+factualNLG/data/summedits").glob("summedits_*.json"):
        for record in json.loads(path.read_text() or "[]"):
            found |= dict.fromkeys(sentences(record["summary"]), sentences(record["doc"]))
    return found


def examples(data: Path, rows: Path, held: Path, table: dict[str, Any]) -> Iterator[Example]:
    every = [row for row in map(json.loads, rows.open()) if row["held"] and row["label"] >= 0]
    logits = np.load(held)["student"]
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    answers = odds / odds.sum(axis=1, keepdims=True)
    whole = documents(data)
    used: dict[str, int] = {}
    long: dict[str, dict[str, tuple[str, ...]]] = {}
    for row, answer in zip(every, answers, strict=True):
        source = row["source"].split("-")[0]
        used[row["source"]] = used.get(row["source"], 0) + 1
        if used[row["source"]] > MOST_OF_A_SOURCE or source in LEFT_OUT:
            continue
        if source in LONG:
            document = whole.get(row["claim"], ())
            group = " ".join(document)[:200]
            long.setdefault(source, {})[group] = document
            yield Example(source, group, document, row["claim"], row["label"])
        else:
            yield Example(
                source, row["premise"][:200], sentences(row["premise"]), row["claim"], row["label"], tuple(answer)
            )
    yield from _made(long, table)


def _made(long: dict[str, dict[str, tuple[str, ...]]], table: dict[str, Any]) -> Iterator[Example]:
    """Claims made of the documents that the held rows have."""
    rng = random.Random(SEED)
    made: list[Example] = []
    for parts in long.values():
        listed = sorted(parts.items())
        for group, document in listed:
            other = rng.choice(listed)[1]
            for claim, good in extracts(document, other if other is not document else (), table, rng):
                made.append(Example("made", group, document, claim, SUPPORTED if good else UNSUPPORTED))
    yield from rng.sample(made, min(MOST_MADE, len(made)))


def rows_of(example: Example, model: ClaimModel) -> list[dict[str, float]]:
    """The features of an example; of a claim on a document once more without capitals."""
    text, evidence = Text(example.claim), EvidenceSearch(example.document)
    if not text.stems or not evidence.sentences or text.stems in {one.stems for one in evidence.sentences}:
        return []
    answer = example.answer
    if answer is None:
        answer = tuple(read([text], evidence, model)[0].tolist())
    made = [claim_features(text, evidence)]
    if example.answer is None:
        plain = EvidenceSearch(map(str.lower, example.document))
        made.append(claim_features(Text(example.claim.lower()), plain))
    together = [row | combined_features(row, answer, len(evidence.sentences)) for row in made]
    return [row | {"refuted": float(answer[REFUTED])} for row in together]


def main() -> None:
    data, rows, held, substitutes, out = map(Path, sys.argv[1:6])
    with lzma.open(substitutes, "rt") as opened:
        table = json.load(opened)
    model = shipped_model()
    matrix, sources, groups, labels = [], [], [], []
    for example in examples(data, rows, held, table):
        for features in rows_of(example, model):
            matrix.append([features[name] for name in NAMES])
            sources.append(example.source)
            groups.append(example.group)
            labels.append(example.label)
    np.savez(out, matrix=np.array(matrix), sources=np.array(sources), groups=np.array(groups), labels=np.array(labels))
    print(f"{len(labels)} rows of {len(set(groups))} documents and premises")


if __name__ == "__main__":
    main()
