"""Texts to search for private things, and the spans that are replaced by placeholders.

A text is searched as bytes and as Latin-1, in which every character keeps its index: RE2 is fastest over bytes, and an index
needs no translation. ASCII is itself, full-width forms and the digits of other scripts become ASCII, so `４１１１` and
`user＠example.com` are seen as what they are. Every other character becomes one byte that names its class.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import re2
from numpy.typing import NDArray
from re2 import _re2

SPACED, UNSPACED, OTHER, BLANK, DASH, EURO = 0x80, 0x81, 0x82, 0xA0, 0xAD, 0xA4
"""Letters of scripts with spaces between words, letters of scripts without, symbols, typographic blanks and dashes, `€`."""

Spans = list[tuple[int, int]]
UNANCHORED = _re2.RE2.Anchor.UNANCHORED
MEMORY = 32 << 20  # for the states of a pattern: with too few of them RE2 turns to a slower way of matching
SPACED_SCRIPTS = (
    *((0x0100, 0x037D), (0x037F, 0x060B), (0x060D, 0x061A), (0x061C, 0x061E), (0x0620, 0x06D3), (0x06D5, 0x0963)),
    *((0x0966, 0x0DFF), (0x0F00, 0x0FFF), (0x10A0, 0x177F), (0x1800, 0x1FFF), (0x2C00, 0x2DFF), (0xA000, 0xD7FF)),
    (0x10000, 0x1EFFF),
)
UNSPACED_SCRIPTS = (
    *((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF), (0xF900, 0xFAFF)),
    (0x20000, 0x3FFFF),
)
ZEROS = (  # the first of the ten digits of a script
    *(0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0E50, 0x0ED0),
    *(0x0F20, 0x1040, 0x17E0, 0x1810, 0xFF10),
)
BLANKS = (0x00A0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)
DASHES = (*range(0x2010, 0x2016), 0x2212, 0xFE63, 0xFF0D)


def byte_pattern(pattern: bytes | str) -> Any:
    """Compile a pattern over folded bytes; one that is put together from others may be a text."""
    return re2.compile(pattern.encode("latin-1") if isinstance(pattern, str) else pattern, _options())


def byte_patterns(patterns: Iterable[bytes]) -> Any:
    """Compile patterns that look at folded bytes in one pass: `Match` gives the numbers of those that match, or None."""
    together = re2.Set.SearchSet(_options())
    for pattern in patterns:
        together.Add(pattern)
    together.Compile()
    return together


def _options() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = MEMORY
    options.log_errors = False
    return options


def matches(pattern: Any, data: bytes, position: int = 0) -> Iterator[Spans]:
    """Go through the matches of a pattern: where each stands, then where its groups do (-1 for one that took no part).

    The match objects of the `re2` package cost several times what the matching does; its bound method gives bare spans.
    """
    match, end = pattern._regexp.Match, len(data)
    while position <= end:
        spans = match(UNANCHORED, data, position, end)
        start, last = spans[0]
        if start < 0:
            return
        yield spans
        # An empty match must advance, or the search would never end.
        position = last if last > position else position + 1


def holds(pattern: Any, data: bytes) -> bool:
    """Say whether a pattern matches somewhere, without the cost of a match object."""
    return bool(pattern._regexp.Match(UNANCHORED, data, 0, len(data))[0][0] >= 0)


class Folded(NamedTuple):
    """A text, the same folded to Latin-1, and that as bytes: an index holds for all three."""

    text: str
    flat: str
    data: bytes


def fold_digits(text: str) -> Folded:
    """Fold a text. ASCII needs no folding."""
    if text.isascii():
        return Folded(text, text, text.encode("ascii"))
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    data = _table().take(codes).tobytes()
    return Folded(text, data.decode("latin-1"), data)


@cache
def _table() -> NDArray[np.uint8]:
    table = np.full(0x110000, OTHER, np.uint8)
    table[:0x80] = np.arange(0x80)
    table[0xA1:0x100] = np.arange(0xA1, 0x100)
    # A soft hyphen in the text is a symbol: 0xAD means "any dash" in folded text.
    table[0xAD] = OTHER
    for byte, ranges in ((SPACED, SPACED_SCRIPTS), (UNSPACED, UNSPACED_SCRIPTS)):
        for first, last in ranges:
            table[first : last + 1] = byte
    table[0xFF01:0xFF5F] = np.arange(0x21, 0x7F)
    for zero in ZEROS:
        table[zero : zero + 10] = np.arange(0x30, 0x3A)
    table[list(BLANKS)] = BLANK
    table[list(DASHES)] = DASH
    table[0x20AC] = EURO
    return table


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


def replace_spans(text: str, spans: list[PrivateSpan]) -> tuple[str, Counter[str]]:
    """Replace each span by its kind in brackets, and count the kinds."""
    pieces: list[str] = []
    done = 0
    for kind, start, end in spans:
        pieces += (text[done:start], f"[{kind}]")
        done = end
    pieces.append(text[done:])
    return "".join(pieces), Counter(span.kind for span in spans)
