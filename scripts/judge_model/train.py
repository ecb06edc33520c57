"""Train the encoder further in English and Spanish, with all its heads, from the version that is shipped. Needs torch and a GPU.

    python -m scripts.judge_model.train FOLDER OUT SECONDS [--small]

FOLDER holds `written.jsonl.xz` (from `written`), `rows*.jsonl.xz` (from `sources`, and their translations), `questions*.jsonl.xz`
(from `rows`), `substitutes.json.xz` and `asked*.jsonl.xz` (what `measure ask` writes). The shipped encoder is the first
state, and of rows as before half of each target, so that what it knows stays. `VARIANTS` are trained for SECONDS together; OUT
gets each as int8 rows, and in `answers.npz` what each, and means of their weights with those of the shipped one, answer to what
was asked. Figures on held-out rows are printed. `--small` tries it all on few rows.
"""

import itertools
import json
import lzma
import random
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from evergold.judge.encoder import TASKS
from scripts.judge_model.batches import DEVICE, Batches, encode
from scripts.judge_model.encoder import HEADS, STUDENT, Encoder
from scripts.judge_model.made import make
from scripts.judge_model.pack import SHIPPED, from_rows, mean, read_stored, to_rows

STARTED = time.time()
SEED = 43
HARD, HARD_WRITTEN = 0.5, 1.0
"""How much a label counts beside the shipped encoder's answer: of rows as before, and of written ones."""
DIRECT = 3
"""How often a row that an item holds is read for one that was made of it."""
SURE = 0.97
LAST = 45.0
"""Seconds kept for means of weights, answering what was asked, and writing."""
MIXED = (0.5, 0.65, 0.8)
"""The shares of a variant in its means with the shipped weights."""
Row = dict[str, Any]
State = dict[str, Tensor]


@dataclass(frozen=True)
class Variant:
    """The share of written rows among all that are read, the highest rate, and the share of the time."""

    name: str
    written: float
    rate: float
    time: float


VARIANTS = (Variant("a", 0.25, 1.2e-4, 0.3), Variant("b", 0.45, 1.2e-4, 0.3), Variant("c", 0.3, 2.5e-4, 0.4))


def say(text: str) -> None:
    print(f"[{time.time() - STARTED:5.0f} s] {text}", flush=True)


def read(folder: Path, pattern: str, every: int) -> list[Row]:
    found: list[Row] = []
    for path in sorted(folder.glob(pattern)):
        with lzma.open(path, "rt") as opened:
            found += [json.loads(line) for number, line in enumerate(opened) if number % every == 0]
    return found


def rows_of(folder: Path, small: bool, processes: int) -> list[Row]:
    """The written rows, those of the questions, and support pairs as they are and as they are made."""
    every = 100 if small else 1
    written = read(folder, "written*.jsonl.xz", 10 if small else 1)
    rng = random.Random(SEED)
    questions = [row | {"held": rng.random() < 0.01} for row in read(folder, "questions*.jsonl.xz", every)]
    support = read(folder, "rows*.jsonl.xz", every)
    with lzma.open(folder / "substitutes.json.xz", "rt") as opened:
        table = json.load(opened)
    english = [row for row in support if not row["held"] and row.get("lang", "en") == "en"]
    labelled, unlabelled = make(english, table, {"copies": 2, "processes": processes, "seed": SEED})
    pairs = [(*pair, "en", False) for pair in labelled + unlabelled]
    pairs += [
        (row["premise"], row["claim"], row["label"], row.get("lang", "en"), row["held"])
        for row in support
        if row["held"] or row.get("lang", "en") != "en"
    ]
    made = [
        {"task": "support", "texts": [premise, claim], "label": label, "lang": lang, "source": "support", "held": held}
        for premise, claim, label, lang, held in pairs
    ]
    say(f"{len(written)} written rows, {len(questions)} of questions, {len(made)} of support")
    labelled_rows = [row for row in questions if row["label"] >= 0]
    return [*written, *labelled_rows, *made]


def is_written(row: Row) -> bool:
    return row["source"] in ("written", "direct")


def targets_of(rows: list[Row], given: np.ndarray) -> np.ndarray:
    """Six numbers a row: the label, drawn towards the shipped encoder's answer, which is all where no label is."""
    out = np.zeros((len(rows), 6), dtype=np.float32)
    for number, row in enumerate(rows):
        label, size = row["label"], HEADS[row["task"]]
        taught = given[number, :size]
        hard = HARD_WRITTEN if is_written(row) else HARD
        if size == 1:
            mine = np.array([min(SURE, max(1 - SURE, label))])
        elif label < 0:
            mine = taught
        elif row["task"] == "support" and label == 3:
            # Not supported, and the source does not say whether it is refuted.
            mine = taught * (0, 1, 1) / max(1e-6, float(taught[1:].sum()))
        else:
            mine = np.full(size, (1 - SURE) / size) + SURE * np.eye(size)[int(label)]
        out[number, :size] = hard * mine + (1 - hard) * taught
    return out


def shares_of(logits: np.ndarray, rows: list[Row]) -> np.ndarray:
    """The probabilities of each row's own head."""
    one = np.array([HEADS[row["task"]] == 1 for row in rows])[:, None]
    sizes = np.array([HEADS[row["task"]] for row in rows])[:, None]
    odds = np.where(np.arange(6) < sizes, np.exp(logits - logits.max(1, keepdims=True)), 0)
    return np.where(one, 1 / (1 + np.exp(-logits)), odds / odds.sum(1, keepdims=True))


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
    model: Encoder, batches: Batches, target: Tensor, groups: Sequence[np.ndarray], rate: float, seconds: float
) -> None:
    """Fit a model for some seconds to batches of rows; the rate rises at first and falls to nothing."""
    torch.manual_seed(SEED)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01, fused=DEVICE == "cuda")
    begun = shown = time.time()
    total, step = torch.zeros((), device=DEVICE), 0
    model.train()
    for group in itertools.cycle(groups):
        if step % 20 == 0 and DEVICE == "cuda":
            torch.cuda.synchronize()
        passed = (time.time() - begun) / seconds
        if passed >= 1:
            break
        for parameters in optimizer.param_groups:
            parameters["lr"] = rate * min((step + 1) / 150, max(0.004, 1 - passed))
        index = torch.from_numpy(group).to(DEVICE)
        ids, mask, types, whole = batches.get(index)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
            logits = model(ids, mask, types, whole, 0.05)
        loss = loss_of(logits, batches.tasks[index], target[index])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total = 0.99 * total + 0.01 * loss.detach()
        step += 1
        if time.time() - shown > 20:
            shown = time.time()
            say(f"step {step} of {len(groups)} an epoch: loss {total.item() / (1 - 0.99**step):.4f}")
    say(f"{step} steps, {len(groups)} an epoch, loss {total.item() / (1 - 0.99 ** max(1, step)):.4f}")


def drawn(rows: list[Row], share: float, batches: Batches, size: int) -> list[np.ndarray]:
    """Batches of an epoch over the rows as before, with so many written rows among them that they have their share."""
    free = np.array([n for n, row in enumerate(rows) if not is_written(row) and not row["held"]])
    own = [n for n, row in enumerate(rows) if is_written(row) and not row["held"]]
    own = np.array([n for n in own for _ in range(DIRECT if rows[n]["source"] == "direct" else 1)])
    rng = np.random.default_rng(SEED)
    wanted = int(len(free) * share / (1 - share))
    repeated = np.concatenate([rng.permutation(own) for _ in range(wanted // len(own) + 1)])[:wanted]
    return batches.order(rng, size, np.concatenate([free, repeated]))


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


def auroc(values: np.ndarray, good: np.ndarray) -> float:
    if good.all() or not good.any():
        return float("nan")
    ranks = values.argsort(kind="stable").argsort() + 1
    return float((ranks[good].sum() - good.sum() * (good.sum() + 1) / 2) / (good.sum() * (~good).sum()))


def figures(rows: list[Row], logits: np.ndarray) -> dict[str, float]:
    """Areas under the curve of held-out rows, and the share of pairs of answers of one item with the right one above."""
    groups: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    pairs: dict[tuple[str, str, str], list[tuple[float, bool]]] = defaultdict(list)
    for row, own in zip(rows, shares_of(logits, rows), strict=True):
        if row["label"] < 0 or row["source"] == "written":
            continue
        task = row["task"]
        value, good = float(own[0]), row["label"] >= 0.5
        if task == "support":
            good = row["label"] == 0
        elif task == "remark":
            value, good = float(own[1] + own[2]), row["label"] in (1, 2)
        groups[f"{'new' if is_written(row) else 'old'} {task} {row['lang']}"].append((value, good))
        if is_written(row) and task == "correct":
            pairs[row["lang"], row["texts"][0], row["texts"][1]].append((value, good))
    found = {
        name: auroc(np.array([value for value, _ in group]), np.array([good for _, good in group]))
        for name, group in sorted(groups.items())
    }
    for lang in ("en", "es"):
        right = [
            one > other
            for (of, *_), group in pairs.items()
            if of == lang
            for one, good in group
            for other, also in group
            if good and not also
        ]
        found[f"new pairs {lang}"] = float(np.mean(right)) if right else float("nan")
    return found


def rounded(state: State) -> tuple[State, dict[str, np.ndarray]]:
    """Weights as int8 rows: what they are then, and as they are stored."""
    stored = to_rows({name: value.detach().float().cpu().numpy() for name, value in state.items()})
    return {name: torch.from_numpy(value).to(DEVICE) for name, value in from_rows(stored).items()}, stored


def save(stored: dict[str, np.ndarray], out: Path, name: str) -> None:
    """Write weights in two files, small enough to bring back."""
    words = {key: value for key, value in stored.items() if key.startswith("words.")}
    np.savez_compressed(out / f"{name}-words.npz", **words)
    np.savez_compressed(out / f"{name}-layers.npz", **{key: value for key, value in stored.items() if key not in words})


def main() -> None:
    folder, out, seconds, small = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), "--small" in sys.argv
    processes = 2 if small else 16
    out.mkdir(parents=True, exist_ok=True)
    rows = rows_of(folder, small, processes)
    asked = read(folder, "asked*.jsonl.xz", 200 if small else 1)
    batches = encode([(row["task"], row["texts"]) for row in rows], processes)
    held = [row for row in rows if row["held"]]
    for_held, for_asked = (encode([(r["task"], r["texts"]) for r in each], processes) for each in (held, asked))
    say(f"{len(rows)} rows, mean length {batches.lengths_here.mean():.0f}, {len(held)} held out")
    model = Encoder(STUDENT)
    model.to(DEVICE)
    stored = from_rows(read_stored(SHIPPED))
    shipped = {name: torch.from_numpy(stored[name]).to(DEVICE) for name in model.state_dict()}
    model.load_state_dict(shipped)
    taught = torch.from_numpy(answers(model, batches)).numpy()
    wanted = torch.from_numpy(targets_of(rows, shares_of(taught, rows))).to(DEVICE)
    say("targets are made")
    named: dict[str, State] = {"shipped": shipped}
    left = max(6.0, seconds - (time.time() - STARTED) - LAST)
    for variant in VARIANTS:
        model.load_state_dict(shipped)
        groups = drawn(rows, variant.written, batches, 768 if DEVICE == "cuda" else 8)
        fit(model, batches, wanted, groups, variant.rate, left * variant.time)
        named[variant.name], stored = rounded(model.state_dict())
        save(stored, out, variant.name)
    states = [named[variant.name] for variant in VARIANTS]
    named["all"] = mean(states, [1 / len(states)] * len(states))
    for name in [*(variant.name for variant in VARIANTS), "all"]:
        for share in MIXED:
            named[f"{name}.{round(100 * share)}"] = mean((named[name], shipped), (share, 1 - share))
    given: dict[str, np.ndarray] = {}
    table: dict[str, dict[str, float]] = {}
    for name, state in named.items():
        model.load_state_dict(rounded(state)[0])
        given[name] = answers(model, for_asked).astype(np.float16)
        table[name] = figures(held, answers(model, for_held))
    np.savez_compressed(out / "answers.npz", **given)
    print("held out:", *(f"{name:>9}" for name in named))
    for key in table["shipped"]:
        print(f"{key:20}", *(f"{table[name][key]:9.3f}" for name in named))
    (out / "held.json").write_text(json.dumps(table))
    say("done")


if __name__ == "__main__":
    main()
