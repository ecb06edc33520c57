"""Public data the offline judge is fitted on and measured with, as it lies in a folder of copies.

    wice/{dev,test}.jsonl            github.com/ryokamoi/wice, data/entailment_retrieval/claim
    summedits/*.json                 github.com/salesforce/factualNLG, data/summedits
    entfa/{train,test}.json          github.com/mcao516/EntFA, data
    cliff/CLIFF_error_types.csv      github.com/Liyan06/AggreFact, data/error_type_mapping
    qags/mturk_{cnndm,xsum}.jsonl    github.com/W4ngatang/qags, data
    ragchecker/human_labeled_data.json   github.com/amazon-science/RAGChecker, data/meta_evaluation

A summary fitted on never belongs to an article that QAGS has: those are found by the runs of words they share.
"""

import csv
import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evergold.text.words import WORD, sentences

SUMMEDITS_PER_DOMAIN = 40
RUN, SHARED_RUNS = 8, 20


@dataclass(frozen=True)
class Document:
    """Sentences of evidence, claims, and how far people found the claims supported, from 0 to 1."""

    evidence: Sequence[str]
    claims: Sequence[str]
    label: float


def training_data(data: Path) -> dict[str, list[Document]]:
    tested = {run for name in ("cnndm", "xsum") for record in _qags(data, name) for run in _runs(record["article"])}
    entfa = [record for record in _entfa(data, "train") if len(_runs(record["source"]) & tested) <= SHARED_RUNS]
    wice = lines(data / "wice" / "dev.jsonl")
    return {
        "wice": [Document(row["evidence"], [row["claim"]], float(row["label"] == "supported")) for row in wice],
        "entfa": [_entity_document(record) for record in entfa],
        "summedits": list(_summedits(data, 0)),
    }


def rated_summaries(data: Path) -> dict[str, list[Document]]:
    """Summaries with what people said of them, none of which is fitted on."""
    return {
        "QAGS CNN/DailyMail": [_qags_document(record) for record in _qags(data, "cnndm")],
        "QAGS XSum": [_qags_document(record) for record in _qags(data, "xsum")],
        "CLIFF CNN/DailyMail": list(_cliff(data, "cnndm")),
        "CLIFF XSum": list(_cliff(data, "xsum")),
        "EntFA test (XSum)": [_entity_document(record) for record in _entfa(data, "test")],
    }


def unseen_edits(data: Path) -> list[Document]:
    """Summaries of the two domains that no model of the judge was trained on."""
    return [
        _summary(record["doc"], record["summary"], float(record["label"]))
        for name in ("samsum", "ectsum")
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


def _entfa(data: Path, split: str) -> Iterator[dict[str, Any]]:
    return (r for r in json.loads((data / "entfa" / f"{split}.json").read_text()) if r["entities"])


def _entity_document(record: dict[str, Any]) -> Document:
    """Supported when every name and number of the summary is in the article or follows from it."""
    good = all(entity["label"] == "Non-hallucinated" for entity in record["entities"])
    return _summary(record["source"], record["prediction"], float(good))


def _cliff(data: Path, origin: str) -> Iterator[Document]:
    with (data / "cliff" / "CLIFF_error_types.csv").open(newline="") as opened:
        for row in csv.DictReader(opened):
            if row["origin"] == origin:
                yield _summary(row["doc"], row["summ"], float(row["error_type"] == "correct"))


def _summedits(data: Path, skip: int) -> Iterator[Document]:
    for path in sorted((data / "summedits").glob("*.json")):
        records = json.loads(path.read_text())
        random.Random(0).shuffle(records)
        for record in records[skip : skip + SUMMEDITS_PER_DOMAIN]:
            yield _summary(record["doc"], record["summary"], float(record["label"]))


def _runs(text: str) -> set[str]:
    words = [word.casefold() for word in re.findall(WORD, text)]
    return {" ".join(words[i : i + RUN]) for i in range(len(words) - RUN)}
