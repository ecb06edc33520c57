"""Numbers that belong to a person: cards and, as `phones` decides, telephone numbers.

Of a card number the check digit alone lets one id in ten pass, so issuer, length and way of writing must fit as well.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from evergold.redact.identity import luhn
from evergold.redact.phones import phone_in
from evergold.redact.spans import Folded, PrivateSpan, byte_pattern, holds, matches

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


SEPARATOR_BYTES = b" ()./_\xa0\xad-"
DECIMAL = re.compile(r"[0-9]+\.[0-9]+")
ESCAPE = re.compile(r"\\(?:[nrtbf]|u[0-9a-fA-F]{0,4})\Z")
RUN = byte_pattern(rb"[0-9](?:[ ()./_\xa0\xad-]{0,3}[0-9]){7,}")
DAY = re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}")


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


def digit_runs(data: bytes) -> Iterator[tuple[int, int]]:
    """Where eight digits or more stand with at most three separators between two of them; a day such as `2026-01-02` is none."""
    for ((start, end),) in matches(RUN, data):
        if not DAY.fullmatch(data, start, end):
            yield start, end


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
