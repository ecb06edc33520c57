"""Bank accounts (IBAN) and national identity numbers: a shape, and the check digits that belong to it.

Where a number has no check digit, or one that a number in eleven passes by chance and no writing of its own, the word before
it must name it (`SSN 270-90-4452`, `PESEL: 63121307649`).
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from evergold.redact import check_digits as check
from evergold.redact.folding import Folded, byte_pattern, matches
from evergold.redact.spans import PrivateSpan

COUNTRIES = (  # with the number of characters of their account numbers
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 "
    "FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LI21 LT20 LU20 "
    "LV21 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 "
    "SM27 TN24 TR26 UA29 VA22 VG24 XK20"
)
GAPS = b" \xa0-"
LENGTHS = {word[:2]: int(word[2:]) for word in COUNTRIES.split()}
IBAN = byte_pattern(
    rb"(?i)(?:\b|\\[nrt])((?:"
    + "|".join(LENGTHS).encode()
    + rb")[0-9]{2}[ \xa0-]?[a-z0-9]{4}(?:[ \xa0-]?[a-z0-9]){7,26})"
)


class Shape(NamedTuple):
    """A writing of an identity number, and what checks it. The one group of the pattern is the number."""

    name: str
    pattern: bytes
    holds: Callable[[str], bool]


def _shape(name: str, pattern: bytes, holds: Callable[[str], bool]) -> Shape:
    return Shape(name, rb"(?:\b|\\[nrt])(" + pattern + rb")\b", holds)


def _named(name: str, words: bytes, pattern: bytes, holds: Callable[[str], bool]) -> Shape:
    """A number that counts only behind its name, with at most a few short words between."""
    blank = rb"[^0-9A-Za-z\n]"
    word = rb"(?:(?:no|nr|num|number|n\xfamero|is|es|\xe9|ist|:|=)" + blank + rb"{1,3})"
    between = blank + rb"{0,4}" + word + rb"{0,3}" + blank + rb"{0,3}"
    return Shape(name, rb"(?i:\b(?:" + words + rb")" + between + rb"\b(" + pattern + rb")\b)", holds)


SHAPES = (
    _named(
        "us-ssn", rb"ssn|social security(?: card)?|social|soc sec", rb"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}", check.us_ssn
    ),
    _shape("es-dni", rb"[0-9]{8}-?[A-Z]", check.spanish),
    _named("es-dni", rb"dni|nif|nie", rb"[0-9xyz][0-9]{7}[ -]?[a-z]", check.spanish),
    _shape("es-nie", rb"[XYZ]-?[0-9]{7}-?[A-Z]", check.spanish),
    _shape("br-cpf", rb"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}", check.brazilian),
    _named("br-cpf", rb"cpf", rb"[0-9]{11}", check.brazilian),
    _shape("gb-nino", rb"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] [0-9]{2} [0-9]{2} [0-9]{2} [A-D]", check.british),
    _named(
        "gb-nino",
        rb"nino|ni|national insurance",
        rb"[a-ceghj-pr-tw-z][a-ceghj-npr-tw-z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[a-d]",
        check.british,
    ),
    _named("nl-bsn", rb"bsn|burgerservicenummer|sofinummer", rb"[0-9]{9}", check.dutch),
    _named("pl-pesel", rb"pesel", rb"[0-9]{11}", check.polish),
    _shape("cn-id", rb"[1-9][0-9]{5}(?:19|20)[0-9]{9}[0-9Xx]", check.chinese),
    _shape("it-fiscal-code", rb"[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z]", check.italian),
    _shape("fr-nir", rb"[12] [0-9]{2} [0-9]{2} [0-9]{2} [0-9]{3} [0-9]{3} [0-9]{2}", check.french),
    _named("fr-nir", rb"nir|s\xe9cu(?:rit\xe9 sociale)?|insee", rb"[12][0-9]{14}", check.french),
    _shape("cl-rut", rb"[0-9]{1,2}\.[0-9]{3}\.[0-9]{3}-[0-9Kk]", check.chilean),
    _named("ca-sin", rb"sin|social insurance", rb"[0-9]{3}[- ]?[0-9]{3}[- ]?[0-9]{3}", check.luhn),
    _shape("se-personnummer", rb"[0-9]{6}[-+][0-9]{4}", check.swedish),
    _named("de-tax-id", rb"steuer-?id(?:nr)?|idnr|steuer(?:liche )?identifikationsnummer", rb"[0-9]{11}", check.german),
    _named("in-aadhaar", rb"aadhaar|aadhar|uidai", rb"[2-9][0-9]{3}[ -]?[0-9]{4}[ -]?[0-9]{4}", check.indian),
    _shape("mx-curp", rb"[A-Z]{4}[0-9]{6}[HMX][A-Z]{5}[A-Z0-9][0-9]", check.mexican),
)
IN_DEVANAGARI = byte_pattern(rb"\x80{3,6} ([2-9][0-9]{3} [0-9]{4} [0-9]{4})\b")
ANY_SHAPE = byte_pattern(rb"|".join(shape.pattern for shape in SHAPES))
PATTERNS = (IBAN, ANY_SHAPE, IN_DEVANAGARI)


def ibans_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find international bank account numbers by the length of their country and their check digits."""
    data, position = folded.data, 0
    while spans := next(matches(IBAN, data, position), None):
        start, last = spans[1]
        end = _iban_end(data, start, last)
        if end is not None:
            yield PrivateSpan("IBAN", start, end)
        position = end or start + 4


def _iban_end(data: bytes, start: int, last: int) -> int | None:
    written = data[start:last].upper()
    length = LENGTHS.get(written[:2].decode("latin-1"))
    if length is None:
        return None
    letters = written.translate(None, GAPS)[:length]
    if len(letters) < length or not check.iban(letters.decode("latin-1")):
        return None
    end = start + length
    while len(data[start:end].translate(None, GAPS)) < length:
        end += 1
    return None if data[end : end + 1].isalnum() else end


def identities_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find national identity numbers."""
    for spans in matches(ANY_SHAPE, folded.data):
        shape = next(number for number, (start, _) in enumerate(spans) if number and start >= 0)
        start, end = spans[shape]
        if SHAPES[shape - 1].holds(folded.flat[start:end]):
            yield PrivateSpan("ID", start, end)
    if "आधार" in folded.text:
        for _, (start, end) in matches(IN_DEVANAGARI, folded.data):
            if check.indian(folded.flat[start:end]):
                yield PrivateSpan("ID", start, end)
