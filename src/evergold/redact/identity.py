"""Bank accounts (IBAN) and national identity numbers: a shape, and check digits by the rule of its issuer.

Where a number has no check digit, or one that a number in eleven passes by chance and no writing of its own, the word before
it must name it (`SSN 270-90-4452`, `PESEL: 63121307649`).
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from evergold.redact.spans import Folded, PrivateSpan, byte_pattern, matches

SPANISH = "TRWAGMYFPDXBNJZSQVHLCKE"
ITALIAN_VALUES = "1 0 5 7 9 13 15 17 19 21 1 0 5 7 9 13 15 17 19 21 2 4 18 20 11 3 6 8 12 14 16 10 22 25 24 23"
ITALIAN_ODD = dict(zip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", map(int, ITALIAN_VALUES.split()), strict=True))
# IBAN: A is 10, Z is 35.
AS_NUMBERS = {ord(letter): str(int(letter, 36)) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
# Luhn: the digit sum of twice each digit (7 → 14 → 5).
DOUBLED = str.maketrans("0123456789", "0246813579")
# Verhoeff: the multiplication of the dihedral group D5, row by row, and the permutation for each position.
VERHOEFF = (
    *("0123456789", "1234067895", "2340178956", "3401289567", "4012395678"),
    *("5987604321", "6598710432", "7659821043", "8765932104", "9876543210"),
)
VERHOEFF_TURNS = (
    *("0123456789", "1576283094", "5803796142", "8916043527"),
    *("9453126870", "4286573901", "2793806415", "7046913258"),
)
CURP = "0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ"
# Prefixes that HMRC never gives out.
NO_NINO = ("BG", "GB", "NK", "KN", "TN", "NT", "ZZ")


def digits_of(written: str) -> list[int]:
    """The digits of a number, without what separates them."""
    return [int(character) for character in written if "0" <= character <= "9"]


def weigh(digits: list[int], weights: tuple[int, ...]) -> int:
    """The sum of digits, each times its weight."""
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=True))


def iban(letters: str) -> bool:
    """ISO 13616: the number with its head at the end, letters as two digits, leaves 1 by 97."""
    turned = letters[4:] + letters[:4]
    return turned.isascii() and int(turned.translate(AS_NUMBERS)) % 97 == 1


def luhn(written: str) -> bool:
    """Every second digit from the right counts double."""
    digits = written if written.isdecimal() else "".join(map(str, digits_of(written)))
    # Sums of ASCII codes, less the code of "0" for each digit: no loop in Python.
    codes = sum(digits[-1::-2].encode()) + sum(digits[-2::-2].translate(DOUBLED).encode())
    return (codes - ord("0") * len(digits)) % 10 == 0


def us_ssn(written: str) -> bool:
    """Numbers that were never given out have no such area, group or serial."""
    number = "".join(map(str, digits_of(written)))
    return number[:3] not in ("000", "666") and number[0] != "9" and number[3:5] != "00" and number[5:] != "0000"


NIE_DIGITS = str.maketrans("XYZ", "012")


def spanish(written: str) -> bool:
    """DNI and NIE: the letter is the remainder by 23."""
    letters = (written if written.isalnum() else "".join(filter(str.isalnum, written))).upper()
    number = letters[:-1].translate(NIE_DIGITS)
    return number.isdecimal() and SPANISH[int(number) % 23] == letters[-1]


def brazilian(written: str) -> bool:
    """CPF: two check digits by 11; eleven equal digits are none."""
    digits = digits_of(written)
    if len(set(digits)) == 1:
        return False
    return all(
        sum(digit * (size + 1 - at) for at, digit in enumerate(digits[:size])) * 10 % 11 % 10 == digits[size]
        for size in (9, 10)
    )


def british(written: str) -> bool:
    """National insurance numbers have no check digit; some prefixes are not given out."""
    return written[:2].upper() not in NO_NINO


def dutch(written: str) -> bool:
    """BSN: the weighted sum leaves nothing by 11."""
    return weigh(digits_of(written), (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def polish(written: str) -> bool:
    """PESEL: the weighted sum ends in 0, and the number begins with a date."""
    digits = digits_of(written)
    # PESEL adds 20, 40, 60 or 80 to the month for other centuries.
    dated = 1 <= (digits[2] * 10 + digits[3]) % 20 <= 12 and 1 <= digits[4] * 10 + digits[5] <= 31
    return dated and weigh(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def chinese(written: str) -> bool:
    """Resident identity: a date in the middle and a check character by 11."""
    month, day = int(written[10:12]), int(written[12:14])
    total = sum(int(digit) * (2 ** (17 - at) % 11) for at, digit in enumerate(written[:17]))
    return 1 <= month <= 12 and 1 <= day <= 31 and "10X98765432"[total % 11] == written[17].upper()


def italian(written: str) -> bool:
    """Fiscal code: letters in odd and in even positions count differently; the sum by 26 is the last letter."""
    total = sum(
        ITALIAN_ODD[letter] if at % 2 == 0 else int(letter) if letter.isdecimal() else ord(letter) - ord("A")
        for at, letter in enumerate(written[:15])
    )
    return chr(ord("A") + total % 26) == written[15]


def french(written: str) -> bool:
    """NIR: the last two digits are 97 less the remainder of the others."""
    number = "".join(map(str, digits_of(written)))
    return int(number[13:]) == 97 - int(number[:13]) % 97


def chilean(written: str) -> bool:
    """RUT: weights 2 to 7 from the right, by 11; K is ten."""
    body, last = written.rsplit("-", 1)
    total = sum(digit * (2 + at % 6) for at, digit in enumerate(reversed(digits_of(body))))
    # 11 less the remainder is 1 to 11: ten is written K, eleven 0.
    return "0123456789K0"[11 - total % 11] == last.upper()


def swedish(written: str) -> bool:
    """Personal number: a date, and Luhn's check over all ten digits."""
    month, day = int(written[2:4]), int(written[4:6])
    # Coordination numbers of people who are not registered add 60 to the day.
    return 1 <= month <= 12 and 1 <= day % 60 <= 31 and luhn(written)


def german(written: str) -> bool:
    """Tax number: one digit stands twice or thrice among the first ten, and ISO 7064 (11, 10) gives the last."""
    digits, product = digits_of(written), 10
    if digits[0] == 0 or len(set(digits[:10])) not in (8, 9):
        return False
    for digit in digits[:10]:
        product = ((digit + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == digits[10]


def indian(written: str) -> bool:
    """Aadhaar: Verhoeff's"""
    state = 0
    for at, digit in enumerate(reversed(digits_of(written))):
        state = int(VERHOEFF[state][int(VERHOEFF_TURNS[at % 8][digit])])
    return state == 0


def mexican(written: str) -> bool:
    """CURP: weights 18 to 2, by 10."""
    total = sum(CURP.index(letter) * (18 - at) for at, letter in enumerate(written[:17]))
    return (10 - total % 10) % 10 == int(written[17])


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


def _is_named(name: str, words: bytes, pattern: bytes, holds: Callable[[str], bool]) -> Shape:
    """A number that counts only behind its name, with at most a few short words between."""
    blank = rb"[^0-9A-Za-z\n]"
    word = rb"(?:(?:no|nr|n|n[\xba\xb0]|num|number|n\xfamero|is|es|\xe9|est|ist|:|=)" + blank + rb"{1,3})"
    between = blank + rb"{0,4}" + word + rb"{0,3}" + blank + rb"{0,3}"
    return Shape(name, rb"(?i:\b(?:" + words + rb")" + between + rb"\b(" + pattern + rb")\b)", holds)


SHAPES = (
    _is_named(
        "passport",
        rb"passport|pasaporte|passaport[eo]|passeport|reisepass(?:nummer)?",
        rb"[a-z0-9]{7,9}|[a-z]{0,3}[0-9]{6,9}",
        lambda written: len(digits_of(written)) >= 4 and len(set(digits_of(written))) > 1,
    ),
    _is_named(
        "us-ssn", rb"ssn|social security(?: card)?|social|soc sec", rb"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}", us_ssn
    ),
    _shape("es-dni", rb"[0-9]{8}-?[A-Z]", spanish),
    _is_named("es-dni", rb"dni|nif|nie", rb"[0-9xyz][0-9]{7}[ -]?[a-z]", spanish),
    _shape("es-nie", rb"[XYZ]-?[0-9]{7}-?[A-Z]", spanish),
    _shape("br-cpf", rb"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}", brazilian),
    _is_named("br-cpf", rb"cpf", rb"[0-9]{11}", brazilian),
    _shape("gb-nino", rb"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] [0-9]{2} [0-9]{2} [0-9]{2} [A-D]", british),
    _is_named(
        "gb-nino",
        rb"nino|ni|national insurance",
        rb"[a-ceghj-pr-tw-z][a-ceghj-npr-tw-z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[a-d]",
        british,
    ),
    _is_named("nl-bsn", rb"bsn|burgerservicenummer|sofinummer", rb"[0-9]{9}", dutch),
    _is_named("pl-pesel", rb"pesel", rb"[0-9]{11}", polish),
    _shape("cn-id", rb"[1-9][0-9]{5}(?:19|20)[0-9]{9}[0-9Xx]", chinese),
    _shape("it-fiscal-code", rb"[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z]", italian),
    _shape("fr-nir", rb"[12] [0-9]{2} [0-9]{2} [0-9]{2} [0-9]{3} [0-9]{3} [0-9]{2}", french),
    _is_named("fr-nir", rb"nir|s\xe9cu(?:rit\xe9 sociale)?|insee", rb"[12][0-9]{14}", french),
    _shape("cl-rut", rb"[0-9]{1,2}\.[0-9]{3}\.[0-9]{3}-[0-9Kk]", chilean),
    _is_named("ca-sin", rb"sin|social insurance", rb"[0-9]{3}[- ]?[0-9]{3}[- ]?[0-9]{3}", luhn),
    _shape("se-personnummer", rb"[0-9]{6}[-+][0-9]{4}", swedish),
    _is_named("de-tax-id", rb"steuer-?id(?:nr)?|idnr|steuer(?:liche )?identifikationsnummer", rb"[0-9]{11}", german),
    _is_named("in-aadhaar", rb"aadhaar|aadhar|uidai", rb"[2-9][0-9]{3}[ -]?[0-9]{4}[ -]?[0-9]{4}", indian),
    _shape("mx-curp", rb"[A-Z]{4}[0-9]{6}[HMX][A-Z]{5}[A-Z0-9][0-9]", mexican),
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
        private = iban(number) and not data[end : end + 1].isalnum()
        if private:
            yield PrivateSpan("IBAN", start, end)
        # A failed check may hide a true number that begins inside the match; four characters are country and check digits.
        position = end if private else start + 4


def identities_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find national identity numbers."""
    for spans in matches(ANY_SHAPE, folded.data):
        shape, (start, end) = next((shape, at) for shape, at in zip(SHAPES, spans[1:], strict=True) if at[0] >= 0)
        if shape.holds(folded.flat[start:end]):
            yield PrivateSpan("ID", start, end)
    # Folding makes every Devanagari letter \x80, so the pattern cannot hold the word itself.
    if "आधार" in folded.text:
        for _, (start, end) in matches(IN_DEVANAGARI, folded.data):
            if indian(folded.flat[start:end]):
                yield PrivateSpan("ID", start, end)
