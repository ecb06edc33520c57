"""A document → passages: along headings and paragraphs, each with a little of the one before it.

The text is first cut into pieces that touch each other and leave nothing out: a heading, a paragraph, and where a paragraph is
too long, sentences, or at last words. Pieces are packed until a passage is full or a new section begins. So the passages
cover everything but white space, and each is the document's own text between two places. A passage knows its sections: what
stands under each heading that it holds, and whether that is all of it. `clear_sentences` are those one can quote: whole, of a
fair length, and clear without the one before them.

`Library` retrieves the passages a question is answered from, by words or by vectors, as a retrieval system would. The passage
that a question was made from is always among them, or the reference answer would rest on something that the answering model
never saw; where the search missed it, it takes the last place and says so. Where the search found too few, passages drawn by
the seed stand in as distractors, and say so too.
"""

import asyncio
import re
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from random import Random
from typing import Any, Protocol

from evergold.generate.spec import Chunks
from evergold.model.generation import Document, Passage, RetrievedPassage, Section
from evergold.text.likeness import Index
from evergold.text.markers import markers
from evergold.text.words import SENTENCE_END, WORD, Text, sentences

_BLANK_LINES = re.compile(r"\n[ \t\f]*\n\s*")
_FENCE = re.compile(r"^[ \t]*(```|~~~)", re.MULTILINE)
_ATX = re.compile(r"[ ]{0,3}(?P<level>#{1,6})[ \t]+(?P<title>[^\n]*?)[ \t#]*(?:\n|\Z)")
# A line of three dashes under text is a heading; alone it is a rule, which needs no title here.
_SETEXT = re.compile(
    r"(?:([=\-~^*\"#])\1{2,}\n)?[ ]{0,3}(?P<title>[^\n]{1,120})\n[ ]{0,3}(?P<level>=+|-{3,}|[~^\"]{4,})[ \t]*(?:\n|\Z)"
)
_NUMBERED = re.compile(r"(?P<title>(?P<level>\d{1,2}(?:\.\d{1,2}){0,3})\.?[ \t]+[A-ZÀ-Þ][^\n.!?]{1,80})(?:\n|\Z)")
_CAPITALS = re.compile(r"(?P<title>[A-ZÀ-Þ][A-ZÀ-Þ0-9 ,:&/-]{3,80})(?:\n|\Z)")
# A question on a line of its own, in bold or in a PDF.
_QUESTION = re.compile(r"(?P<title>(?:\*\*|__)?(?:\d{1,2}[.)] )?[¿A-Z][^\n.!?:]{8,120}\?(?:\*\*|__)?)[ \t]*(?:\n|\Z)")
_FRONT = re.compile(r"---[ \t]*\n(?:[\w.-]+:.*\n|[ \t#-].*\n|\n){1,60}?---[ \t]*(?:\n\s*|\Z)")
_FRONT_TITLE = re.compile(r"^title:[ \t]*(.*)$", re.MULTILINE)
_SIGNS = '=-~^"'  # of underlined headings, the highest first
_LOWEST = 9
_WORD_END = re.compile(r"\s+")
_SMALLEST_SECTION = 4
"""A section ends a passage that is a quarter full; shorter ones stay together."""


@dataclass(frozen=True)
class _Piece:
    start: int
    end: int
    heading: str = ""
    level: int = 0


def passages(document: Document, sizes: Chunks) -> list[Passage]:
    """The passages of a document, in order."""
    # The overlap is taken from the size, so that a passage with its overlap is never longer than `size`.
    room = sizes.size - sizes.overlap
    pieces = list(_pieces(document, room))
    sections = _sections(document.text, pieces)
    title = next((section.heading for _, section in sections), "")
    made: list[Passage] = []
    heading = ""
    for group in _pack(pieces, room):
        opens = group[0].heading
        heading = opens or heading
        # A passage that opens with a heading takes no overlap: the end of the section before is another topic.
        first = group[0].start if opens or not made else _find_overlap(document.text, group[0].start, sizes.overlap)
        start, end = _trim(document.text, first, group[-1].end)
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
                    title=title,
                    sections=tuple(section for begin, section in sections if start <= begin < end),
                )
            )
        heading = next((piece.heading for piece in reversed(group) if piece.heading), heading)
    return made


def _sections(text: str, pieces: Sequence[_Piece]) -> list[tuple[int, Section]]:
    """The section of each heading, with the place where its text begins."""
    headed = [piece for piece in pieces if piece.heading]
    last = pieces[-1].end if pieces else 0
    made: list[tuple[int, Section]] = []
    open_headings: list[_Piece] = []
    for one, after in zip(headed, [*headed[1:], None], strict=False):
        open_headings = [other for other in open_headings if other.level < one.level]
        above = open_headings[-1].heading if open_headings else ""
        body = text[one.end : after.start if after else last].strip()
        whole = after is None or after.level <= one.level
        made.append((one.end, Section(heading=one.heading, text=body, whole=whole, above=above)))
        open_headings.append(one)
    return made


def _pieces(document: Document, room: int) -> Iterator[_Piece]:
    for start, end in _blocks(document.text):
        title, body, level = _read_heading(document, start, end)
        # A heading longer than a passage is no heading but a paragraph that looks like one.
        if body - start > room:
            title, body = "", start
        if title:
            yield _Piece(start, body, title, level)
        if body < end:
            yield from (_Piece(*span) for span in _cut_small(document.text, body, end, room))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Paragraphs with the blank lines after them; a fenced block stays whole, blank lines and all."""
    fences = [match.start() for match in _FENCE.finditer(text)]
    front = _FRONT.match(text)
    start = front.end() if front else 0
    if front:
        yield 0, start
    for match in _BLANK_LINES.finditer(text, start):
        # An odd number of fences before this point means that it is inside one. An
        # unclosed fence would swallow the rest of the document, so then no fence counts.
        if bisect_right(fences, match.start()) % 2 and len(fences) % 2 == 0:
            continue
        yield start, match.end()
        start = match.end()
    if start < len(text):
        yield start, len(text)


def _read_heading(document: Document, start: int, end: int) -> tuple[str, int, int]:
    """The title a block begins with, where the block's own text begins, and its level; no title: ("", start, 0)."""
    markdown = document.kind == "markdown"
    if not start and (front := _FRONT.match(document.text)):
        title = _FRONT_TITLE.search(front.group())
        return title[1].strip("\"' ") if title else "", front.end(), 0
    for pattern in (_ATX, _SETEXT, _QUESTION) if markdown else (_NUMBERED, _CAPITALS, _SETEXT, _QUESTION):
        match = pattern.match(document.text, start, end)
        if match and match["title"].strip():
            return match["title"].strip(), match.end(), _level(match.groupdict().get("level") or "")
    return "", start, 0


def _level(sign: str) -> int:
    """How deep a heading is: by its number of `#`, the sign it is underlined with, or the dots of its number."""
    if sign[:1] == "#" or not sign:
        return len(sign) or _LOWEST
    return 1 + (_SIGNS.index(sign[0]) if sign[0] in _SIGNS else sign.count("."))


def _cut_small(text: str, start: int, end: int, room: int) -> Iterator[tuple[int, int]]:
    """Spans of at most `room` characters, cut after a sentence, else after a word, else anywhere."""
    while end - start > room:
        within = (
            [match.end() for match in end.finditer(text, start, start + room)] for end in (SENTENCE_END, _WORD_END)
        )
        cut = next((max(ends) for ends in within if ends and max(ends) > start), start + room)
        yield start, cut
        start = cut
    if start < end:
        yield start, end


def _pack(pieces: Sequence[_Piece], room: int) -> Iterator[list[_Piece]]:
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


def _find_overlap(text: str, start: int, overlap: int) -> int:
    """A place up to `overlap` before `start` where a sentence begins, or else a word."""
    lowest = max(0, start - overlap)
    for pattern in (SENTENCE_END, _WORD_END):
        match = pattern.search(text, lowest, start)
        if match and match.end() < start:
            return match.end()
    return start


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


# Words. Shorter ones are headings and fragments, longer ones several statements in one.
SHORTEST, LONGEST = 5, 45
# A line end is a wrap unless the next line begins a list item, a heading, a quote, a table or a fence.
_WRAP = re.compile(r"(?<=\S)[ \t]*\n[ \t]*(?=[^\s#>|*\-•`~=])(?!\d{1,2}[.)]\s)")
_HYPHEN = re.compile(r"(?<=[a-zà-ÿ])-\s*\n\s*(?=[a-zà-ÿ])")
_MARKS = re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)")
_LINK = re.compile(r"!?\[([^\]]{0,1000})\](?:\([^)\s]{0,2000}(?: ['\"][^\"\n]{0,200}['\"])?\)|\[[^\]]{0,200}\])")
_ROLE = re.compile(r":[a-z]{2,20}(?::[a-z]{2,20})?:`([^`<]{1,200}?)(?:\s*<[^>`]{0,200}>)?`")  # of reStructuredText
_TARGET = re.compile(r"(?<!:)`([^`<\n]{1,200}?)\s*<[^>`\n]{1,400}>`_{1,2}")
_GLUED = re.compile(r"\*\*([^*\n]{1,200})\*\*(?=\w)")
_LABEL = re.compile(r"\[!(?:[A-Z]+ )?([^\]\n]{0,200})\]")  # "[!UICONTROL Save]"
# A sentence that begins with one of these depends on the one before it.
_UNCLEAR = re.compile(
    r"(?:it|this|that|these|those|they|he|she|we|i|its|their|his|her|but|however|so|then|thus|also|such|here|therefore|"
    r"moreover|furthermore|otherwise|and|or|because|which|who)\b",
    re.IGNORECASE,
)
# A sentence may begin with a sign, and end with an abbreviation in the middle of what it says: "in Av. Arequipa 12".
_OPENS = re.compile(r"(?<=[.!?]) (?=[¿¡«$€£])")
_CUT_OFF = re.compile(
    r"\b(?:Avda?|Sra|Srta|Dra|Uds?|[Aa]rts?|[Nn]úm|[Nn]ro|[Pp]ágs?|[Tt]el|aprox|máx|mín|Ing|Lic|EE|Ave|Blvd|Vol|pp|ext)\.$"
)
_NOT_PROSE = re.compile(r"[|{}<>\\=]|https?://|\.{4,}|^\s*\$|_{2,}|[.!?] `|\s-\s`")


def flatten(text: str) -> str:
    """The text on one line, without the marks of emphasis and links: how it reads, not how it is set."""
    bare = _TARGET.sub(r"\1", _ROLE.sub(r"\1", _LINK.sub(r"\1", _LABEL.sub(r"\1", _HYPHEN.sub("", text)))))
    return " ".join(unescape(_MARKS.sub("", _GLUED.sub(r"\1 ", bare.replace("\u200b", " ")))).split())


def clear_sentences(text: str) -> list[str]:
    """The sentences of a passage that can stand alone, in order."""
    flowing = _WRAP.sub(" ", _HYPHEN.sub("", text))
    # Markup hides sentence ends, so sentences are split again after it is taken out.
    parts = [one for part in sentences(flowing) for piece in _OPENS.split(flatten(part)) for one in sentences(piece)]
    return [one for one in parts if _is_clear(one)]


def _is_clear(part: str) -> bool:
    words = WORD.findall(part)
    letters = sum(sign.isalpha() for sign in part)
    return (
        SHORTEST <= len(words) <= LONGEST
        and part[-1] in ".!?"
        and part[0].isalnum()
        and not part[0].islower()
        # Prose is mostly letters; tables, formulas and code are not.
        and letters >= 0.6 * len(part)
        and not _UNCLEAR.match(part)
        and not _NOT_PROSE.search(part)
        and not _CUT_OFF.search(part)
        and not markers(part)
    )


Embed = Callable[[Sequence[str]], Awaitable[Any]]
"""Texts → a matrix of unit vectors."""


class Search(Protocol):
    """The best passages for a question with their scores, best first."""

    async def find_best(self, question: str, most: int) -> Sequence[tuple[int, float]]: ...


class WordSearch:
    """BM25 over the stems of words that carry meaning."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._index: Index[int] = Index()
        for at, passage in enumerate(passages):
            self._index.add(at, Text(f"{passage.heading}\n{passage.text}").content)

    async def find_best(self, question: str, most: int) -> Sequence[tuple[int, float]]:
        return self._index.find_best(Text(question).content, most)


class VectorSearch:
    """Cosine of embeddings. The passages are embedded once, by whoever asks first; the others wait for it."""

    def __init__(self, passages: Sequence[Passage], embed: Embed) -> None:
        self._texts = [passage.text for passage in passages]
        self._embed = embed
        self._first = asyncio.Lock()
        self._vectors: Any = None

    async def find_best(self, question: str, most: int) -> Sequence[tuple[int, float]]:
        import numpy as np

        # Questions of many documents arrive at once; without the lock each would embed the whole corpus.
        async with self._first:
            if self._vectors is None:
                self._vectors = await self._embed(self._texts)
        near = self._vectors @ (await self._embed([question]))[0]
        # Stable, so that passages of equal score keep their order and the dataset is the same every time.
        order = np.argsort(-near, kind="stable")[:most]
        return [(int(at), float(near[at])) for at in order]


class Library:
    """All passages of all documents, and the way to find them."""

    def __init__(self, passages: Sequence[Passage], search: Search, seed: int) -> None:
        self._passages = passages
        self._indexes = {(passage.document, passage.index): at for at, passage in enumerate(passages)}
        self._search, self._seed = search, seed

    async def contexts(self, question: str, anchor: Passage, count: int) -> tuple[RetrievedPassage, ...]:
        """`count` passages for a question about `anchor`, or all there are."""
        ranked = list(await self._search.find_best(question, count))
        results = [
            RetrievedPassage(passage=self._passages[at], rank=rank, score=round(score, 6), role="retrieved")
            for rank, (at, score) in enumerate(ranked, 1)
        ]
        home = self._indexes[anchor.document, anchor.index]
        taken = {at for at, _ in ranked}
        if home not in taken:
            # The last position is given up for it, so that the number of contexts stays what was asked for.
            results = [*results[: count - 1], RetrievedPassage(passage=anchor, role="added: the search missed it")]
            taken.add(home)
        return (*results, *self._distractors(question, count - len(results), taken))

    def _distractors(self, question: str, wanted: int, taken: set[int]) -> list[RetrievedPassage]:
        # The question seeds the draw: a question keeps its distractors when others are added or left out.
        dice = Random(f"{self._seed}:{question}")
        wanted = min(wanted, len(self._passages) - len(taken))
        chosen: list[RetrievedPassage] = []
        # Few are wanted among many, so drawing again is cheaper than a shuffled copy of all.
        while len(chosen) < wanted:
            at = dice.randrange(len(self._passages))
            if at not in taken:
                taken.add(at)
                chosen.append(RetrievedPassage(passage=self._passages[at], role="distractor"))
        return chosen
