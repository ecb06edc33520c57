"""Public data the offline judge is fitted on and measured with, as it lies in a folder of copies.

wice/{dev,test}.jsonl            github.com/ryokamoi/wice, data/entailment_retrieval/claim
summedits/*.json                 github.com/salesforce/factualNLG, data/summedits
qags/mturk_{cnndm,xsum}.jsonl    github.com/W4ngatang/qags, data
ragchecker/human_labeled_data.json   github.com/amazon-science/RAGChecker, data/meta_evaluation
"""

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evergold.text.words import sentences

SUMMEDITS_PER_DOMAIN = 40
UNSEEN_DOMAINS = ("samsum", "ectsum")


@dataclass(frozen=True)
class Document:
    """Sentences of evidence, claims, and how far people found the claims supported, from 0 to 1."""

    evidence: Sequence[str]
    claims: Sequence[str]
    label: float


def training_data(data: Path) -> dict[str, list[Document]]:
    wice = lines(data / "wice" / "dev.jsonl")
    return {
        "wice": [Document(row["evidence"], [row["claim"]], float(row["label"] == "supported")) for row in wice],
        "summedits": list(_summedits(data)),
    }


def rated_summaries(data: Path) -> dict[str, list[Document]]:
    """Summaries with what people said of them, none of which is fitted on."""
    return {
        "QAGS CNN/DailyMail": [_qags_document(record) for record in _qags(data, "cnndm")],
        "QAGS XSum": [_qags_document(record) for record in _qags(data, "xsum")],
    }


def unseen_edits(data: Path) -> list[Document]:
    """Summaries of the two domains that no model of the judge was trained on."""
    return [
        _summary(record["doc"], record["summary"], float(record["label"]))
        for name in UNSEEN_DOMAINS
        for record in json.loads((data / "summedits" / f"summedits_{name}.json").read_text())
    ]


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open() as opened:
        yield from map(json.loads, opened)


def _summary(article: str, summary: str, label: float) -> Document:
    return Document(sentences(article), sentences(summary), label)


def _qags(data: Path, name: str) -> Iterable[dict[str, Any]]:
    return lines(data / "qags" / f"mturk_{name}.jsonl")


def _qags_document(record: dict[str, Any]) -> Document:
    """The label is the share of answers that say yes."""
    parts = record["summary_sentences"]
    votes = [answer["response"] == "yes" for part in parts for answer in part["responses"]]
    return Document(sentences(record["article"]), [part["sentence"] for part in parts], sum(votes) / len(votes))


def _summedits(data: Path) -> Iterator[Document]:
    for path in sorted((data / "summedits").glob("*.json")):
        if path.stem.removeprefix("summedits_") in UNSEEN_DOMAINS or not path.stat().st_size:
            continue
        records = json.loads(path.read_text())
        random.Random(0).shuffle(records)
        for record in records[:SUMMEDITS_PER_DOMAIN]:
            yield _summary(record["doc"], record["summary"], float(record["label"]))
