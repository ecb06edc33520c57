"""Train the teachers, let them label made pairs, and distil the student. Needs torch, tokenizers and an accelerator.

    python -m scripts.judge_model.train FOLDER OUT [--rows N] [--copies N] [--teachers N] [--epochs N] [--seed N]
                                         [--start STUDENT]   go on with an earlier student, on pairs of another seed

FOLDER holds `rows.jsonl.xz` (from `sources`), `mpnet-*.npz` and `minilm-*.npz` (from `pack_init`) and both tokenizer
files. OUT gets the student (`student-*.npz`, float16), its answers on the rows held out, and `figures.json`.
"""

import argparse
import json
import lzma
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F

from scripts.judge_model.encoder import MINILM, MPNET, Encoder, cut_inner, load_public, read_packed
from scripts.judge_model.made import UNLABELLED, UNSUPPORTED, Pair, make
from scripts.judge_model.train_figures import auroc
from scripts.judge_model.vocabulary import vocabulary

LONGEST, LONGEST_CLAIM, INNER = 224, 72, 768
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
STARTED = time.time()
PARTS = 4


@dataclass(frozen=True)
class Batches:
    """All pairs as one row of tokens on the device: [CLS] evidence [SEP] claim [SEP]."""

    tokens: Tensor
    starts: Tensor
    lengths: Tensor
    second: Tensor
    lengths_here: np.ndarray

    def get(self, index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        lengths = self.lengths[index]
        where = torch.arange(int(lengths.max()), device=index.device)[None]
        mask = where < lengths[:, None]
        ids = self.tokens[(self.starts[index][:, None] + where).clamp(max=len(self.tokens) - 1)]
        return ids.masked_fill(~mask, 0).long(), mask, (where >= self.second[index][:, None]).long() * mask

    def order(self, rng: np.random.Generator | None, size: int) -> list[np.ndarray]:
        """Batches of pairs of like length, in random order; in order of length without a generator."""
        count = len(self.lengths_here)
        if rng is None:
            return np.array_split(np.argsort(self.lengths_here, kind="stable"), max(1, count // size))
        shuffled = rng.permutation(count)
        groups = []
        for start in range(0, count, size * 50):
            group = shuffled[start : start + size * 50]
            group = group[np.argsort(self.lengths_here[group], kind="stable")]
            groups += [group[i : i + size] for i in range(0, len(group), size)]
        return [groups[i] for i in rng.permutation(len(groups))]


def encode(pairs: list[Pair], tokenizer: Tokenizer) -> Batches:
    first, last = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    claims = [e.ids[:LONGEST_CLAIM] for e in tokenizer.encode_batch([p[1] for p in pairs], add_special_tokens=False)]
    premises = [e.ids for e in tokenizer.encode_batch([p[0] for p in pairs], add_special_tokens=False)]
    flat: list[np.ndarray] = []
    lengths, second = [], []
    for premise, claim in zip(premises, claims, strict=True):
        premise = premise[: LONGEST - 3 - len(claim)]
        flat.append(np.array([first, *premise, last, *claim, last], dtype=np.int32))
        lengths.append(len(flat[-1]))
        second.append(len(premise) + 2)
    here = np.array(lengths)
    starts = np.concatenate([[0], np.cumsum(here)[:-1]])
    on = [torch.from_numpy(array).to(DEVICE) for array in (np.concatenate(flat), starts, here, np.array(second))]
    return Batches(on[0], on[1], on[2], on[3], here)


def label_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy; a row known only as not supported is scored by the sum of both other classes."""
    logs = F.log_softmax(logits, dim=1)
    either = torch.logsumexp(logs[:, 1:], dim=1)
    exact = logs.gather(1, labels.clamp(0, 2)[:, None])[:, 0]
    return -torch.where(labels == UNSUPPORTED, either, exact)


def fit(model: Encoder, batches: Batches, targets: dict[str, Tensor], options: dict[str, Any]) -> None:
    rng = np.random.default_rng(options["seed"])
    torch.manual_seed(options["seed"])
    epochs, size, rate = options["epochs"], options["size"], options["rate"]
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01, fused=DEVICE == "cuda")
    steps = epochs * len(batches.order(rng, size))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (0.06 * steps + 1), max(0.02, (steps - step) / steps))
    )
    model.train()
    for epoch in range(epochs):
        total = torch.zeros((), device=DEVICE)
        order = batches.order(rng, size)
        for group in order:
            index = torch.from_numpy(group).to(DEVICE)
            ids, mask, types = batches.get(index)
            with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
                logits = model(options["map"][ids], mask, types, options["drop"])
            loss = _loss(logits, {name: target[index] for name, target in targets.items()})
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.detach()
        say(f"{options['name']} epoch {epoch + 1}/{epochs}: loss {total.item() / len(order):.4f}")


def _loss(logits: Tensor, targets: dict[str, Tensor]) -> Tensor:
    labels = targets["labels"]
    known = (labels != UNLABELLED).float()
    by_label = label_loss(logits, labels) * known
    if "soft" not in targets:
        return by_label.sum() / known.sum().clamp(min=1)
    soft = targets["soft"]
    apart = (soft * (soft.clamp(min=1e-6).log() - F.log_softmax(logits, dim=1))).sum(1)
    return (apart + 0.3 * by_label).mean()


@torch.no_grad()
def answers(model: Encoder, batches: Batches, ids_map: Tensor) -> Tensor:
    model.eval()
    out = torch.zeros(len(batches.lengths_here), 3, device=DEVICE)
    for group in batches.order(None, 1024 if DEVICE == "cuda" else 16):
        index = torch.from_numpy(group).to(DEVICE)
        ids, mask, types = batches.get(index)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
            out[index] = model(ids_map[ids], mask, types, 0.0)
    return out


def figures(held: list[dict[str, Any]], probabilities: np.ndarray) -> dict[str, float]:
    found = {}
    for source in sorted({row["source"] for row in held}):
        where = np.array([row["source"] == source and row["label"] >= 0 for row in held])
        good = np.array([row["label"] == 0 for row in held])[where]
        found[source] = round(auroc(probabilities[where, 0], good), 4)
    sure = np.array([row["label"] in (0, 2) for row in held])
    odds = probabilities[:, 0] - probabilities[:, 2]
    found["supported against refuted"] = round(auroc(odds[sure], np.array([r["label"] == 0 for r in held])[sure]), 4)
    return found


def say(text: str) -> None:
    print(f"[{time.time() - STARTED:6.0f} s] {text}", flush=True)


def to_mpnet(folder: Path) -> Tensor:
    """The id each token of the student has in the teacher's vocabulary."""
    own, theirs = vocabulary(folder / "minilm-tokenizer.json"), vocabulary(folder / "mpnet-tokenizer.json")
    special = {"[CLS]": "<s>", "[SEP]": "</s>", "[PAD]": "<pad>", "[UNK]": "[UNK]", "[MASK]": "<mask>"}
    table = torch.zeros(len(own), dtype=torch.long)
    for word, number in own.items():
        table[number] = theirs.get(special.get(word, word), theirs["[UNK]"])
    return table.to(DEVICE)


def train_rows(folder: Path, limit: int) -> Iterator[dict[str, Any]]:
    with lzma.open(folder / "rows.jsonl.xz", "rt") as opened:
        for number, line in enumerate(opened):
            if not limit or number % max(1, 100_000 // limit) == 0:
                yield json.loads(line)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    for name, default in (("rows", 0), ("copies", 12), ("teachers", 3), ("epochs", 6), ("processes", 16), ("seed", 17)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--start", type=Path)
    arguments = parser.parse_args()
    folder = arguments.folder
    torch.backends.cuda.matmul.allow_tf32 = True
    every = list(train_rows(folder, arguments.rows))
    held = [row for row in every if row["held"] and row["label"] >= 0]
    labelled, unlabelled = make(
        [row for row in every if not row["held"]], arguments.copies, arguments.processes, arguments.seed
    )
    say(f"{len(labelled)} labelled pairs, {len(unlabelled)} to be labelled, {len(held)} held out")
    tokenizer = Tokenizer.from_file(str(folder / "minilm-tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    pairs = encode(labelled, tokenizer)
    every_pair = encode(labelled + unlabelled, tokenizer)
    held_pairs = encode([(row["premise"], row["claim"], 0) for row in held], tokenizer)
    labels = torch.tensor([pair[2] for pair in labelled], device=DEVICE)
    say(f"encoded; mean length {every_pair.lengths_here.mean():.0f} tokens")
    mapping = to_mpnet(folder)
    report: dict[str, Any] = {"labelled": len(labelled), "unlabelled": len(unlabelled), "teachers": []}
    soft = torch.zeros(len(every_pair.lengths_here), 3, device=DEVICE)
    soft_held = torch.zeros(len(held), 3, device=DEVICE)
    start = read_packed(folder, "mpnet")
    for number in range(arguments.teachers):
        teacher = Encoder(MPNET)
        load_public(teacher, start, "mpnet")
        teacher.to(DEVICE)
        options = {
            "seed": arguments.seed + number,
            "epochs": 1,
            "size": 128,
            "rate": 7e-5 if arguments.start else (5e-5, 4e-5, 6e-5)[number % 3],
            "drop": 0.1,
            "map": mapping,
            "name": f"teacher {number + 1}",
        }
        fit(teacher, pairs, {"labels": labels}, options)
        on_held = answers(teacher, held_pairs, mapping).softmax(1)
        report["teachers"].append(figures(held, on_held.cpu().numpy()))
        say(f"teacher {number + 1}: {report['teachers'][-1]}")
        soft_held += on_held / arguments.teachers
        soft += answers(teacher, every_pair, mapping).softmax(1) / arguments.teachers
        say(f"teacher {number + 1} has labelled {len(soft)} pairs")
        del teacher
    report["teachers together"] = figures(held, soft_held.cpu().numpy())
    say(f"teachers together: {report['teachers together']}")
    student = Encoder(MINILM)
    load_public(student, read_packed(folder, "minilm"), "bert")
    cut_inner(student, INNER)
    if arguments.start is not None:
        load_student(student, arguments.start)
    student.to(DEVICE)
    every_label = torch.cat([labels, torch.full((len(unlabelled),), UNLABELLED, device=DEVICE)])
    same = torch.arange(MINILM.vocabulary, device=DEVICE)
    options = {
        "seed": arguments.seed,
        "epochs": arguments.epochs,
        "size": 512 if DEVICE == "cuda" else 32,
        "rate": arguments.rate,
        "drop": 0.05,
        "map": same,
        "name": "student",
    }
    fit(student, every_pair, {"labels": every_label, "soft": soft}, options)
    on_held = answers(student, held_pairs, same)
    report["student"] = figures(held, on_held.softmax(1).cpu().numpy())
    say(f"student: {report['student']}")
    save(student, arguments.out)
    np.savez_compressed(arguments.out / "held.npz", student=on_held.cpu().numpy(), teachers=soft_held.cpu().numpy())
    (arguments.out / "figures.json").write_text(json.dumps(report, indent=1))
    say("done")


def load_student(student: Encoder, folder: Path) -> None:
    with np.load(folder / "student-layers.npz") as opened:
        state = {name: opened[name] for name in opened.files}
    parts = [np.load(path)["words"] for path in sorted(folder.glob("student-words-*.npz"))]
    state["words.weight"] = np.concatenate(parts)
    student.load_state_dict({name: torch.from_numpy(value.astype(np.float32)) for name, value in state.items()})


def save(student: Encoder, out: Path) -> None:
    state = {name: value.detach().cpu().numpy().astype(np.float16) for name, value in student.state_dict().items()}
    words = np.array_split(state.pop("words.weight"), PARTS - 1)
    for number, part in enumerate(words):
        np.savez_compressed(out / f"student-words-{number}.npz", words=part)
    np.savez_compressed(out / "student-layers.npz", **state)


if __name__ == "__main__":
    main()
