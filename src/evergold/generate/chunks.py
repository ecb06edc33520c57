"""A document → passages: along headings and paragraphs, each with a little of the one before it.

The text is first cut into pieces that touch each other and leave nothing out: a heading, a paragraph, and where a paragraph is
too long, sentences, or at last words. Pieces are packed until a passage is full or a new section begins. So the passages
cover everything but white space, and each is the document's own text between two places.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evergold.generate.spec import Chunks
from evergold.model.generation import Document, Passage
from evergold.text.words import SENTENCE_END

_BLANK_LINES = re.compile(r"\n[ \t\f]*\n\s*")
_FENCE = re.compile(r"^[ \t]*(```|~~~)", re.MULTILINE)
_ATX = re.compile(r"[ ]{0,3}#{1,6}[ \t]+(?P<title>[^\n]*?)[ \t#]*(?:\n|\Z)")
# A line of three dashes under text is a heading; alone it is a rule, which needs no title here.
_SETEXT = re.compile(r"[ ]{0,3}(?P<title>[^\n]{1,120})\n[ ]{0,3}(?:=+|-{3,})[ \t]*(?:\n|\Z)")
_NUMBERED = re.compile(r"(?P<title>\d{1,2}(?:\.\d{1,2}){0,3}\.?[ \t]+[A-ZÀ-Þ][^\n.!?]{1,80})(?:\n|\Z)")
_CAPITALS = re.compile(r"(?P<title>[A-ZÀ-Þ][A-ZÀ-Þ0-9 ,:&/-]{3,80})(?:\n|\Z)")
_WORD_END = re.compile(r"\s+")
_SMALLEST_SECTION = 4
"""A section ends a passage that is a quarter full; shorter ones stay together."""


@dataclass(frozen=True)
class _Piece:
    start: int
    end: int
    heading: str = ""


def passages(document: Document, sizes: Chunks) -> list[Passage]:
    """The passages of a document, in order."""
    # The overlap is taken from the size, so that a passage with its overlap is never longer than `size`.
    room = sizes.size - sizes.overlap
    pieces = list(_pieces(document, room))
    made: list[Passage] = []
    heading = ""
    for group in _packed(pieces, room):
        opens = group[0].heading
        heading = opens or heading
        # A passage that opens with a heading takes no overlap: the end of the section before is another topic.
        first = group[0].start if opens or not made else _earlier(document.text, group[0].start, sizes.overlap)
        start, end = _trimmed(document.text, first, group[-1].end)
        if start < end:
            page = bisect_right(document.pages, start) if document.pages else None
            made.append(
                Passage(
                    document=document.name,
                    index=len(made),
                    start=start,
                    end=end,
                    text=document.text[start:end],
                    heading=heading,
                    page=page,
                )
            )
        heading = next((piece.heading for piece in reversed(group) if piece.heading), heading)
    return made


def _pieces(document: Document, room: int) -> Iterator[_Piece]:
    for start, end in _blocks(document.text):
        title, body = _heading(document, start, end)
        # A heading longer than a passage is no heading but a paragraph that looks like one.
        if body - start > room:
            title, body = "", start
        if title:
            yield _Piece(start, body, title)
        if body < end:
            yield from (_Piece(*span) for span in _small(document.text, body, end, room))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Paragraphs with the blank lines after them; a fenced block stays whole, blank lines and all."""
    fences = [match.start() for match in _FENCE.finditer(text)]
    start = 0
    for match in _BLANK_LINES.finditer(text):
        # An odd number of fences before this point means that it is inside one. An
        # unclosed fence would swallow the rest of the document, so then no fence counts.
        if bisect_right(fences, match.start()) % 2 and len(fences) % 2 == 0:
            continue
        yield start, match.end()
        start = match.end()
    if start < len(text):
        yield start, len(text)


def _heading(document: Document, start: int, end: int) -> tuple[str, int]:
    """The title a block begins with and where the block's own text begins; no title: ("", start)."""
    patterns = (_ATX, _SETEXT) if document.kind == "markdown" else (_NUMBERED, _CAPITALS, _SETEXT)
    for pattern in patterns:
        match = pattern.match(document.text, start, end)
        if match and match["title"].strip():
            return match["title"].strip(), match.end()
    return "", start


def _small(text: str, start: int, end: int, room: int) -> Iterator[tuple[int, int]]:
    """Spans of at most `room` characters, cut after a sentence, else after a word, else anywhere."""
    while end - start > room:
        ends = (_last_end(pattern, text, start, start + room) for pattern in (SENTENCE_END, _WORD_END))
        cut = next(filter(None, ends), start + room)
        yield start, cut
        start = cut
    if start < end:
        yield start, end


def _last_end(pattern: re.Pattern[str], text: str, start: int, end: int) -> int | None:
    return max((match.end() for match in pattern.finditer(text, start, end) if match.end() > start), default=None)


def _packed(pieces: Sequence[_Piece], room: int) -> Iterator[list[_Piece]]:
    group: list[_Piece] = []
    for piece in pieces:
        if group:
            length = group[-1].end - group[0].start
            full = piece.end - group[0].start > room
            # Short sections are packed together: a passage of one line is too thin to ask about.
            section = bool(piece.heading) and length >= room // _SMALLEST_SECTION
            if full or section:
                yield group
                group = []
        group.append(piece)
    if group:
        yield group


def _earlier(text: str, start: int, overlap: int) -> int:
    """A place up to `overlap` before `start` where a sentence begins, or else a word."""
    lowest = max(0, start - overlap)
    for pattern in (SENTENCE_END, _WORD_END):
        match = pattern.search(text, lowest, start)
        if match and match.end() < start:
            return match.end()
    return start


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
