"""Read the public sets that the judge is measured on and never trained on.

DATA holds a copy of each repository in a folder `owner+name`. No text of any set is part of this repository.
"""

import csv
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

csv.field_size_limit(sys.maxsize)


@dataclass(frozen=True)
class Claim:
    """A text, the passages it is held against, and whether people found it supported."""

    text: str
    passages: tuple[str, ...]
    supported: bool
    refuted: bool = False


@dataclass(frozen=True)
class Graded:
    """An answer to a question, the references that count as right, and whether people found it right."""

    question: str
    references: tuple[str, ...]
    answer: str
    right: bool


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as opened:
        yield from map(json.loads, opened)


def table(path: Path, delimiter: str = ",") -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as opened:
        yield from csv.DictReader(
            opened, delimiter=delimiter, quoting=csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
        )


def sick(data: Path) -> Iterator[Claim]:
    for line in (data / "a389965626+Sick-/SICK_test_annotated.txt").read_text().splitlines():
        parts = line.split("\t")
        if len(parts) >= 5 and parts[4] in ("ENTAILMENT", "NEUTRAL", "CONTRADICTION"):
            yield Claim(parts[2], (parts[1],), parts[4] == "ENTAILMENT", parts[4] == "CONTRADICTION")


def climate_fever(data: Path) -> Iterator[Claim]:
    for row in lines(data / "tdiggelm+climate-fever-dataset/dataset/climate-fever.jsonl"):
        if row["claim_label"] in ("SUPPORTS", "REFUTES", "NOT_ENOUGH_INFO"):
            label = row["claim_label"]
            passages = tuple(part["evidence"] for part in row["evidences"])
            yield Claim(row["claim"], passages, label == "SUPPORTS", label == "REFUTES")


def faithbench(data: Path) -> Iterator[Claim]:
    """A summary is unsupported where somebody marked an unwanted or questionable span."""
    for path in sorted((data / "vectara+FaithBench/data_for_release").glob("batch_*.json")):
        for row in json.loads(path.read_text())["samples"]:
            marks = {label.split(".")[0] for note in row["annotations"] for label in note["label"]}
            yield Claim(row["summary"].strip(), (row["source"],), not marks & {"Unwanted", "Questionable"})


def factcheck_gpt(data: Path) -> Iterator[Claim]:
    for row in lines(data / "yuxiaw+Factcheck-GPT/subtasks/subtask3_claim_evidence_stance.jsonl"):
        stance = row["stance"]
        yield Claim(row["claim"], (row["evidence"],), stance == "completely-support", stance == "refute")


def dialfact(data: Path) -> Iterator[Claim]:
    for row in lines(data / "salesforce+DialFact/scripts/testsmall.jsonl"):
        passages = tuple(part[2] for part in row["evidence_list"])
        if passages and row["type_label"] == "factual":
            label = row["response_label"]
            yield Claim(row["response"], passages, label == "SUPPORTS", label == "REFUTES")


def q_squared(data: Path) -> Iterator[Claim]:
    for row in table(data / "orhonovich+q-squared/third_party/data/cross_annotation.csv"):
        for model in ("dodeca", "memnet"):
            if row[f"{model}_label"] in ("0", "1", "0.0", "1.0"):
                yield Claim(row[f"{model}_response"], (row["knowledge"],), float(row[f"{model}_label"]) == 0)


def begin(data: Path) -> Iterator[Claim]:
    for row in table(data / "google+BEGIN-dataset/wow/begin_test_wow.tsv", "\t"):
        if row["begin_label"] in ("Fully attributable", "Not fully attributable"):
            yield Claim(row["response"], (row["knowledge"],), row["begin_label"] == "Fully attributable")


def wice(data: Path) -> Iterator[Claim]:
    for row in lines(data / "ryokamoi+wice/data/entailment_retrieval/claim/test.jsonl"):
        yield Claim(row["claim"], tuple(row["evidence"]), row["label"] == "supported")


def halueval_qa(data: Path) -> Iterator[Claim]:
    """The sample of 500 questions that its repository holds as text; a claim is the question with an answer."""
    for row in lines(data / "RUCAIBox+HaluEval/generation/qa/qa_one-turn_data.json"):
        for key in ("right_answer", "hallucinated_answer"):
            claim = f"{row['question'].strip().rstrip('?')}: {row[key]}"
            yield Claim(claim, (row["knowledge"],), key == "right_answer", key != "right_answer")


def lfqa(data: Path) -> Iterator[Claim]:
    """Sentences of long answers, by the vote of three people, against the documents of the question."""
    folder = data / "timchen0618+LFQA-Verification/data"
    for path in sorted((folder / "annotations").glob("*.json")):
        name = "human" if "whudoc" in path.name else "webgpt"
        rows = json.loads((folder / f"docs/docs-{name}.json").read_text("utf-8"))
        documents = {row["question_id"]: tuple(part["text"] for part in row["docs"]) for row in rows}
        for row in json.loads(path.read_text("utf-8")):
            for note in row["annotations"] if row["question_id"] in documents else ():
                label, votes = Counter(note["labels"]).most_common(1)[0]
                if 2 * votes > len(note["labels"]):
                    text = note["answer"].replace("</s>", "").strip()
                    yield Claim(text, documents[row["question_id"]], label == "supported")


def inferes(data: Path) -> Iterator[Claim]:
    for name in ("train", "test"):
        for row in table(data / f"venelink+inferes/data/inferes_{name}.csv"):
            yield Claim(row["Hypothesis"], (row["Premise"],), row["Label"] == "ent", row["Label"] == "cnt")


def xnli_es(data: Path) -> Iterator[Claim]:
    for row in table(data / "hitz-zentroa+XNLIvar/data/es/xnli-es-original.tsv", "\t"):
        yield Claim(row["hypothesis"], (row["premise"],), row["label"] == "0", row["label"] == "2")


def esxnli(data: Path) -> Iterator[Claim]:
    for row in table(data / "artetxem+esxnli/esxnli.tsv", "\t"):
        if row["language"] == "es":
            label = row["gold_label"]
            yield Claim(row["sentence2"], (row["sentence1"],), label == "entailment", label == "contradiction")


SUPPORT: dict[str, Callable[[Path], Iterator[Claim]]] = {
    "SICK": sick,
    "Climate-FEVER": climate_fever,
    "FaithBench": faithbench,
    "Factcheck-GPT": factcheck_gpt,
    "DialFact (its small test file)": dialfact,
    "Q²": q_squared,
    "BEGIN": begin,
    "WiCE": wice,
    "HaluEval-QA": halueval_qa,
    "LFQA": lfqa,
}
SPANISH: dict[str, Callable[[Path], Iterator[Claim]]] = {"InferES": inferes, "esXNLI": esxnli, "XNLI-es": xnli_es}


def graded(data: Path, name: str) -> Iterator[Graded]:
    """Answers of five systems to questions of NQ or TriviaQA (`NQ`, `TQ`), judged by people."""
    for row in json.loads((data / f"wangcunxiang+QA-Eval/EVOUNA/{name}.json").read_text()):
        for system in ("fid", "gpt35", "chatgpt", "gpt4", "newbing"):
            verdict, answer = row.get(f"judge_{system}"), row.get(f"answer_{system}")
            if not row["improper"] and isinstance(verdict, bool) and answer:
                yield Graded(row["question"], tuple(row["golden_answer"].split("/")), answer, verdict)


def measured_texts(data: Path) -> Iterator[str]:
    """Give every text of the measured sets, so that training rows that share a run of words can be dropped."""
    for read in (*SUPPORT.values(), *SPANISH.values()):
        for claim in read(data):
            yield from (claim.text, *claim.passages)
    for name in ("NQ", "TQ"):
        for answer in graded(data, name):
            yield from (answer.question, answer.answer)
