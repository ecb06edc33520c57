"""Train what only the remark head uses, with its own copies of the last layers, from the version that is shipped. Needs torch.

    python -m scripts.judge_model.train_remarks FOLDER OUT SECONDS [--small]

FOLDER holds `written.jsonl.xz` (from `written`) and `remarks.jsonl.xz` (rows of `remark_rows`). The other heads keep their
weights, so that their answers stay the same to the last bit. Rows as before are drawn towards the shipped encoder's answers.
`VARIANTS` are trained for SECONDS together; OUT gets the weights of each as int8 rows. Figures on held-out rows are printed.
"""

import copy
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from evergold.judge.encoder import TASKS
from scripts.judge_model.batches import DEVICE, encode
from scripts.judge_model.encoder import STUDENT, Encoder
from scripts.judge_model.pack import SHIPPED, from_rows, read_stored, to_rows
from scripts.judge_model.train import STARTED, answers, drawn, figures, fit, read, say, shares_of, targets_of

FIRST = "first"  # the vector of the task's first token


@dataclass(frozen=True)
class Variant:
    """How many layers of its own the head gets, the share of written rows, the highest rate, and the share of the time."""

    name: str
    layers: int
    written: float
    rate: float
    time: float


VARIANTS = (
    Variant("one", 1, 0.3, 3e-4, 0.22),
    Variant("two", 2, 0.3, 3e-4, 0.25),
    Variant("two-more", 2, 0.5, 3e-4, 0.25),
    Variant("three", 3, 0.35, 2e-4, 0.28),
)


class RemarkEncoder(nn.Module):
    """The shipped encoder with the last layers, the first token's vector and the head of remarks as its only parameters."""

    def __init__(self, whole: Encoder, own: int, first: int) -> None:
        super().__init__()
        self.base = [whole]  # in a list: its parameters are not trained
        self.kept = len(whole.layers) - own
        self.own = nn.ModuleList(copy.deepcopy(layer) for layer in whole.layers[self.kept :])
        self.dense, self.out = copy.deepcopy(whole.dense["remark"]), copy.deepcopy(whole.out["remark"])
        self.first = nn.Parameter(whole.words.weight[first].detach().clone())

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor, whole: Tensor, drop: float = 0.1) -> dict[str, Tensor]:
        base = self.base[0]
        words = base.words(ids).detach()
        words = torch.cat([self.first.expand(len(ids), 1, -1).to(words.dtype), words[:, 1:]], 1)
        x = base.norm(words + base.places(torch.arange(ids.shape[1], device=ids.device)) + base.types(types))
        bias = torch.zeros(mask.shape, device=x.device).masked_fill(~mask, -1e4)[:, None, None, :]
        for layer in [*base.layers[: self.kept], *self.own]:
            x, _ = layer(x, bias, drop if self.training else 0.0)
        hidden = nn.functional.dropout(torch.tanh(self.dense(x[:, 0])), drop, self.training)
        logits = self.out(hidden).float()
        # `fit` and `answers` ask for every head; rows of others are never given.
        return {name: logits if name == "remark" else logits[:, : 3 if name == "support" else 1] for name in TASKS}

    def stored(self, first: int) -> dict[str, np.ndarray]:
        state = {
            f"remark.layers.{self.kept + n}.{k}": v
            for n, one in enumerate(self.own)
            for k, v in one.state_dict().items()
        }
        state |= {f"dense.remark.{k}": v for k, v in self.dense.state_dict().items()}
        state |= {f"out.remark.{k}": v for k, v in self.out.state_dict().items()}
        rows = to_rows({name: value.detach().float().cpu().numpy() for name, value in state.items()})
        vector = self.first.detach().float().cpu().numpy()
        scale = np.abs(vector).max() / 127 + 1e-12
        return rows | {
            FIRST: np.round(vector / scale).astype(np.int8),
            f"{FIRST}.scale": np.float32(scale),
            f"{FIRST}.at": np.int64(first),
        }


def main() -> None:
    folder, out, seconds, small = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), "--small" in sys.argv
    processes = 2 if small else 16
    out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(43)
    written = [row for row in read(folder, "written*.jsonl.xz", 3 if small else 1) if row["task"] == "remark"]
    before = [row | {"held": rng.random() < 0.02} for row in read(folder, "remarks*.jsonl.xz", 200 if small else 1)]
    rows = [*written, *before]
    held = [row for row in rows if row["held"]]
    batches, for_held = (encode([(row["task"], row["texts"]) for row in each], processes) for each in (rows, held))
    say(f"{len(written)} written rows, {len(before)} as before, {len(held)} held out")
    model = Encoder(STUDENT)
    model.to(DEVICE)
    plain = from_rows(read_stored(SHIPPED))
    model.load_state_dict({name: torch.from_numpy(plain[name]).to(DEVICE) for name in model.state_dict()})
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    first = int(batches.tokens[0])
    taught = answers(model, batches)
    wanted = torch.from_numpy(targets_of(rows, shares_of(taught, rows))).to(DEVICE)
    table = {"shipped": figures(held, answers(model, for_held))}
    say("targets are made")
    left = max(6.0, seconds - (time.time() - STARTED) - 15)
    for variant in VARIANTS:
        torch.manual_seed(43)
        trained = RemarkEncoder(model, variant.layers, first).to(DEVICE)
        groups = drawn(rows, variant.written, batches, 512 if DEVICE == "cuda" else 16)
        fit(trained, batches, wanted, groups, variant.rate, left * variant.time)
        table[variant.name] = figures(held, answers(trained, for_held))
        np.savez_compressed(out / f"{variant.name}.npz", **trained.stored(first))
    print("held out:", *(f"{name:>9}" for name in table))
    for key in table["shipped"]:
        print(f"{key:20}", *(f"{found[key]:9.3f}" for found in table.values()))
    say("done")


if __name__ == "__main__":
    main()
