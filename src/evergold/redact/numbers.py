"""Numbers that belong to a person: runs of digits are found here, `cards` and `phones` decide what they are.

Card numbers: the check digit alone lets one id in ten pass, so issuer, length and way of writing must fit as well.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from evergold.redact.identity import luhn
from evergold.redact.phones import phone_in
from evergold.redact.spans import Folded, PrivateSpan, byte_pattern, holds

ISSUERS = re.compile(
    r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})"  # Visa
    r"|5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}"  # Mastercard
    r"|3[47][0-9]{13}"  # American Express
    r"|3(?:0[0-5]|095|[689][0-9])[0-9]{10,11}"  # Diners Club
    r"|(?:6011|64[4-9][0-9]|65[0-9]{2})[0-9]{12,15}"  # Discover
    r"|35(?:2[89]|[3-8][0-9])[0-9]{12,15}"  # JCB
    r"|62[0-9]{14,17}"  # UnionPay
    r"|(?:5018|5020|5038|5893|6304|6759|676[1-3])[0-9]{9,15}"  # Maestro
    r"|220[0-4][0-9]{12,15}"  # Mir
    r"|(?:508[5-9]|60[0-9]{2}|8[12][0-9]{2})[0-9]{12}"  # RuPay
)
GAP = r"(?: {1,2}| ?[-\u00ad./_] ?|\u00a0)"  # in folded text: \u00a0 is any typographic blank, \u00ad any dash
WRITINGS = tuple(
    re.compile(writing)
    for writing in (
        # The same gap must separate all groups (\1): mixed gaps are a list of numbers.
        r"[0-9]{13,19}",
        rf"[0-9]{{4}}({GAP})[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{1,3}}",
        rf"[0-9]{{4}}({GAP})[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{1,4}}",
        rf"[0-9]{{4}}({GAP})[0-9]{{6}}\1[0-9]{{4,5}}",
    )
)
# Every issuer above begins with one of these digits; other positions are never tried.
BEGINNING = re.compile(r"(?<![0-9])(?=[2-6]|81|82)")
FEWEST = 13
GROUP = re.compile(r"[0-9]+")
# Text right before a number that names it as an article, device or record id.
LABELLED_ID = byte_pattern(
    rb"(?i)(?:\b(?:ean|gtin|upc|isbn|imei|iccid|barcode|snowflake)|(?:[a-z]_|[a-z][ -]|\b)id)[\"']?\s*[:=#]?\s*[\"']?\n?\z"
)
CALLED_CARD = re.compile(
    r"(?i)(?:card|visa|tarjeta|karte|carte|carta|cart\xe3o|kaart|pan|cc|credit)[a-z_ .#:=\"']{0,12}$"
)
NEAR = 24


def card_in(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Where in a run of digit groups a card number stands: an expiry date or another number may be beside it."""
    if end - start < FEWEST:
        return None
    for begin in BEGINNING.finditer(text, start, end):
        for writing in WRITINGS:
            written = writing.match(text, begin.start(), end)
            if (
                written
                and _stands_alone(text, *written.span())
                and is_card(written[0])
                and not _is_labelled(text, written)
            ):
                return written.span()
    return None


def _is_labelled(text: str, written: re.Match[str]) -> bool:
    """Whether bare digits are another kind of number by the word before them, or by too few digits without one."""
    start = written.start()
    if not written[0].isdecimal():
        return False
    if len(written[0]) == FEWEST and not CALLED_CARD.search(text, max(0, start - NEAR), start):
        return True  # cards of 13 digits are hardly in use; order and article numbers of 13 digits are everywhere
    return holds(LABELLED_ID, text[max(0, start - NEAR) : start].encode("latin-1"))


def is_card(written: str) -> bool:
    """Whether the digits are those of an issuer, in number and in order, and pass the Luhn check."""
    digits = "".join(GROUP.findall(written))
    return ISSUERS.fullmatch(digits) is not None and luhn(digits)


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Not the middle of a longer number, nor the places behind a decimal point."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return not (
        after[:1].isdecimal()
        or (before[-1:] == "." and before[:1].isdecimal())
        or (after[:1] == "." and after[1:].isdecimal())
    )


SEPARATORS = " ()./_\u00a0\u00ad-"
SEPARATOR_BYTES = SEPARATORS.encode("latin-1")
MOST_SEPARATORS = 3
DIGITS = 8  # the fewest of a number that is private
DAY_LENGTH = len("2026-01-02")
DECIMAL = re.compile(r"[0-9]+\.[0-9]+")
ESCAPE = re.compile(r"\\(?:[nrtbf]|u[0-9a-fA-F]{0,4})\Z")
RUN = re.compile(rb"[0-9](?:[ ()./_\xa0\xad-]{0,3}[0-9]){7,}")
DAY = re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}")
SHORT = 2000
SEPARATOR = np.zeros(256, np.bool_)
SEPARATOR[[ord(character) for character in SEPARATORS]] = True


def numbers_in(folded: Folded, known: Sequence[PrivateSpan] = ()) -> Iterator[PrivateSpan]:
    """Find card and telephone numbers; digits that lie in a span that is `known` already are left to it."""
    flat = folded.flat
    starts = [span.start for span in known]
    for start, end in digit_runs(folded.data):
        if known and (before := bisect_right(starts, start)) and known[before - 1].end >= end:
            continue
        begin, last = _whole_groups(flat, start, end)
        if DECIMAL.fullmatch(flat, begin, last):
            continue
        many = len(folded.data[begin:last].translate(None, SEPARATOR_BYTES)) >= FEWEST
        # A run may hold several numbers, such as a telephone number and a card: each piece between cards is asked
        # again.
        while many and (card := card_in(flat, begin, last)):
            yield from _phone(folded, begin, card[0])
            yield PrivateSpan("CARD", *card)
            begin = card[1]
        yield from _phone(folded, begin, last)


def digit_runs(data: bytes) -> Iterable[tuple[int, int]]:
    """Where eight digits or more stand with at most three separators between two of them; a day such as `2026-01-02` is none.

    A long text is read as an array, which costs a fixed time more and a fraction for each character.
    """
    return _runs_of_array(data) if len(data) > SHORT else _runs_of_pattern(data)


def _runs_of_pattern(data: bytes) -> Iterator[tuple[int, int]]:
    for run in RUN.finditer(data):
        if not DAY.fullmatch(run[0]):
            yield run.span()


def _runs_of_array(data: bytes) -> list[tuple[int, int]]:
    codes: NDArray[np.uint8] = np.frombuffer(data, np.uint8)
    digits = np.flatnonzero((codes - np.uint8(ord("0"))) < 10)
    if len(digits) < DIGITS:
        return []
    gaps = np.diff(digits)
    # Only gaps of one to three characters can hold separators alone; each step looks at the next character of all of
    # them.
    near = np.flatnonzero((gaps > 1) & (gaps <= MOST_SEPARATORS + 1))
    for step in range(1, MOST_SEPARATORS + 1):
        broken = ~SEPARATOR.take(codes.take(digits.take(near) + step))
        gaps[near[broken]] = MOST_SEPARATORS + 2
        near = near[~broken]
        near = near[gaps.take(near) > step + 1]
    cuts = np.flatnonzero(gaps > MOST_SEPARATORS + 1)
    first, last = np.concatenate(([0], cuts + 1)), np.concatenate((cuts, [len(digits) - 1]))
    long = last - first >= DIGITS - 1
    starts, ends = digits[first[long]], digits[last[long]] + 1
    # A day has eight digits and is never private; leaving it out here spares the slower checks.
    days = ends - starts == DAY_LENGTH
    for at in (4, 7):
        days &= codes.take(starts + at, mode="clip") == ord("-")
    return list(zip(starts[~days].tolist(), ends[~days].tolist(), strict=True))


def _phone(folded: Folded, start: int, end: int) -> Iterator[PrivateSpan]:
    flat = folded.flat
    while start < end and not flat[start].isdigit():
        start += 1
    while end > start and not flat[end - 1].isdigit():
        end -= 1
    if start < end and (phone := phone_in(folded, start, end)):
        yield PrivateSpan("PHONE", *phone)


def _whole_groups(flat: str, start: int, end: int) -> tuple[int, int]:
    """The run without a first or last group of digits that is part of a word, such as the 9 of `\\u00e9` or of `9th`."""
    if _is_of_word(flat[start - 1 : start]):
        # An escape is at most six characters. Its hex digits may begin the run: `\u00e9612 345 678` begins with 612.
        escape = ESCAPE.search(flat, max(0, start - 6), start)
        begin = start + 6 - len(escape[0]) if escape and escape[0][1] == "u" else start
        first = GROUP.match(flat, start, end)
        assert first is not None
        if not escape or begin >= first.end():
            following = GROUP.search(flat, first.end(), end)
            begin = following.start() if following else end
        start = begin
    if _is_of_word(flat[end : end + 1]):
        while end > start and flat[end - 1].isdigit():
            end -= 1
        while end > start and not flat[end - 1].isdigit():
            end -= 1
    return start, end


def _is_of_word(character: str) -> bool:
    """Whether digits beside it belong to its word; in scripts without spaces they do not."""
    return character.isalnum() or character == "\x80"
