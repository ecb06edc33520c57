"""The default redactor: secrets, e-mail addresses, card, account, telephone and identity numbers become typed placeholders.

Nearly every text that is stored holds nothing private. So all patterns look at it in one pass first, which says of which
kinds anything matches; only those are sought. IP addresses are sought only where the setting
`redact.ip_addresses` asks for it.

Numbers of cards and (as `phones` decides) telephones are sought here. Of a card number the check digit alone lets one id in
ten pass, so issuer, length and way of writing must fit as well.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from ipaddress import ip_address
from typing import Any, NamedTuple

from evergold.redact import emails, identity, secrets
from evergold.redact.identity import luhn
from evergold.redact.phones import phone_in
from evergold.redact.spans import (
    Folded,
    PrivateSpan,
    byte_pattern,
    byte_patterns,
    fold_digits,
    holds,
    matches,
    replace_spans,
    without_overlaps,
)

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
    for begin in BEGINNING.finditer(text, start, end) if end - start >= FEWEST else ():
        for writing in WRITINGS:
            written = writing.match(text, begin.start(), end)
            if not written or not _stands_alone(text, *written.span()):
                continue
            if is_card(written[0]) and not _is_labelled(text, written):
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
    # Eight digits or more with at most three separators between two of them; a day such as `2026-01-02` is none.
    for ((start, end),) in matches(RUN, folded.data):
        if DAY.fullmatch(folded.data, start, end):
            continue
        if known and (before := bisect_right(starts, start)) and known[before - 1].end >= end:
            continue
        begin, last = _whole_groups(flat, start, end)
        if DECIMAL.fullmatch(flat, begin, last):
            continue
        many = len(folded.data[begin:last].translate(None, SEPARATOR_BYTES)) >= FEWEST
        # A run may hold several numbers, such as a telephone number and a card: each piece between cards is asked again.
        while many and (card := card_in(flat, begin, last)):
            yield from _phone(folded, begin, card[0])
            yield PrivateSpan("CARD", *card)
            begin = card[1]
        yield from _phone(folded, begin, last)


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


BYTE = rb"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
V4 = byte_pattern(rb"\b" + BYTE + rb"(?:\." + BYTE + rb"){3}\b")
V6 = byte_pattern(rb"[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{0,40}:[0-9A-Fa-f.:]{0,20}")
WORD = frozenset(byte for byte in range(128) if chr(byte).isalnum())
PLAIN_BEFORE = frozenset(b" ,;([")


def ip_addresses_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find addresses of hosts other than this one (`127.0.0.1`, `::1`, `0.0.0.0`)."""
    data = folded.data
    if b":" in data:
        for ((start, last),) in matches(V6, data):
            end = start + len(data[start:last].rstrip(b"."))
            numbers = data[start:end].replace(b":", b"")
            # `x[1::2]` is a slice of a sequence.
            is_slice = numbers.isdigit() and data[start - 1 : start] == b"[" and data[start - 2 : start - 1].isalnum()
            host = not is_slice and _stands_apart(data, start, end)
            if host and _is_other_host(data[start:end].decode("ascii")):
                yield PrivateSpan("IP", start, end)
    for ((start, end),) in matches(V4, data):
        written = data[start:end]
        if not written.startswith(b"127.") and written != b"0.0.0.0" and _stands_apart(data, start, end):
            yield PrivateSpan("IP", start, end)


def _stands_apart(data: bytes, start: int, end: int) -> bool:
    """Whether it is no part of a longer number, name or version."""
    after = data[end : end + 2]
    if after and (after[0] in WORD or (after[0] in b".-_" and after[1:].isalnum())):
        return False
    before = data[max(0, start - 9) : start]
    if not before or before[-1] in PLAIN_BEFORE:
        return not before.lower().endswith((b"version ", b"snmp "))
    if before[-1] in WORD or before[-1] in b"._-" or before.endswith(b"=="):
        return False
    # `//10.0.0.1` is a URL; `1/10.0.0.1` and `lib/10.0.0.1` are parts of a path or a version.
    return before[-1:] != b"/" or before[-2:-1] == b"/"


def _is_other_host(written: str) -> bool:
    """Whether it is an address of version 6, and not one of this host."""
    try:
        address = ip_address(written)
    except ValueError:
        return False
    # `a::1` and `::2` may be a slice or a name in code: a host has at least two digits.
    return not (address.is_loopback or address.is_unspecified) and sum(map(str.isdigit, written)) > 1


Find = Callable[[Folded], Iterable[PrivateSpan]]


class Kind(NamedTuple):
    """Something private: `hint` matches in every text that holds it."""

    hint: Any
    find: Find


def _kind(find: Find, *patterns: Any) -> Kind:
    return Kind(byte_pattern(b"|".join(b"(?:" + pattern.pattern + b")" for pattern in patterns)), find)


KINDS = (  # in order of priority: of two spans that overlap the earlier one is kept
    _kind(secrets.private_keys_in, secrets.KEY_BEGIN),
    _kind(secrets.tokens_in, secrets.TOKENS, secrets.JSON_WEB_TOKEN),
    _kind(secrets.headers_in, secrets.BEARER, secrets.BASIC),
    _kind(secrets.cookies_in, secrets.COOKIE),
    _kind(secrets.assigned_in, *secrets.NAMES_AND_SIGNS),
    _kind(secrets.on_command_lines, secrets.PROGRAMS),
    _kind(secrets.card_codes_in, *secrets.CARD_CODES),
    _kind(secrets.logins_in, secrets.URL_LOGIN),
    _kind(emails.addresses_in, emails.PLAIN),
    _kind(emails.disguised_in, *emails.DISGUISES),
    _kind(identity.ibans_in, identity.IBAN),
    _kind(identity.identities_in, identity.ANY_SHAPE, identity.IN_DEVANAGARI),
)
IP_ADDRESSES = _kind(ip_addresses_in, V4, V6)
HINTS = byte_patterns(kind.hint.pattern for kind in KINDS)


class DefaultRedactor:
    """Finds what has a shape, not names or addresses of people. Takes time linear in the text, whatever the text."""

    def __init__(self, *, ip_addresses: bool = False) -> None:
        self._ip_addresses = ip_addresses

    def redact(self, text: str) -> tuple[str, Counter[str]]:
        """Replace what is private by `[EMAIL]`, `[PHONE]`, `[CARD]`, `[SECRET]` and so on, and count the kinds."""
        spans = self._spans(fold_digits(text))
        return replace_spans(text, spans) if spans else (text, Counter())

    def suspicious(self, text: str) -> Iterator[int]:
        """Where something private stands, so that many texts can be searched as one."""
        return (span.start for span in self._spans(fold_digits(text)))

    def _spans(self, one: Folded) -> list[PrivateSpan]:
        # `Match` gives None, not an empty list, when nothing matches; sorting restores the order of priority.
        kinds = [KINDS[number].find for number in sorted(HINTS.Match(one.data) or ())]
        if self._ip_addresses and holds(IP_ADDRESSES.hint, one.data):
            kinds.append(IP_ADDRESSES.find)
        known = without_overlaps(find(one) for find in kinds) if kinds else []
        # Numbers come last: digits inside a token, an address or an IBAN belong to that.
        digits = list(numbers_in(one, known))
        return without_overlaps((known, digits)) if digits else known
