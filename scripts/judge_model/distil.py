"""Distil the student from the teachers' answers. Needs torch, tokenizers and an accelerator.

    python -m scripts.judge_model.distil FOLDER WORK OUT [--start PACKED] [--epochs N | --seconds N] [--rate R] [--seed N]

FOLDER and WORK are those of `teach`, FOLDER with `minilm-*.npz` besides, unless `--start` names a packed student
(`claim_model.npz`) to go on from. OUT gets the student (`student-*.npz`, float16), its answers on the rows held out
(`held.npz`), and `figures.json`, which holds the options as well.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from scripts.judge_model.batches import DEVICE, Batches, encode
from scripts.judge_model.encoder import MINILM, Encoder, cut_inner, load_public, read_packed
from scripts.judge_model.teach import all_rows, held_rows, read_tokenizer
from scripts.judge_model.training import Options, answers, figures, fit, say

INNER, PARTS, DROP = 768, 4, 0.03


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("folder", "work", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--start", type=Path)
    for name, value in (("epochs", 1.0), ("seconds", 0.0), ("rate", 4e-4)):
        parser.add_argument(f"--{name}", type=float, default=value)
    for name, default in (("seed", 19), ("rows", 0), ("size", 1024)):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    with np.load(arguments.work / "pairs.npz") as opened:
        stored = {name: opened[name] for name in opened.files}
    batches = Batches.of(stored)
    soft = torch.from_numpy(stored["soft"]).to(DEVICE).float()
    held = held_rows(all_rows(arguments.folder, arguments.rows))
    tokens = encode([(row["premise"], row["claim"], 0) for row in held], read_tokenizer(arguments.folder))
    student = Encoder(MINILM)
    load_public(student, read_packed(arguments.folder, "minilm"), "bert") if arguments.start is None else None
    cut_inner(student, INNER)
    if arguments.start is not None:
        load_student(student, arguments.start)
    student.to(DEVICE)
    same = torch.arange(MINILM.vocabulary, device=DEVICE)
    options = Options(
        "student", arguments.seed, arguments.size, arguments.rate, DROP, arguments.epochs, arguments.seconds
    )
    say(f"{len(soft)} pairs")
    epochs = fit(student, batches, same, options, soft)
    on_held = answers(student, Batches.of(tokens), same)
    report: dict[str, Any] = {"pairs": len(soft), "options": asdict(options) | {"epochs": round(epochs, 2)}}
    report["student"] = figures(held, on_held.softmax(1).cpu().numpy())
    say(f"student: {report['student']}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    save(student, arguments.out)
    np.savez_compressed(arguments.out / "held.npz", student=on_held.cpu().numpy(), teachers=stored["soft_held"])
    (arguments.out / "figures.json").write_text(json.dumps(report, indent=1))
    say("done")


def load_student(student: Encoder, packed: Path) -> None:
    """Copy the weights of a packed student (`claim_model.npz`)."""
    with np.load(packed) as opened:
        scales = {name: opened[f"{name}.scale"][:, None] for name in opened.files if f"{name}.scale" in opened.files}
        plain = [name for name in opened.files if name != "vocabulary" and not name.endswith(".scale")]
        state = {name: opened[name] * scales.get(name, np.float32(1)) for name in plain}
    state["words.weight"] = state.pop("words")
    student.load_state_dict({name: torch.from_numpy(value.astype(np.float32)) for name, value in state.items()})


def save(student: Encoder, out: Path) -> None:
    state = {name: value.detach().cpu().numpy().astype(np.float16) for name, value in student.state_dict().items()}
    words = np.array_split(state.pop("words.weight"), PARTS - 1)
    for number, part in enumerate(words):
        np.savez_compressed(out / f"student-words-{number}.npz", words=part)
    np.savez_compressed(out / "student-layers.npz", **state)


if __name__ == "__main__":
    main()
