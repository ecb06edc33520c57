"""Private parts of a text: what kind each is and where it stands, and the text with placeholders in their place."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple


class PrivateSpan(NamedTuple):
    """A part of a text that is not to be stored."""

    kind: str
    start: int
    end: int


def without_overlaps(by_priority: Iterable[Iterable[PrivateSpan]]) -> list[PrivateSpan]:
    """Order spans by where they stand. Of two that overlap, the one of the earlier group is kept."""
    ranked = [(span[1], rank, span) for rank, spans in enumerate(by_priority) for span in spans]
    ranked.sort()
    kept: list[PrivateSpan] = []
    ranks: list[int] = []
    last = 0  # where the last one kept ends
    for start, rank, span in ranked:
        # A span of higher priority removes every lower one it overlaps, not only the last.
        while start < last and ranks[-1] > rank:
            kept.pop()
            ranks.pop()
            last = kept[-1][2] if kept else 0
        if start >= last:
            kept.append(span)
            ranks.append(rank)
            last = span[2]
    return kept


def replaced(text: str, spans: list[PrivateSpan]) -> tuple[str, Counter[str]]:
    """Replace each span by its kind in brackets, and count the kinds."""
    pieces: list[str] = []
    done = 0
    for kind, start, end in spans:
        pieces += (text[done:start], f"[{kind}]")
        done = end
    pieces.append(text[done:])
    return "".join(pieces), Counter(span.kind for span in spans)
