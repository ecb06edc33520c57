"""Bank accounts (IBAN) and national identity numbers: a shape, and the check digits that belong to it.

Where a number has no check digit, or one that a number in eleven passes by chance and no writing of its own, the word before
it must name it (`SSN 270-90-4452`, `PESEL: 63121307649`).
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from evergold.redact import check_digits as check
from evergold.redact.folding import Folded, byte_pattern, matches
from evergold.redact.spans import PrivateSpan

COUNTRIES = (  # what follows the check digits, as in the registry of SWIFT: n digits, a letters, c either
    "AD8n12c AE19n AL8n16c AT16n AZ4a20c BA16n BE12n BG4a6n8c BH4a14c BR23n1a1c BY4c4n16c CH5n12c CR18n CY8n16c CZ20n "
    "DE18n DK14n DO4c20n EE16n EG25n ES20n FI14n FO14n FR10n11c2n GB4a14n GE2a16n GI4a15c GL14n GR7n16c GT4c20c HR17n "
    "HU24n IE4a14n IL19n IQ4a15n IS22n IT1a10n12c JO4a4n18c KW4a22c KZ3n13c LB4n20c LI5n12c LT16n LU3n13c LV4a13c "
    "MC10n11c2n MD2c18c ME18n MK3n10c2n MR23n MT4a5n18c MU4a19n3a NL4a10n NO11n PK4a16c PL24n PS4a21c PT21n QA4a21c "
    "RO4a16c RS18n SA2n18c SC4a20n3a SE20n SI15n SK20n SM1a10n12c TN20n TR6n16c UA6n19c VA18n VG4a16n XK16n"
)
GAPS = b" \xa0-"
CHARACTERS = {"n": "[0-9]", "a": "[A-Z]", "c": "[A-Z0-9]"}


def _account(country: str) -> bytes:
    """A pattern of the account numbers of a country, with single gaps anywhere behind its name and check digits."""
    parts = re.findall("([0-9]+)([nac])", country[2:])
    rest = "".join(f"(?:[ \\xa0-]?{CHARACTERS[kind]}){{{count}}}" for count, kind in parts)
    return f"{country[:2]}[0-9]{{2}}{rest}".encode()


IBAN = byte_pattern(rb"(?i)(?:\b|\\[nrt])(" + b"|".join(map(_account, COUNTRIES.split())) + b")")


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
    """Find international bank account numbers by what their country writes and their check digits."""
    data, position = folded.data, 0
    while spans := next(matches(IBAN, data, position), None):
        start, end = spans[1]
        number = data[start:end].upper().translate(None, GAPS).decode("latin-1")
        private = check.iban(number) and not data[end : end + 1].isalnum()
        if private:
            yield PrivateSpan("IBAN", start, end)
        # A failed check may hide a true number that begins inside the match; four characters are country and check
        # digits.
        position = end if private else start + 4


def identities_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find national identity numbers."""
    for spans in matches(ANY_SHAPE, folded.data):
        shape = 1
        while spans[shape][0] < 0:
            shape += 1
        start, end = spans[shape]
        if SHAPES[shape - 1].holds(folded.flat[start:end]):
            yield PrivateSpan("ID", start, end)
    # Folding makes every Devanagari letter \x80, so the pattern cannot hold the word itself.
    if "आधार" in folded.text:
        for _, (start, end) in matches(IN_DEVANAGARI, folded.data):
            if check.indian(folded.flat[start:end]):
                yield PrivateSpan("ID", start, end)
