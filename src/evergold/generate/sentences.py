"""Sentences one can quote: whole, of a fair length, and clear without the one before them."""

import re
from typing import NamedTuple

from evergold.text.markers import markers
from evergold.text.words import WORD, sentences

# Words. Shorter ones are headings and fragments, longer ones several statements in one.
SHORTEST, LONGEST = 5, 45
# A line end is a wrap unless the next line begins a list item, a heading, a quote, a table or a fence.
_WRAP = re.compile(r"(?<=\S)[ \t]*\n[ \t]*(?=[^\s#>|*\-•`~=])(?!\d{1,2}[.)]\s)")
_HYPHEN = re.compile(r"(?<=[a-zà-ÿ])-\s*\n\s*(?=[a-zà-ÿ])")
_MARKS = re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)")
_LINK = re.compile(r"!?\[([^\]]{0,1000})\]\([^)\s]{0,2000}\)")
# A sentence that begins with one of these depends on the one before it.
_UNCLEAR = re.compile(
    r"(?:it|this|that|these|those|they|he|she|we|i|its|their|his|her|but|however|so|then|thus|also|such|here|therefore|"
    r"moreover|furthermore|otherwise|and|or|because|which|who)\b",
    re.IGNORECASE,
)
_NOT_PROSE = re.compile(r"[|{}<>\\=]|https?://|\.{4,}|^\s*\$|_{2,}|[.!?] `|\s-\s`")


class Sentence(NamedTuple):
    text: str
    number: int


def flat(text: str) -> str:
    """The text on one line, without the marks of emphasis and links: how it reads, not how it is set."""
    return " ".join(_MARKS.sub("", _LINK.sub(r"\1", _HYPHEN.sub("", text))).split())


def clear_sentences(text: str) -> list[Sentence]:
    """The sentences of a passage that can stand alone, in order."""
    flowing = _WRAP.sub(" ", _HYPHEN.sub("", text))
    # Markup hides sentence ends, so sentences are split again after it is taken out.
    result = (one for part in sentences(flowing) for one in sentences(flat(part)))
    return [Sentence(part, number) for number, part in enumerate(result) if _is_clear(part)]


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
        and not markers(part)
    )
