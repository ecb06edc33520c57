"""Pairs as rows of tokens, and batches of pairs of like length on the device: [CLS] evidence [SEP] claim [SEP]."""

from dataclasses import dataclass

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from scripts.judge_model.made import Pair

LONGEST, LONGEST_CLAIM = 256, 80
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WINDOW = 50
"""How many batches' pairs are sorted by length at a time."""


def encode(pairs: list[Pair], tokenizer: Tokenizer) -> dict[str, np.ndarray]:
    first, last = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    claims = [e.ids[:LONGEST_CLAIM] for e in tokenizer.encode_batch([p[1] for p in pairs], add_special_tokens=False)]
    premises = [e.ids for e in tokenizer.encode_batch([p[0] for p in pairs], add_special_tokens=False)]
    flat: list[int] = []
    lengths, second = [], []
    for premise, claim in zip(premises, claims, strict=True):
        premise = premise[: LONGEST - 3 - len(claim)]
        flat += [first, *premise, last, *claim, last]
        lengths.append(len(premise) + len(claim) + 3)
        second.append(len(premise) + 2)
    labels = [pair[2] for pair in pairs]
    return {
        "tokens": np.array(flat, dtype=np.uint16),
        "lengths": np.array(lengths, dtype=np.int64),
        "second": np.array(second, dtype=np.int64),
        "labels": np.array(labels, dtype=np.int64),
    }


@dataclass(frozen=True)
class Batches:
    """All pairs as one row of tokens on the device."""

    tokens: Tensor
    starts: Tensor
    lengths: Tensor
    second: Tensor
    labels: Tensor
    lengths_here: np.ndarray

    @classmethod
    def of(cls, encoded: dict[str, np.ndarray]) -> "Batches":
        lengths = encoded["lengths"]
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        arrays = (encoded["tokens"].astype(np.int32), starts, lengths, encoded["second"], encoded["labels"])
        return cls(*(torch.from_numpy(array).to(DEVICE) for array in arrays), lengths_here=lengths)

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
        for start in range(0, count, size * WINDOW):
            group = shuffled[start : start + size * WINDOW]
            group = group[np.argsort(self.lengths_here[group], kind="stable")]
            groups += [group[i : i + size] for i in range(0, len(group), size)]
        return [groups[i] for i in rng.permutation(len(groups))]
