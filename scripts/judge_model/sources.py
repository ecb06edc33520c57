"""Read the public data the claim-support model is trained on, as rows of premise, claim and label.

    python -m scripts.judge_model.sources DATA OUT      DATA: copies of the repositories, one folder `owner+name` each

A label is 0 supported, 1 not enough information, 2 refuted, or 3 not supported, where the source does not say which.
Rows that share text with a set used for measuring are left out (`tested`). Long documents become the window of evidence
that the judge itself would choose. No text of any source is part of the repository.
"""

import csv
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evergold.judge.evidence import EvidenceSearch, window
from evergold.text.words import WORD, Text, sentences
from scripts.judge_model.sets import measured_texts

SUPPORTED, UNKNOWN, REFUTED, UNSUPPORTED = 0, 1, 2, 3
HELD_OUT_DOMAINS = ("scitldr",)
KEPT_OUT_DOMAINS = ("samsum", "ectsum")
RUN = 10
SEED = 17


@dataclass(frozen=True)
class Row:
    """One pair. `held` rows are not trained on: thresholds and the combination with the features are fitted on them."""

    source: str
    premise: str
    claim: str
    label: int
    held: bool = False


def rows(data: Path) -> Iterator[Row]:
    yield from _docnli(data / "salesforce+DocNLI/Data")
    yield from _conjnli(data / "swarnaHub+ConjNLI/data/NLI")
    yield from _cg2c(data / "derenlei+FactCG/data")
    yield from _summedits(data / "salesforce+factualNLG/data/summedits")
    yield from _foolmetwice(data / "google-research+fool-me-twice/dataset")
    yield from _wice(data / "ryokamoi+wice/data")
    yield from _symmetric(data / "TalSchuster+FeverSymmetric")


def windows(claim: str, document: list[str], ranks: int = 1) -> list[str]:
    """The judge's own window of evidence for a claim; further ranks leave out the sentences used before."""
    found = []
    left = document
    for _ in range(ranks):
        evidence = EvidenceSearch(left)
        if not evidence.sentences or not Text(claim).stems:
            break
        text = window(Text(claim), evidence)
        found.append(text)
        left = [sentence for sentence in left if sentence not in text]
    return found


def _held(group: str, share: float) -> bool:
    return random.Random(f"{SEED}:{group}").random() < share


def _docnli(folder: Path) -> Iterator[Row]:
    for name, source in (("binary-FEVER-NLI", "fever"), ("binary-MNLI", "mnli")):
        for split in ("dev", "test"):
            for line in (folder / name / f"{split}.txt").read_text().splitlines():
                label, premise, claim = [*line.split("\t"), "", ""][:3]
                if premise and claim and label in ("entailment", "not_entailment"):
                    kind = SUPPORTED if label == "entailment" else UNSUPPORTED
                    yield Row(source, _plain(premise), _plain(claim), kind, _held(claim, 0.04))


def _conjnli(folder: Path) -> Iterator[Row]:
    labels = {"entailment": SUPPORTED, "neutral": UNKNOWN, "contradiction": REFUTED}
    for name in ("adversarial_train_15k.tsv", "conj_dev.tsv"):
        with (folder / name).open(encoding="utf-8-sig", newline="") as opened:
            for row in csv.reader(opened, delimiter="\t", quoting=csv.QUOTE_NONE):
                if len(row) >= 3 and row[2] in labels:
                    yield Row("conj", row[0], row[1], labels[row[2]], _held(row[0], 0.03))


def _cg2c(folder: Path) -> Iterator[Row]:
    files = ("training_stage2/CG2C_doc.json", "training_stage1/CG2C_musique_minhop3_rbt_mnli_failed.json")
    for name in files:
        for line in (folder / name).read_text().splitlines():
            row = json.loads(line)
            if not row["text_a"].strip():  # the positives of MuSiQue come without their passage
                continue
            for claim in row["text_b"]:
                kind = SUPPORTED if row["orig_label"] == 1 else UNSUPPORTED
                held = _held(row["text_a"][:200], 0.12)
                for rank, premise in enumerate(windows(claim, list(sentences(row["text_a"])))):
                    yield Row("cg2c", premise, claim, kind if rank == 0 else -1, held)


def _summedits(folder: Path) -> Iterator[Row]:
    """Sentences of a consistent summary and of the original are supported.

    Of an inconsistent summary the sentences that no consistent summary has are not. Where there are several, any of
    them may be the wrong one: two are believed, more go unlabelled, and the whole summary is one more claim.
    """
    for path in sorted(folder.glob("summedits_*.json")):
        domain = path.stem.removeprefix("summedits_")
        if domain in KEPT_OUT_DOMAINS or not path.stat().st_size:
            continue
        documents: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for record in json.loads(path.read_text()):
            documents[record["doc"]].append(record)
        for text, records in documents.items():
            held = domain in HELD_OUT_DOMAINS or _held(text[:200], 0.08)
            document = list(sentences(text))
            for claim, label in sorted(_edited(records, held).items()):
                for rank, premise in enumerate(windows(claim, document, 1 if held else 2)):
                    yield Row(f"summedits-{domain}", premise, claim, label if rank == 0 else -1, held)
            if not held:
                yield from _edits(records, f"edits-{domain}")


def _edited(records: list[dict[str, Any]], held: bool) -> dict[str, int]:
    """The label of each sentence of a document's summaries."""
    good = {s for record in records if record["label"] == 1 for s in sentences(record["summary"])}
    good |= set() if held else {s for record in records for s in sentences(record["original_summary"])}
    labels = dict.fromkeys(good, SUPPORTED)
    for record in records:
        if record["label"] == 0:
            new = [s for s in sentences(record["summary"]) if s not in good]
            for claim in new:
                labels[claim] = UNSUPPORTED if len(new) <= 2 or held else labels.get(claim, -1)
        if not held:
            labels[record["summary"]] = SUPPORTED if record["label"] == 1 else UNSUPPORTED
    return labels


def _edits(records: list[dict[str, Any]], source: str) -> Iterator[Row]:
    """An edited summary against the original: it follows from it where the edit kept the meaning."""
    for record in records:
        original = list(sentences(record["original_summary"]))
        new = [s for s in sentences(record["summary"]) if s not in original]
        yield Row(
            source, record["original_summary"], record["summary"], SUPPORTED if record["label"] == 1 else UNSUPPORTED
        )
        for claim in new:
            label = SUPPORTED if record["label"] == 1 else UNSUPPORTED if len(new) <= 2 else -1
            yield Row(source, record["original_summary"], claim, label)
            if record["label"] == 1:
                nearest = max(original, key=lambda s: len(set(s.split()) & set(claim.split())))
                yield Row(source, claim, nearest, SUPPORTED)


def _foolmetwice(folder: Path) -> Iterator[Row]:
    labels = {"SUPPORTS": SUPPORTED, "REFUTES": REFUTED}
    for split in ("train", "dev", "test"):
        path = folder / f"{split}.jsonl"
        if not path.exists() or not path.stat().st_size:
            continue
        for line in path.read_text().splitlines():
            row = json.loads(line)
            gold = [part["text"] for part in row["gold_evidence"]]
            found = [part["text"] for part in row["retrieved_evidence"]]
            held = _held(row["id"], 0.2)
            if gold and row["label"] in labels:
                label = labels[row["label"]]
                yield Row("fm2", " ".join(gold), row["text"], label, held)
                mixed = gold + [text for text in found if text not in gold][:5]
                random.Random(row["id"]).shuffle(mixed)
                yield Row("fm2", " ".join(mixed), row["text"], label, held)
            if found:
                yield Row("fm2", " ".join(text for text in found if text not in gold)[:900], row["text"], -1, held)


def _wice(folder: Path) -> Iterator[Row]:
    paths = (folder / "entailment_retrieval/claim/dev.jsonl", folder / "non_supported_tokens/train.jsonl")
    for path in paths:
        for line in path.read_text().splitlines():
            row = json.loads(line)
            supported = row["label"] == "supported"
            held = path.parent.name == "claim" and _held(row["claim"], 0.4)
            label = SUPPORTED if supported else UNSUPPORTED
            for rank, premise in enumerate(windows(row["claim"], row["evidence"], 1 if held else 3)):
                yield Row("wice", premise, row["claim"], label if rank == 0 else -1, held)
            for chosen in row["supporting_sentences"][: 0 if held else 3]:
                premise = " ".join(row["evidence"][i] for i in sorted(chosen))
                yield Row("wice", premise, row["claim"], label)


def _symmetric(folder: Path) -> Iterator[Row]:
    labels = {"SUPPORTS": SUPPORTED, "REFUTES": REFUTED}
    names = ("symmetric_v0.1/fever_symmetric_generated", "symmetric_v0.2/fever_symmetric_dev")
    for name in (*names, "symmetric_v0.2/fever_symmetric_test"):
        for line in (folder / f"{name}.jsonl").read_text().splitlines():
            row = json.loads(line)
            premise = row.get("evidence_sentence") or row.get("evidence")
            if row["label"] in labels:
                held = _held(row["claim"], 0.15)
                yield Row("symmetric", _plain(premise), _plain(row["claim"]), labels[row["label"]], held)


def _plain(text: str) -> str:
    """Undo the spaces and brackets of the Penn Treebank that FEVER's texts have."""
    for written, meant in (("-LRB-", "("), ("-RRB-", ")"), ("-LSB-", "["), ("-RSB-", "]"), ("``", '"'), ("''", '"')):
        text = text.replace(written, meant)
    text = re.sub(r"\s+([.,;:!?%)\]])", r"\1", text)
    return re.sub(r"([(\[])\s+", r"\1", re.sub(r"\s+('s|n't)\b", r"\1", text)).strip()


def tested(data: Path) -> set[str]:
    """Runs of words of the sets that the judge is measured on."""
    texts = list(measured_texts(data))
    for name in ("cnndm", "xsum"):
        for line in (data / f"W4ngatang+qags/data/mturk_{name}.jsonl").read_text().splitlines():
            record = json.loads(line)
            texts += [record["article"], *(part["sentence"] for part in record["summary_sentences"])]
    for name in KEPT_OUT_DOMAINS:
        records = json.loads((data / f"salesforce+factualNLG/data/summedits/summedits_{name}.json").read_text())
        texts += [record["summary"] for record in records]
    return {run for text in texts for run in runs(text)}


def runs(text: str) -> set[str]:
    words = [word.casefold() for word in re.findall(WORD, text)]
    return {" ".join(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}


def main() -> None:
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    unwanted = tested(data)
    kept = dropped = 0
    counts: dict[tuple[str, int, bool], int] = defaultdict(int)
    with out.open("w") as opened:
        for row in rows(data):
            if (runs(row.claim) | runs(row.premise)) & unwanted:
                dropped += 1
                continue
            kept += 1
            counts[row.source, row.label, row.held] += 1
            opened.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")
    for (source, label, held), count in sorted(counts.items()):
        print(f"{source:22} label {label:2} {'held out' if held else 'trained'}: {count}")
    print(f"kept {kept}, dropped {dropped} that share a run of {RUN} words with a measured set")


if __name__ == "__main__":
    main()
