"""The best matches of a search: by how often its words stand in name, question and answer, and how near the beginning."""

import re
from collections.abc import Sequence

from evergold.store.search import SearchTerms

WEIGHTS = (3.0, 2.0, 1.0)  # of name, question and answer
Texts = tuple[str, str, str]


def best_first(rows: Sequence[tuple[int, Texts]], asked: SearchTerms, newest_first: Sequence[int]) -> list[int]:
    """Order the traces of a search; of equal matches the newer one comes first."""
    patterns = [re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE) for word in asked.words]
    patterns += [re.compile(re.escape(piece), re.IGNORECASE) for piece in asked.pieces]
    order = {seq: position for position, seq in enumerate(newest_first)}
    worth = {seq: _worth(texts, patterns) for seq, texts in rows}
    return sorted(worth, key=lambda seq: (-worth[seq], order[seq]))


def _worth(texts: Texts, patterns: Sequence[re.Pattern[str]]) -> float:
    """Each word counts once fully and again less and less; short texts count more than long ones."""
    total = 0.0
    for weight, text in zip(WEIGHTS, texts, strict=True):
        for pattern in patterns:
            number = sum(1 for _ in pattern.finditer(text))
            # Characters in thousands: a word in a short text says more than one in a long document.
            total += weight * (number / (number + 1.0)) / (1.0 + len(text) / 1000)
    return total
