"""The check digits of bank accounts and national identity numbers, each by the rule of its issuer."""

SPANISH = "TRWAGMYFPDXBNJZSQVHLCKE"
ITALIAN_VALUES = "1 0 5 7 9 13 15 17 19 21 1 0 5 7 9 13 15 17 19 21 2 4 18 20 11 3 6 8 12 14 16 10 22 25 24 23"
ITALIAN_ODD = dict(
    zip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", (int(value) for value in ITALIAN_VALUES.split()), strict=True)
)
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
    return (
        sum(digit * weight for digit, weight in zip(digits_of(written), (9, 8, 7, 6, 5, 4, 3, 2, -1), strict=True)) % 11
        == 0
    )


def polish(written: str) -> bool:
    """PESEL: the weighted sum ends in 0, and the number begins with a date."""
    digits = digits_of(written)
    # PESEL adds 20, 40, 60 or 80 to the month for other centuries.
    dated = 1 <= (digits[2] * 10 + digits[3]) % 20 <= 12 and 1 <= digits[4] * 10 + digits[5] <= 31
    return dated and sum(d * w for d, w in zip(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1), strict=True)) % 10 == 0


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
    """Aadhaar: Verhoeff's check."""
    state = 0
    for at, digit in enumerate(reversed(digits_of(written))):
        state = int(VERHOEFF[state][int(VERHOEFF_TURNS[at % 8][digit])])
    return state == 0


def mexican(written: str) -> bool:
    """CURP: weights 18 to 2, by 10."""
    total = sum(CURP.index(letter) * (18 - at) for at, letter in enumerate(written[:17]))
    return (10 - total % 10) % 10 == int(written[17])
