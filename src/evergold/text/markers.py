"""Citation markers: `[3]`, or several in one bracket (`[1, 4]`), numbered from 1 in the order of the contexts."""

import re

from evergold.text.words import WORD, sentences

_MARKER = re.compile(r"\[\s*(\d{1,6}(?:\s*[,;]\s*\d{1,6})*)\s*\]")
_FEWEST_WORDS = 3
# The lookbehind lets a search begin only at the first blank of a run: `[ \t]*` stays linear on a text of blanks.
_SPACED_MARKER = re.compile(rf"(?<![ \t])[ \t]*{_MARKER.pattern}")
_AFTER_THE_STOP = re.compile(r"([.!?])((?:\s*\[[\d,;\s]+\])+)")


def markers(text: str) -> list[int]:
    """Every number cited, in order, repeats kept."""
    return [number for _, _, numbers in marker_spans(text) for number in numbers]


def marker_spans(text: str) -> list[tuple[int, int, tuple[int, ...]]]:
    """Every marker with where it stands and the numbers in it."""
    result = _MARKER.finditer(text)
    return [(match.start(), match.end(), tuple(map(int, re.findall(r"\d+", match[1])))) for match in result]


def without_markers(text: str) -> str:
    """The text as if nothing had been cited: the space before a marker goes with it."""
    return _SPACED_MARKER.sub("", text)


def cited_sentences(text: str) -> list[str]:
    """Sentences with their markers; one written after the full stop belongs to the sentence before it."""
    return list(sentences(_AFTER_THE_STOP.sub(r"\2\1", text)))


def is_claim(part: str) -> bool:
    """A heading, a greeting or a lone word claims nothing."""
    return len(WORD.findall(without_markers(part))) >= _FEWEST_WORDS and not part.rstrip().endswith(":")
