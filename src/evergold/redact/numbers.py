"""Numbers that belong to a person: runs of digits are found here, `cards` and `phones` say what they are."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from evergold.redact.cards import card_in
from evergold.redact.phones import phone_in

TYPESET = "\u00a0\u2009\u202f\u2010-\u2013"  # the spaces and hyphens of typeset text
NUMBER_RUN = re.compile(rf"[0-9](?:[ ()./{TYPESET}-]{{0,2}}[0-9]){{7,}}")
SEPARATORS = b" ()./-?"  # the same as ASCII, where every other character is a question mark
DECIMAL = re.compile(r"[0-9]+\.[0-9]+")
GROUP = re.compile(r"[0-9]+")
UNSPACED_SCRIPTS = "\u0e00"
ESCAPE = re.compile(r"\\(?:[nrtbf]|u[0-9a-fA-F]{0,4})\Z")


class Found(NamedTuple):
    """A card or telephone number, and where it stands."""

    kind: str
    start: int
    end: int


def numbers_replaced(text: str) -> tuple[str, Counter[str]]:
    """The text with its telephone and card numbers replaced, and how many of each."""
    found: Counter[str] = Counter()
    pieces: list[str] = []
    done = 0
    for kind, start, end in numbers_in(text, 0, len(text)):
        found[kind] += 1
        pieces += [text[done:start], f"[{kind}]"]
        done = end
    return "".join([*pieces, text[done:]]), found


def numbers_in(text: str, start: int, end: int) -> Iterator[Found]:
    """The telephone and card numbers of a part of the text that begins and ends between two runs of digits."""
    for match in NUMBER_RUN.finditer(text, start, end):
        begin, last = _whole_groups(text, *match.span())
        if DECIMAL.fullmatch(text, begin, last):
            continue
        while card := card_in(text, begin, last):
            yield from _phone(text, begin, card[0])
            yield Found("CARD", *card)
            begin = card[1]
        yield from _phone(text, begin, last)


def _phone(text: str, start: int, end: int) -> Iterator[Found]:
    groups = [match.span() for match in GROUP.finditer(text, start, end)]
    if groups and (phone := phone_in(text, groups[0][0], groups[-1][1])):
        yield Found("PHONE", *phone)


def _whole_groups(text: str, start: int, end: int) -> tuple[int, int]:
    """The run without a first or last group of digits that is part of a word, such as the 9 of `\\u00e9` or of `9th`."""
    groups = [match.span() for match in GROUP.finditer(text, start, end)]
    if _is_of_word(text[start - 1 : start]):
        escape = ESCAPE.search(text, max(0, start - 6), start)
        begin = start + 6 - len(escape[0]) if escape and escape[0][1] == "u" else start
        groups[:1] = [(begin, groups[0][1])] if escape and begin < groups[0][1] else []
    if _is_of_word(text[end : end + 1]) and groups:
        del groups[-1]
    return (groups[0][0], groups[-1][1]) if groups else (end, end)


def _is_of_word(character: str) -> bool:
    """Whether digits beside it belong to its word; in scripts without spaces they do not."""
    return character.isalnum() and character < UNSPACED_SCRIPTS
