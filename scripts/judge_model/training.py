"""Fit an encoder to labels or to teachers' answers, within a number of seconds, and say how well it answers."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from scripts.judge_model.batches import DEVICE, Batches
from scripts.judge_model.encoder import Encoder
from scripts.judge_model.made import UNLABELLED, UNSUPPORTED
from scripts.judge_model.train_figures import auroc

STARTED = time.time()
TIMED = 60
"""Steps after which the pace is known and the number of steps is set."""


@dataclass(frozen=True)
class Options:
    """How an encoder is fitted: for `epochs`, or for `seconds` where these are given."""

    name: str
    seed: int
    size: int
    rate: float
    drop: float
    epochs: float = 1.0
    seconds: float = 0.0


def fit(model: Encoder, batches: Batches, ids_map: Tensor, options: Options, soft: Tensor | None = None) -> float:
    """Fit a model in place; return the number of epochs it took."""
    rng = np.random.default_rng(options.seed)
    torch.manual_seed(options.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate, weight_decay=0.01, fused=DEVICE == "cuda")
    order = batches.order(rng, options.size)
    steps = max(1, int(options.epochs * len(order)))
    total = torch.zeros((), device=DEVICE)
    begun, step, shown = time.time(), 0, time.time()
    model.train()
    while step < steps:
        for group in order:
            rate = options.rate * min((step + 1) / (0.04 * steps + 1), max(0.01, (steps - step) / steps))
            for parameters in optimizer.param_groups:
                parameters["lr"] = rate
            index = torch.from_numpy(group).to(DEVICE)
            ids, mask, types = batches.get(index)
            with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
                logits = model(ids_map[ids], mask, types, options.drop)
            loss = _loss(logits, batches.labels[index], None if soft is None else soft[index])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total = 0.99 * total + 0.01 * loss.detach()
            step += 1
            if step == TIMED and options.seconds:
                pace = (time.time() - begun) / TIMED if DEVICE == "cpu" else _pace(begun)
                steps = max(TIMED, int(options.seconds / pace))
                say(f"{options.name}: {pace * 1000:.0f} ms a step, {steps} steps, {steps / len(order):.1f} epochs")
            if time.time() - shown > 30:
                shown = time.time()
                say(f"{options.name} step {step}/{steps}: loss {total.item() / (1 - 0.99**step):.4f}")
            if step >= steps:
                break
        order = batches.order(rng, options.size)
    return step / len(order)


def _pace(begun: float) -> float:
    torch.cuda.synchronize()
    return (time.time() - begun) / TIMED


def label_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy; a row known only as not supported is scored by the sum of both other classes."""
    logs = F.log_softmax(logits, dim=1)
    either = torch.logsumexp(logs[:, 1:], dim=1)
    exact = logs.gather(1, labels.clamp(0, 2)[:, None])[:, 0]
    return -torch.where(labels == UNSUPPORTED, either, exact)


def _loss(logits: Tensor, labels: Tensor, soft: Tensor | None) -> Tensor:
    known = (labels != UNLABELLED).float()
    by_label = label_loss(logits, labels) * known
    if soft is None:
        return by_label.sum() / known.sum().clamp(min=1)
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
