"""Card numbers: the check digit alone lets one id in ten pass, so issuer, length and way of writing must fit as well."""

import re

from evergold.redact.check_digits import luhn
from evergold.redact.folding import byte_pattern, holds

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
