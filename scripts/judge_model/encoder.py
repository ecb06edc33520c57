"""The encoder in plain torch: MiniLM with inner layers of half as many units.

It answers from its first token alone, so that the last layer need be computed for that token only; and of long evidence for a
claim it keeps, after its second layer, only the half that the claim attends to most.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

HEADS = {"support": 3, "correct": 1, "relevant": 1, "remark": 6}
"""The questions the encoder answers, and how many numbers each answer has."""
KEPT = 0.5


@dataclass(frozen=True)
class Shape:
    """The sizes of an encoder, the layer after which evidence is dropped, and how many tokens of it are kept in any case."""

    vocabulary: int = 30522
    hidden: int = 384
    layers: int = 6
    heads: int = 12
    inner: int = 768
    positions: int = 512
    pruned_after: int = 2
    few: int = 32


STUDENT = Shape()
EPSILON = 1e-12


class Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.q, self.k, self.v, self.o = (nn.Linear(shape.hidden, shape.hidden) for _ in range(4))
        self.norm1 = nn.LayerNorm(shape.hidden, eps=EPSILON)
        self.up = nn.Linear(shape.hidden, shape.inner)
        self.down = nn.Linear(shape.inner, shape.hidden)
        self.norm2 = nn.LayerNorm(shape.hidden, eps=EPSILON)

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
    """Tokens → the logits of every head; what a row was asked decides which of them count."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding(shape.vocabulary, shape.hidden)
        self.places = nn.Embedding(shape.positions, shape.hidden)
        self.types = nn.Embedding(2, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=EPSILON)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.dense = nn.ModuleDict({name: nn.Linear(shape.hidden, shape.hidden) for name in HEADS})
        self.out = nn.ModuleDict({name: nn.Linear(shape.hidden, size) for name, size in HEADS.items()})

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor, whole: Tensor, drop: float = 0.1) -> dict[str, Tensor]:
        """`whole` marks the rows of which no token may be dropped."""
        pooled = self.pool(ids, mask, types, whole, drop)
        return {
            name: self.out[name](F.dropout(torch.tanh(self.dense[name](pooled)), drop, self.training)).float()
            for name in HEADS
        }

    def pool(self, ids: Tensor, mask: Tensor, types: Tensor, whole: Tensor, drop: float) -> Tensor:
        t = ids.shape[1]
        where = torch.arange(t, device=ids.device)
        x = F.dropout(self.norm(self.words(ids) + self.places(where) + self.types(types)), drop, self.training)
        bias = torch.zeros(mask.shape, device=x.device).masked_fill(~mask, -1e4)[:, None, None, :]
        for number, layer in enumerate(self.layers, start=1):
            if number != self.shape.pruned_after:
                x, _ = layer(x, bias, drop)
                continue
            asking = (types.bool() | whole[:, None] | (where == 0)[None]) & mask
            x, received = layer(x, bias, drop, asking.to(x.dtype))
            x, mask = _pruned(x, mask, asking, received, self.shape.few)
            bias = torch.zeros(mask.shape, device=x.device).masked_fill(~mask, -1e4)[:, None, None, :]
        return x[:, 0]


def _pruned(x: Tensor, mask: Tensor, asking: Tensor, received: Tensor, few: int) -> tuple[Tensor, Tensor]:
    """The claim's tokens and the `KEPT` of the evidence that they attend to most; the first token stays first."""
    evidence = (mask & ~asking).sum(1)
    count = asking.sum(1) + torch.maximum(torch.ceil(KEPT * evidence).long(), evidence.clamp(max=few))
    score = received.masked_fill(asking, 1e6).masked_fill(~mask, -1e6)
    score[:, 0] = 2e6
    order = score.argsort(dim=1, descending=True, stable=True)[:, : int(count.max())]
    kept = torch.arange(order.shape[1], device=x.device)[None] < count[:, None]
    return x.gather(1, order[:, :, None].expand(-1, -1, x.shape[2])), kept
