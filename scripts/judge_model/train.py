"""Train the encoder in English and Spanish, with all its heads, from the version that is shipped. Needs torch and a GPU.

    python -m scripts.judge_model.train FOLDER OUT SECONDS [--small]

FOLDER holds `rows.jsonl.xz` (from `sources`), `questions*.jsonl.xz` (from `rows`), `substitutes.json.xz`, `asked*.jsonl.xz` (what
`measure ask` writes), `encoder.npz` (the shipped one), `vocab/` (from `vocabulary`) and `apertium/` (a root folder with
Apertium's programs, to `chroot` into). OUT gets the encoder as int8 rows and its answers to what was asked, SECONDS after the
start. The shipped encoder is the first state of the student and its teacher of support; the Spanish rows are translations with
the same targets. How version 11 began (from the claim model of version 10, Spanish sentences aligned) is in the history.
`--small` tries it all on few rows.
"""

import json
import lzma
import random
import re
import subprocess
import sys
import time
from multiprocessing import Pool, TimeoutError
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from evergold.judge.encoder import TASKS
from scripts.judge_model.batches import DEVICE, Batches, Texts, encode
from scripts.judge_model.encoder import HEADS, STUDENT, Encoder, load_shipped
from scripts.judge_model.made import make

STARTED = time.time()
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])|\n+")
SEED, CHUNK = 37, 2000
HARD = 0.5
"""How much a label counts beside the shipped encoder's answer."""
LAST = 22.0
"""Seconds kept for rounding, answering what was asked, and writing."""
Row = dict[str, Any]


def say(text: str) -> None:
    print(f"[{time.time() - STARTED:5.0f} s] {text}", flush=True)


def read(path: Path, every: int) -> list[Row]:
    with lzma.open(path, "rt") as opened:
        return [json.loads(line) for number, line in enumerate(opened) if number % every == 0]


def rows_of(folder: Path, small: bool, processes: int) -> list[Row]:
    """All rows: those of the questions that have a label, and the support pairs as they are and as they are made."""
    every = 100 if small else 1
    questions = [row for path in sorted(folder.glob("questions*.jsonl.xz")) for row in read(path, every)]
    questions = [row for row in questions if row["label"] >= 0]
    support = [row for row in read(folder / "rows.jsonl.xz", every) if not row["held"]]
    with lzma.open(folder / "substitutes.json.xz", "rt") as opened:
        table = json.load(opened)
    labelled, unlabelled = make(support, table, {"copies": 2, "processes": processes, "seed": SEED})
    pairs = [
        {"task": "support", "texts": [premise, claim], "label": label, "lang": "en", "source": "support"}
        for premise, claim, label in labelled + unlabelled
    ]
    say(f"{len(questions)} rows of questions, {len(labelled)} labelled and {len(unlabelled)} unlabelled pairs")
    return [*questions, *pairs]


def is_translated(row: Row) -> bool:
    """Whether a row is read in Spanish too; of remarks only chats that hold none, the rest is worded in both languages."""
    return row["lang"] == "en" and (row["task"] != "remark" or (row["source"] == "chat" and row["label"] == 0))


def start_translation(root: Path, rows: list[Row], parts: int) -> tuple[list[str], Any]:
    """Translate every English sentence of the rows in the background, row after row; one line is one sentence."""
    chosen = [row for row in rows if is_translated(row)]
    random.Random(SEED).shuffle(chosen)
    parted = (part.strip() for row in chosen for text in row["texts"] for part in SENTENCE.split(text))
    found = list(dict.fromkeys(part for part in parted if part))
    chunks = [found[i : i + CHUNK] for i in range(0, len(found), CHUNK)]
    pool = Pool(parts)
    say(f"{len(found)} sentences to translate")
    return found, [pool.apply_async(_translate, (root, chunk)) for chunk in chunks]


def _translate(root: Path, sentences: list[str]) -> list[str] | None:
    lines = [re.sub(r"[\[\]^$/\\@<>{}*#+~]|\s+", " ", sentence) for sentence in sentences]
    lines = [line if line.rstrip().endswith((".", "?", "!")) else f"{line.rstrip()} ." for line in lines]
    done = subprocess.run(
        ["chroot", str(root), "/bin/sh", "/run.sh"], input="\n".join(lines), capture_output=True, text=True, check=False
    )
    given = done.stdout.split("\n")
    if len(given) != len(lines):
        return None
    return [
        re.sub(r"\s+", " ", text).strip()
        if sentence.endswith((".", "?", "!"))
        else re.sub(r"\s*\.\s*$", "", text).strip()
        for text, sentence in zip(given, sentences, strict=True)
    ]


def finish_translation(sentences: list[str], waiting: Any, until: float) -> dict[str, str]:
    """What is translated by a moment; the rest is left out."""
    spanish: dict[str, str] = {}
    for number, result in enumerate(waiting):
        try:
            done = result.get(timeout=max(0.0, until - (time.time() - STARTED)))
        except TimeoutError:
            continue
        if done is not None:
            spanish.update(zip(sentences[number * CHUNK : (number + 1) * CHUNK], done, strict=True))
    say(f"{len(spanish)} sentences translated")
    return spanish


def spanish_rows(rows: list[Row], spanish: dict[str, str]) -> tuple[list[Row], list[int]]:
    """The English rows in Spanish, and the number of the row that each is a translation of."""
    made, origin = [], []
    for number, row in enumerate(rows):
        if not is_translated(row):
            continue
        texts = []
        for text in row["texts"]:
            parts = [spanish.get(part.strip()) for part in SENTENCE.split(text) if part.strip()]
            texts.append(None if None in parts else " ".join(part for part in parts if part))
        if None not in texts and all(given or not text for given, text in zip(texts, row["texts"], strict=True)):
            if row["task"] == "correct" and random.random() < 0.12:
                texts[1] = row["texts"][1]  # a name or a number is often the same in both languages
            made.append({**row, "texts": texts, "lang": "es"})
            origin.append(number)
    return made, origin


def targets_of(rows: list[Row], supports: np.ndarray) -> np.ndarray:
    """Six numbers a row: the label; for support drawn towards the shipped encoder's answer, which is all where no label is."""
    out = np.zeros((len(rows), 6), dtype=np.float32)
    for number, row in enumerate(rows):
        label = row["label"]
        if row["task"] == "remark":
            out[number] = 0.04 / 6
            out[number, int(label)] += 0.96
        elif row["task"] != "support":
            out[number, 0] = min(0.98, max(0.02, label))
        else:
            taught = supports[number]
            mine = np.eye(4, 3, dtype=np.float32)[int(label)] if label >= 0 else taught
            if label == 3:  # not supported, and the source does not say whether it is refuted
                mine = taught * (0, 1, 1) / max(1e-6, float(taught[1:].sum()))
            out[number, :3] = HARD * mine + (1 - HARD) * taught if row["lang"] == "en" else mine
    return out


def loss_of(logits: dict[str, Tensor], tasks: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy by task."""
    total = target.new_zeros(len(tasks))
    for number, name in enumerate(TASKS):
        wanted = target[:, : HEADS[name]]
        if HEADS[name] == 1:
            value = F.binary_cross_entropy_with_logits(logits[name][:, 0], wanted[:, 0], reduction="none")
        else:
            value = -(wanted * F.log_softmax(logits[name], dim=1)).sum(1)
        total = total + torch.where(tasks == number, value, torch.zeros_like(value))
    return total.mean()


def fit(
    model: Encoder, batches: Batches, target: Tensor, chosen: np.ndarray, rate: float, seconds: float, falls: bool
) -> None:
    """Fit a model for some seconds; the rate rises at first, and falls to nothing where this is the last fit."""
    rng = np.random.default_rng(SEED)
    torch.manual_seed(SEED)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01, fused=DEVICE == "cuda")
    begun, shown, step, epoch = time.time(), time.time(), 0, 0
    total = torch.zeros((), device=DEVICE)
    model.train()
    while time.time() - begun < seconds:
        epoch += 1
        for group in batches.order(rng, 768 if DEVICE == "cuda" else 8, chosen):
            if step % 20 == 0 and DEVICE == "cuda":
                torch.cuda.synchronize()
            passed = (time.time() - begun) / seconds
            if passed >= 1:
                break
            for parameters in optimizer.param_groups:
                parameters["lr"] = rate * min((step + 1) / 150, max(0.004, 1 - passed) if falls else 1.0)
            index = torch.from_numpy(group).to(DEVICE)
            ids, mask, types, whole = batches.get(index)
            with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
                logits = model(ids, mask, types, whole, 0.03)
            loss = loss_of(logits, batches.tasks[index], target[index])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total = 0.99 * total + 0.01 * loss.detach()
            step += 1
            if time.time() - shown > 20:
                shown = time.time()
                say(f"step {step}, epoch {epoch}: loss {total.item() / (1 - 0.99**step):.4f}")
    say(f"{step} steps, epoch {epoch}, loss {total.item() / (1 - 0.99 ** max(1, step)):.4f}")


@torch.no_grad()
def answers(model: Encoder, batches: Batches) -> np.ndarray:
    """Six logits a row, of the head that the row asks."""
    model.eval()
    out = torch.zeros(len(batches.lengths_here), 6, device=DEVICE)
    for group in batches.order(None, 2048 if DEVICE == "cuda" else 32):
        index = torch.from_numpy(group).to(DEVICE)
        ids, mask, types, whole = batches.get(index)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
            logits = model(ids, mask, types, whole, 0.0)
        for number, name in enumerate(TASKS):
            here = batches.tasks[index] == number
            out[index[here], : HEADS[name]] = logits[name][here]
    return out.cpu().numpy()


def quantise(value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scale = np.abs(value).max(axis=1) / 127 + 1e-12
    return np.round(value / scale[:, None]).astype(np.int8), scale.astype(np.float32)


def save(student: Encoder, table: np.ndarray, out: Path) -> None:
    """Write the student as int8 rows, in files small enough to bring back; the student itself is rounded alike."""
    state = {name: value.detach().float().cpu().numpy() for name, value in student.state_dict().items()}
    state["embed"] = table
    stored: dict[str, np.ndarray] = {}
    for name, value in state.items():
        if value.ndim == 2 and value.shape[0] > 6 and not name.startswith("types"):
            stored[name], stored[f"{name}.scale"] = quantise(value)
            state[name] = stored[name] * stored[f"{name}.scale"][:, None]
        else:
            stored[name] = value.astype(np.float32)
    state.pop("embed")
    student.load_state_dict({name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in state.items()})
    np.savez(out / "student-words.npz", **{name: stored.pop(name) for name in ("words.weight", "words.weight.scale")})
    np.savez(out / "student-layers.npz", **stored)


def main() -> None:
    folder, out, seconds, small = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), "--small" in sys.argv
    processes = 2 if small else 16
    out.mkdir(parents=True, exist_ok=True)
    random.seed(SEED)
    rows = rows_of(folder, small, processes)
    asked = [row for path in sorted(folder.glob("asked*.jsonl.xz")) for row in read(path, 200 if small else 1)]
    texts: list[Texts] = [(row["task"], row["texts"]) for row in rows]
    sentences, waiting = start_translation(folder / "apertium", rows, 1 if small else 14)
    batches = encode(texts, folder / "vocab/tokenizer.json", False, processes)
    for_asked = encode([(r["task"], r["texts"]) for r in asked], folder / "vocab/tokenizer.json", False, processes)
    say(f"{len(rows)} rows, mean length {batches.lengths_here.mean():.0f}")
    student = Encoder(STUDENT)
    table = load_shipped(student, folder / "encoder.npz")
    student.to(DEVICE)
    np.savez_compressed(out / "before-asked.npz", logits=answers(student, for_asked).astype(np.float16))
    taught = np.array([n for n, row in enumerate(rows) if row["task"] == "support" and row["lang"] == "en"])
    given = np.zeros((len(rows), 3), dtype=np.float32)
    given[taught] = torch.from_numpy(answers(student, batches)[taught, :3]).softmax(1).numpy()
    sure = np.array([rows[n]["label"] in (0, 1, 2) for n in taught])
    right = given[taught].argmax(1) == np.array([rows[n]["label"] for n in taught])
    say(f"the shipped encoder agrees with {right[sure].mean():.3f} of the labels")
    targets = targets_of(rows, given)
    wanted = torch.from_numpy(targets).to(DEVICE)
    begun = time.time() - STARTED
    fit(student, batches, wanted, np.arange(len(rows)), 1.5e-4, 0.25 * (seconds - begun), False)
    spanish = finish_translation(sentences, waiting, begun + 0.33 * (seconds - begun))
    also, origin = spanish_rows(rows, spanish)
    say(f"{len(also)} rows in Spanish, such as {also[0]['texts'] if also else ''}")
    every = texts + [(row["task"], row["texts"]) for row in also]
    batches = encode(every, folder / "vocab/tokenizer.json", False, processes)
    wanted = torch.from_numpy(np.concatenate([targets, targets[np.array(origin, dtype=int)]])).to(DEVICE)
    # Most remarks are not translated, so they are read twice where the other rows are read in both languages.
    remarks = np.array([n for n, (task, _) in enumerate(every) if task == "remark"], dtype=int)
    chosen = np.concatenate([np.arange(len(every)), remarks])
    say(f"{len(every)} rows, mean length {batches.lengths_here.mean():.0f}")
    fit(student, batches, wanted, chosen, 2e-4, seconds - (time.time() - STARTED) - (2 if small else LAST), True)
    save(student, table, out)
    np.savez_compressed(out / "student-asked.npz", logits=answers(student, for_asked).astype(np.float16))
    say("done")


if __name__ == "__main__":
    main()
