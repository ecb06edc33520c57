"""Rows as tokens, and batches of rows of like length on the device: [task] text [SEP] text [SEP] …"""

from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from evergold.judge import encoder
from evergold.judge.encoder import FOCUS, LIMITS, TASKS, WordPieces, shorten_texts

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WINDOW = 50
"""How many batches' rows are sorted by length at a time."""
CHUNK = 2000
Texts = tuple[str, Sequence[str]]
"""A task and its texts."""
_state: dict[str, Any] = {}


def encode(rows: Sequence[Texts], processes: int) -> "Batches":
    """Cut rows into the pieces that the shipped encoder reads, in several processes."""
    words = Path(encoder.__file__).with_name("vocabulary.txt").read_text("utf-8").splitlines()
    _state.update(rows=rows, pieces=WordPieces({word: number for number, word in enumerate(words)}))
    starts = range(0, len(rows), CHUNK)
    if processes > 1:
        with Pool(processes) as pool:
            parts = list(pool.imap(_encode_chunk, starts))
    else:
        parts = [_encode_chunk(start) for start in starts]
    return Batches.of([np.concatenate(column) for column in zip(*parts, strict=True)])


def _encode_chunk(start: int) -> tuple[np.ndarray, ...]:
    pieces: WordPieces = _state["pieces"]
    flat: list[int] = []
    lengths, begins, ends, tasks = [], [], [], []
    for task, texts in _state["rows"][start : start + CHUNK]:
        ids = [pieces.first[task]]
        for number, (text, limit) in enumerate(zip(shorten_texts(task, texts), LIMITS[task], strict=True)):
            if number == FOCUS[task]:
                begins.append(len(ids))
            ids += [*pieces.ids(text, limit), pieces.between]
            if number == FOCUS[task]:
                ends.append(len(ids))
        flat += ids
        lengths.append(len(ids))
        tasks.append(TASKS.index(task))
    return (
        np.array(flat, dtype=np.uint16),
        *(np.array(part, dtype=np.int64) for part in (lengths, begins, ends, tasks)),
    )


@dataclass(frozen=True)
class Batches:
    """All rows as one row of tokens on the device."""

    tokens: Tensor
    starts: Tensor
    lengths: Tensor
    begins: Tensor
    ends: Tensor
    tasks: Tensor
    lengths_here: np.ndarray

    @classmethod
    def of(cls, columns: list[np.ndarray]) -> "Batches":
        tokens, lengths, *rest = columns
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        arrays = (tokens.astype(np.int32), starts, lengths, *rest)
        return cls(*(torch.from_numpy(array).to(DEVICE) for array in arrays), lengths_here=lengths)

    def get(self, index: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Ids, mask, which text is judged, and which rows are read whole."""
        lengths = self.lengths[index]
        where = torch.arange(int(lengths.max()), device=index.device)[None]
        mask = where < lengths[:, None]
        ids = self.tokens[(self.starts[index][:, None] + where).clamp(max=len(self.tokens) - 1)]
        types = (where >= self.begins[index][:, None]) & (where < self.ends[index][:, None])
        return ids.masked_fill(~mask, 0).long(), mask, types.long(), self.tasks[index] != 0

    def order(self, rng: np.random.Generator | None, size: int, chosen: np.ndarray | None = None) -> list[np.ndarray]:
        """Batches of rows of like length, in random order; in order of length without a generator."""
        numbers = np.arange(len(self.lengths_here)) if chosen is None else chosen
        if rng is None:
            ordered = numbers[np.argsort(self.lengths_here[numbers], kind="stable")]
            return [ordered[i : i + size] for i in range(0, len(ordered), size)]
        shuffled = rng.permutation(numbers)
        groups = []
        for start in range(0, len(shuffled), size * WINDOW):
            group = shuffled[start : start + size * WINDOW]
            group = group[np.argsort(self.lengths_here[group], kind="stable")]
            groups += [group[i : i + size] for i in range(0, len(group), size)]
        return [groups[i] for i in rng.permutation(len(groups))]
