"""Public data the offline judge is fitted on and measured with, as it lies in a folder of copies.

wice/{dev,test}.jsonl            github.com/ryokamoi/wice, data/entailment_retrieval/claim
summedits/*.json                 github.com/salesforce/factualNLG, data/summedits
qags/mturk_{cnndm,xsum}.jsonl    github.com/W4ngatang/qags, data
ragchecker/human_labeled_data.json   github.com/amazon-science/RAGChecker, data/meta_evaluation
refutation/rows.jsonl            rows that `scripts.judge_model.sources` writes; the held ones are read
"""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evergold.text.words import sentences

SUMMEDITS_PER_DOMAIN = 40
UNSEEN_DOMAINS = ("samsum", "ectsum")
REFUTING = ("fm2", "symmetric", "conj")


@dataclass(frozen=True)
class Document:
    """Sentences of evidence, claims, and how far people found the claims supported, from 0 to 1."""

    evidence: Sequence[str]
    claims: Sequence[str]
    label: float


@dataclass(frozen=True)
class Example:
    """A text to be measured, and the label people gave it; two outputs are compared with each other."""

    outputs: Sequence[str]
    label: float
    contexts: Sequence[str] = ()
    question: str = ""
    expected: str | None = None


def training_data(data: Path) -> dict[str, list[Document]]:
    wice = lines(data / "wice" / "dev.jsonl")
    return {
        "wice": [Document(row["evidence"], [row["claim"]], float(row["label"] == "supported")) for row in wice],
        "summedits": list(_summedits(data)),
    }


def example_sets(data: Path) -> dict[str, Callable[[], Iterator[Example]]]:
    """Sets that nothing of the judge was trained on, by name; of `refutation` only rows that training held out."""
    return {
        "refutation": partial(_refutation, data),
        "wice": partial(_wice, data),
        "qags_cnndm": partial(_qags, data, "cnndm"),
        "qags_xsum": partial(_qags, data, "xsum"),
        "ragchecker": partial(_ragchecker, data),
        "summedits": partial(_unseen_edits, data),
    }


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open() as opened:
        yield from map(json.loads, opened)


def _summary(article: str, summary: str, label: float) -> Document:
    return Document(sentences(article), sentences(summary), label)


def _wice(data: Path) -> Iterator[Example]:
    for row in lines(data / "wice" / "test.jsonl"):
        yield Example([row["claim"]], float(row["label"] == "supported"), row["evidence"])


def _qags(data: Path, name: str) -> Iterator[Example]:
    """The label is the share of answers that say yes."""
    for record in lines(data / "qags" / f"mturk_{name}.jsonl"):
        parts = record["summary_sentences"]
        votes = [answer["response"] == "yes" for part in parts for answer in part["responses"]]
        summary = " ".join(part["sentence"] for part in parts)
        yield Example([summary], sum(votes) / len(votes), [record["article"]])


def _ragchecker(data: Path) -> Iterator[Example]:
    """Two answers to one question; the label is the mean preference of two people, from -2 to 2."""
    records = json.loads((data / "ragchecker" / "human_labeled_data.json").read_text())
    for one, other in zip(records[::2], records[1::2], strict=True):
        outputs = [one[model]["response"] for model in ("model1", "model2")]
        label = (one["overall_label"] + other["overall_label"]) / 2
        yield Example(outputs, label, question=one.get("query", ""), expected=one["gt_answer"])


def _unseen_edits(data: Path) -> Iterator[Example]:
    """Summaries of the two domains that no model of the judge was trained on."""
    for name in UNSEEN_DOMAINS:
        for record in json.loads((data / "summedits" / f"summedits_{name}.json").read_text()):
            yield Example([record["summary"]], float(record["label"]), [record["doc"]])


def _refutation(data: Path) -> Iterator[Example]:
    """Supported and refuted claims on short evidence: held-out rows of FoolMeTwice, FeverSymmetric and ConjNLI."""
    for row in lines(data / "refutation" / "rows.jsonl"):
        if row["held"] and row["source"].split("-")[0] in REFUTING and row["label"] in (0, 2):
            yield Example([row["claim"]], float(row["label"] == 0), [row["premise"]])


def _summedits(data: Path) -> Iterator[Document]:
    for path in sorted((data / "summedits").glob("*.json")):
        if path.stem.removeprefix("summedits_") in UNSEEN_DOMAINS or not path.stat().st_size:
            continue
        records = json.loads(path.read_text())
        random.Random(0).shuffle(records)
        for record in records[:SUMMEDITS_PER_DOMAIN]:
            yield _summary(record["doc"], record["summary"], float(record["label"]))
