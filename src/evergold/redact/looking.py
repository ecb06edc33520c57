"""Where in a text something private is, so that many texts can be looked at as one and only those that hold any be redacted.

Every text that is stored is looked at, and nearly all of them hold nothing. So the look asks for the little that every
private thing has (an @, many digits close together, a long run without a break, a `:` or `=` behind the end of a telling
word), over the whole text at once as arrays, and asks the exact patterns only there.
"""

import re
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from evergold.redact.emails import is_address_at
from evergold.redact.numbers import SEPARATORS, numbers_in
from evergold.redact.patterns import ASSIGNED, BASIC, BEARER, PRIVATE_KEY, TOKEN_HEADS, TOKENS, URL_LOGIN, Pattern

Codes = NDArray[np.uint8]
Places = NDArray[np.intp]

TOKEN_RUN = 16  # the shortest secret is a run of this many characters
BLOCK = 4  # a run of so many fills three aligned blocks of this size
LOWEST = ord("+")  # no secret has a character below it, nor a comma or a question mark, which also stands for non-ASCII
UNBROKEN = re.compile(rb"[^\x00-*,?]*")
BLANKS = frozenset(b" \t\r\n\x0b\x0c\x1c\x1d\x1e\x1f?")  # a blank that is not ASCII is a question mark here
RUN_BYTES = frozenset(range(LOWEST, 128)) - frozenset(b",?")
BEARER_BEFORE, KEY_BEFORE, LOGIN_BEFORE = 24, 40, 220
KEY_AFTER, VALUE_AFTER = 20_000, 200
KEY = b"PRIVATE KEY"


def _table(members: Iterable[int], size: int = 256) -> NDArray[np.bool_]:
    table = np.zeros(size, np.bool_)
    table[list(members)] = True
    return table


BETWEEN = _table(b" \t\r\n\x0b\x0c\x1c\x1d\x1e\x1f\"'\\?")  # may stand between a telling word and its sign
TELLING = _table((int.from_bytes(pair, "big") for pair in (b"rd", b"wd", b"et", b"ey", b"en")), 1 << 16)
LAST_OF_HEADER = int.from_bytes(b"on", "big")  # of `authorization`
MOST_BETWEEN = 5
LONGEST_WORD = len("secret_access_key")
MOST_TRIES = 1000  # after so many hints in vain the whole text is redacted in one go, which is cheaper
DIGITS = 8  # the fewest of a phone number
DAY_LENGTH = len("2026-01-02")
SEPARATOR = _table(SEPARATORS)


def suspicious(text: str) -> Iterator[int]:
    """Places at which something private stands, or may."""
    data = text.encode("ascii", "replace")  # so each character keeps its place
    codes: Codes = np.frombuffer(data, np.uint8)
    yield from _tokens(text, data, codes)
    yield from _assigned(text, codes)
    yield from _keys(text, data)
    yield from _addresses(text, data)
    yield from _numbers(text, codes)


def _tokens(text: str, data: bytes, codes: Codes) -> Iterator[int]:
    """Secrets that are a run of many characters without a break."""
    runs = list(_runs(data, codes))
    told = "\n".join([text[start:end] for start, end in runs])
    headed = any(map(told.__contains__, TOKEN_HEADS))
    for start, end in runs:
        borne = start and data[start - 1] in BLANKS and _is_borne(text, start, end)
        if borne or (headed and TOKENS.regex.search(text, start, end)):
            yield start


def _runs(data: bytes, codes: Codes) -> Iterator[tuple[int, int]]:
    """Where there are so many characters without a break: such a run fills three blocks of four, one after the other."""
    breaks = codes < LOWEST
    breaks |= codes == ord(",")
    breaks |= codes == ord("?")
    filled = breaks[: len(breaks) // BLOCK * BLOCK].view(np.uint32) == 0
    end = 0
    for block in np.flatnonzero(filled[:-2] & filled[1:-1] & filled[2:]).tolist():
        start = block * BLOCK
        if start >= end:
            end = UNBROKEN.match(data, start).end()  # type: ignore[union-attr]  # it also matches nothing
            while start and data[start - 1] in RUN_BYTES:
                start -= 1
            if end - start >= TOKEN_RUN:
                yield start, end


def _is_borne(text: str, start: int, end: int) -> bool:
    """Whether the run stands behind `bearer`."""
    before = max(0, start - BEARER_BEFORE)
    return (
        text[start - 1 : start].isspace()
        and "bearer" in text[before:start].lower()
        and BEARER.regex.search(text, before, end) is not None
    )


def _assigned(text: str, codes: Codes) -> Iterator[int]:
    """`password=…` and its like, found from the sign backwards: the word before it must end as one of the telling words, or as
    `authorization`."""
    ends: Places = np.flatnonzero((codes == ord(":")) | (codes == ord("="))) - 1
    if not len(ends):
        return
    for _ in range(MOST_BETWEEN):
        ends = ends - (BETWEEN[codes[ends]] & (ends > 0))
    ends = ends[ends > 0]
    folded = (codes[ends - 1] | 32).astype(np.uint16) << 8 | codes[ends] | 32
    yield from _signed(text, ends[TELLING[folded]], ASSIGNED)
    yield from _signed(text, ends[(folded == LAST_OF_HEADER) & ((codes[ends - 2] | 32) == ord("i"))], BASIC)


def _signed(text: str, ends: Places, pattern: Pattern) -> Iterator[int]:
    """The ends of words at which the pattern, which begins with such a word, is found."""
    for tries, end in enumerate(ends.tolist()):
        if tries > MOST_TRIES or pattern.regex.search(text, max(0, end - LONGEST_WORD), end + VALUE_AFTER):
            yield end
            if tries > MOST_TRIES:
                return


def _keys(text: str, data: bytes) -> Iterator[int]:
    for place in _places(data, KEY):
        if PRIVATE_KEY.regex.search(text, max(0, place - KEY_BEFORE), place + KEY_AFTER):
            yield place


def _addresses(text: str, data: bytes) -> Iterator[int]:
    """An @ is in every e-mail address, and in every URL that carries a password."""
    for tries, place in enumerate(_places(data, b"@")):
        if (
            tries > MOST_TRIES
            or is_address_at(text, place)
            or URL_LOGIN.regex.search(text, max(0, place - LOGIN_BEFORE), place + 1)
        ):
            yield place
            if tries > MOST_TRIES:
                return


def _places(data: bytes, sought: bytes) -> Iterator[int]:
    place = data.find(sought)
    while place >= 0:
        yield place
        place = data.find(sought, place + len(sought))


def _numbers(text: str, codes: Codes) -> Iterator[int]:
    """Telephone and card numbers: eight digits or more with at most two separators between them; days are told apart here."""
    digits: Places = np.flatnonzero((codes - np.uint8(ord("0"))) < 10)
    if len(digits) < DIGITS:
        return
    gaps = np.diff(digits)
    first, second = (SEPARATOR[codes.take(digits[:-1] + step, mode="clip")] for step in (1, 2))
    cuts = np.flatnonzero(~((gaps == 1) | first & ((gaps == 2) | (gaps == 3) & second)))
    runs = np.stack((np.append(0, cuts + 1), np.append(cuts, len(digits) - 1)))
    starts, ends = digits[runs[:, runs[1] - runs[0] >= DIGITS - 1]]
    days = (ends - starts == DAY_LENGTH - 1) & np.all(
        [codes.take(starts + at, mode="clip") == ord("-") for at in (4, 7)], 0
    )
    for start, end in np.stack((starts, ends), 1)[~days].tolist():
        for number in numbers_in(text, start, end + 1):
            yield number.start
