"""A transformer encoder in plain torch that both MPNet (the teachers) and MiniLM (the student) can be loaded into.

The student answers from its first token alone, so that the last layer need be computed for that token only; its inner
layers are cut to the strongest `inner` units; and after its second layer it keeps only the half of the evidence that the
claim attends to most. Together a third of the work of MiniLM for a claim.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

CLASSES = 3
KEPT = 0.5


@dataclass(frozen=True)
class Shape:
    """The sizes of an encoder. `first_position` is where MPNet begins to count; `relative` its attention bias."""

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    inner: int
    positions: int
    first_position: int
    types: int
    epsilon: float
    relative: bool
    pooled_mean: bool
    pruned_after: int = 0
    """The number of layers after which only `KEPT` of the evidence is kept; 0 keeps all of it."""


MPNET = Shape(30527, 768, 12, 12, 3072, 514, 2, 0, 1e-5, True, True)
MINILM = Shape(30522, 384, 6, 12, 1536, 512, 0, 2, 1e-12, False, False, 2)


class Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.q, self.k, self.v, self.o = (nn.Linear(shape.hidden, shape.hidden) for _ in range(4))
        self.norm1 = nn.LayerNorm(shape.hidden, eps=shape.epsilon)
        self.up = nn.Linear(shape.hidden, shape.inner)
        self.down = nn.Linear(shape.inner, shape.hidden)
        self.norm2 = nn.LayerNorm(shape.hidden, eps=shape.epsilon)

    def forward(self, x: Tensor, bias: Tensor, drop: float, asking: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The next states; and, where `asking` marks tokens, how much attention those give to each token."""
        b, t, d = x.shape
        q, k, v = (part(x).view(b, t, self.heads, -1).transpose(1, 2) for part in (self.q, self.k, self.v))
        received = bias
        if asking is None:
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q.dtype))
        else:
            shares = (q @ k.transpose(2, 3) * q.shape[-1] ** -0.5 + bias.to(q.dtype)).softmax(-1).to(q.dtype)
            mixed = shares @ v
            received = (shares.detach().mean(1) * asking[:, :, None]).sum(1).float()
        mixed = mixed.transpose(1, 2).reshape(b, t, d)
        x = self.norm1(x + F.dropout(self.o(mixed), drop, self.training))
        x = self.norm2(x + F.dropout(self.down(F.gelu(self.up(x), approximate="tanh")), drop, self.training))
        return x, received


class Encoder(nn.Module):
    """Tokens → three logits: supported, not enough information, refuted."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding(shape.vocabulary, shape.hidden)
        self.places = nn.Embedding(shape.positions, shape.hidden)
        self.types = nn.Embedding(max(1, shape.types), shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.relative = nn.Embedding(32, shape.heads) if shape.relative else None
        width = shape.hidden * (2 if shape.pooled_mean else 1)
        self.dense = nn.Linear(width, shape.hidden)
        self.out = nn.Linear(shape.hidden, CLASSES)
        if not shape.types:
            nn.init.zeros_(self.types.weight)
            self.types.weight.requires_grad_(False)

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor, drop: float = 0.1) -> Tensor:
        t = ids.shape[1]
        where = torch.arange(t, device=ids.device) + self.shape.first_position
        kinds = types if self.shape.types else torch.zeros_like(types)
        x = F.dropout(self.norm(self.words(ids) + self.places(where) + self.types(kinds)), drop, self.training)
        bias = torch.zeros(mask.shape, device=x.device).masked_fill(~mask, -1e4)[:, None, None, :]
        if self.relative is not None:
            bias = bias + self.relative(_buckets(t, ids.device)).permute(2, 0, 1)[None]
        for number, layer in enumerate(self.layers, start=1):
            if number != self.shape.pruned_after:
                x, _ = layer(x, bias, drop)
                continue
            asking = (types.bool() | (where == self.shape.first_position)[None]) & mask
            x, received = layer(x, bias, drop, asking.to(x.dtype))
            x, mask = _pruned(x, mask, asking, received)
            bias = torch.zeros(mask.shape, device=x.device).masked_fill(~mask, -1e4)[:, None, None, :]
        pooled = x[:, 0]
        if self.shape.pooled_mean:
            share = mask[:, :, None].to(x.dtype)
            pooled = torch.cat([pooled, (x * share).sum(1) / share.sum(1)], dim=1)
        return self.out(F.dropout(torch.tanh(self.dense(pooled)), drop, self.training)).float()


def _pruned(x: Tensor, mask: Tensor, asking: Tensor, received: Tensor) -> tuple[Tensor, Tensor]:
    """The claim's tokens and the `KEPT` of the evidence that they attend to most; the first token stays first."""
    evidence = (mask & ~asking).sum(1)
    count = asking.sum(1) + torch.ceil(KEPT * evidence).long()
    score = received.masked_fill(asking, 1e6).masked_fill(~mask, -1e6)
    score[:, 0] = 2e6
    order = score.argsort(dim=1, descending=True, stable=True)[:, : int(count.max())]
    kept = torch.arange(order.shape[1], device=x.device)[None] < count[:, None]
    return x.gather(1, order[:, :, None].expand(-1, -1, x.shape[2])), kept


def _buckets(t: int, device: Any) -> Tensor:
    """MPNet's 32 buckets of distance: exact when near, logarithmic when far."""
    where = torch.arange(t, device=device)
    n = -(where[None, :] - where[:, None])
    side = (n < 0).long() * 16
    n = n.abs()
    far = 8 + (torch.log(n.float().clamp(min=1) / 8) / math.log(128 / 8) * 8).long().clamp(max=7)
    return side + torch.where(n < 8, n, far)


NAMES = {
    "mpnet": ("attention.attn.{}", "attention.attn.o", "attention.LayerNorm"),
    "bert": ("attention.self.{}", "attention.output.dense", "attention.output.LayerNorm"),
}


def load_public(model: Encoder, weights: dict[str, np.ndarray], family: str) -> None:
    """Copy the weights of a public checkpoint into the encoder; the head stays new."""
    attention, out, norm1 = NAMES[family]
    parts = {"q": "query", "k": "key", "v": "value"} if family == "bert" else {"q": "q", "k": "k", "v": "v"}
    state: dict[str, np.ndarray] = {
        "words.weight": weights["embeddings.word_embeddings.weight"],
        "places.weight": weights["embeddings.position_embeddings.weight"],
        "norm.weight": weights["embeddings.LayerNorm.weight"],
        "norm.bias": weights["embeddings.LayerNorm.bias"],
    }
    if family == "bert":
        state["types.weight"] = weights["embeddings.token_type_embeddings.weight"]
    else:
        state["relative.weight"] = weights["encoder.relative_attention_bias.weight"]
    for index in range(model.shape.layers):
        base = f"encoder.layer.{index}."
        found = {own: base + attention.format(name) for own, name in parts.items()}
        found |= {"o": base + out, "norm1": base + norm1, "norm2": base + "output.LayerNorm"}
        found |= {"up": base + "intermediate.dense", "down": base + "output.dense"}
        for own, name in found.items():
            for kind in ("weight", "bias"):
                state[f"layers.{index}.{own}.{kind}"] = weights[f"{name}.{kind}"]
    missing = model.load_state_dict(
        {k: torch.from_numpy(np.ascontiguousarray(v)).float() for k, v in state.items()}, strict=False
    )
    unknown = [name for name in missing.missing_keys if not name.startswith(("dense", "out", "types"))]
    if unknown or missing.unexpected_keys:
        raise SystemExit(f"weights do not fit: {unknown} {missing.unexpected_keys}")


def cut_inner(model: Encoder, inner: int) -> None:
    """Keep the units of each inner layer with the largest product of norms on the way in and on the way out."""
    for layer in model.layers:
        strength = layer.up.weight.norm(dim=1) * layer.down.weight.norm(dim=0)
        keep = strength.topk(inner).indices.sort().values
        up, down = layer.up, layer.down
        layer.up, layer.down = nn.Linear(up.in_features, inner), nn.Linear(inner, down.out_features)
        with torch.no_grad():
            layer.up.weight.copy_(up.weight[keep])
            layer.up.bias.copy_(up.bias[keep])
            layer.down.weight.copy_(down.weight[:, keep])
            layer.down.bias.copy_(down.bias)


def read_packed(folder: Path, name: str) -> dict[str, np.ndarray]:
    """Read weights written by `pack_init`: int8 rows with a scale each, vectors as they are."""
    weights: dict[str, np.ndarray] = {}
    for path in sorted(folder.glob(f"{name}-*.npz")):
        with np.load(path) as opened:
            for key in opened.files:
                if key.endswith(".scale"):
                    continue
                scale = opened.get(f"{key}.scale")
                weights[key] = opened[key].astype(np.float32) if scale is None else opened[key] * scale[:, None]
    return weights
