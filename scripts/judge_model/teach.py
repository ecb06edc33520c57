"""Make pairs, train teachers on those with a label, and let them label all. Needs torch, tokenizers, an accelerator.

    python -m scripts.judge_model.teach FOLDER WORK [--teachers N] [--copies N] [--seed N] [--rows N]

FOLDER holds `rows.jsonl.xz` (from `sources`), `substitutes.json.xz`, `mpnet-*.npz` (from `pack_init`) and both tokenizer
files. WORK gets the pairs as tokens and the teachers' answers (`pairs.npz`), and `teachers.json`.
"""

import argparse
import json
import lzma
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from scripts.judge_model.batches import DEVICE, Batches, encode
from scripts.judge_model.encoder import MPNET, Encoder, load_public, read_packed
from scripts.judge_model.made import Pair, make
from scripts.judge_model.training import Options, answers, figures, fit, say
from scripts.judge_model.vocabulary import vocabulary

RATES = (5e-5, 6e-5, 4e-5)


def all_rows(folder: Path, limit: int = 0) -> list[dict[str, Any]]:
    with lzma.open(folder / "rows.jsonl.xz", "rt") as opened:
        every = [json.loads(line) for line in opened]
    return every[:: max(1, len(every) // limit)] if limit else every


def read_tokenizer(folder: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(folder / "minilm-tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def held_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["held"] and row["label"] >= 0]


def to_mpnet(folder: Path) -> Tensor:
    """The id each token of the student has in the teacher's vocabulary."""
    own, theirs = vocabulary(folder / "minilm-tokenizer.json"), vocabulary(folder / "mpnet-tokenizer.json")
    special = {"[CLS]": "<s>", "[SEP]": "</s>", "[PAD]": "<pad>", "[UNK]": "[UNK]", "[MASK]": "<mask>"}
    table = torch.zeros(len(own), dtype=torch.long)
    for word, number in own.items():
        table[number] = theirs.get(special.get(word, word), theirs["[UNK]"])
    return table.to(DEVICE)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("work", type=Path)
    for name, default in (("rows", 0), ("copies", 22), ("teachers", 2), ("processes", 16), ("seed", 19)):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    folder, work = arguments.folder, arguments.work
    work.mkdir(parents=True, exist_ok=True)
    rows = all_rows(folder, arguments.rows)
    tokenizer = read_tokenizer(folder)

    def encoded(pairs: list[Pair]) -> dict[str, np.ndarray]:
        return encode(pairs, tokenizer)

    with lzma.open(folder / "substitutes.json.xz", "rt") as opened:
        table = json.load(opened)
    options = {"copies": arguments.copies, "processes": arguments.processes, "seed": arguments.seed}
    labelled, unlabelled = make([row for row in rows if not row["held"]], table, encoded, options)
    every = {name: np.concatenate([labelled[name], unlabelled[name]]) for name in labelled}
    say(f"{len(labelled['labels'])} labelled pairs, {len(unlabelled['labels'])} to be labelled")
    say(f"mean length {every['lengths'].mean():.0f} tokens, labelled {labelled['lengths'].mean():.0f}")
    held = held_rows(rows)
    held_pairs = Batches.of(encoded([(row["premise"], row["claim"], 0) for row in held]))
    pairs, every_pair = Batches.of(labelled), Batches.of(every)
    mapping = to_mpnet(folder)
    start = read_packed(folder, "mpnet")
    report: dict[str, Any] = {"labelled": len(labelled["labels"]), "unlabelled": len(unlabelled["labels"])}
    soft = torch.zeros(len(every["labels"]), 3, device=DEVICE)
    soft_held = torch.zeros(len(held), 3, device=DEVICE)
    for number in range(arguments.teachers):
        teacher = Encoder(MPNET)
        load_public(teacher, start, "mpnet")
        teacher.to(DEVICE)
        name = f"teacher {number + 1}"
        size = 128 if DEVICE == "cuda" else 4
        fit(teacher, pairs, mapping, Options(name, arguments.seed + number, size, RATES[number % 3], 0.1))
        on_held = answers(teacher, held_pairs, mapping).softmax(1)
        report[name] = figures(held, on_held.cpu().numpy())
        say(f"{name}: {report[name]}")
        soft_held += on_held
        soft += answers(teacher, every_pair, mapping).softmax(1)
        say(f"{name} has labelled {len(soft)} pairs")
    soft, soft_held = soft / arguments.teachers, soft_held / arguments.teachers
    report["teachers together"] = figures(held, soft_held.cpu().numpy())
    say(f"teachers together: {report['teachers together']}")
    np.savez(work / "pairs.npz", soft=soft.half().cpu().numpy(), soft_held=soft_held.cpu().numpy(), **every)
    (work / "teachers.json").write_text(json.dumps(report, indent=1))
    say("done")


if __name__ == "__main__":
    main()
