"""Numbers with their units, dates and times of day in English and Spanish text, compared by value.

What stands in words is written with digits first: "fifteen thousand" → "15000", "two thirds" → "0.666667", "the nineties" →
"1990 decade", "half past seven" → "7:30".
"""

import re
import unicodedata
from dataclasses import dataclass

_ONES = """zero/cero one/uno two/dos three/tres four/cuatro five/cinco six/seis seven/siete eight/ocho nine/nueve ten/diez
eleven/once twelve/doce thirteen/trece fourteen/catorce fifteen/quince sixteen/dieciseis seventeen/diecisiete
eighteen/dieciocho nineteen/diecinueve twenty/veinte"""
_TENS = "thirty/treinta forty/cuarenta fifty/cincuenta sixty/sesenta seventy/setenta eighty/ochenta ninety/noventa"
_VEINTI = "veintiuno veintidos veintitres veinticuatro veinticinco veintiseis veintisiete veintiocho veintinueve"
_HUNDREDS = "ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos"
SMALL = {
    **{word: value for value, words in enumerate(_ONES.split()) for word in words.split("/")},
    **{word: 10 * value for value, words in enumerate(_TENS.split(), start=3) for word in words.split("/")},
    **{word: value for value, word in enumerate(_VEINTI.split(), start=21)},
    **{word: 100 * value for value, word in enumerate(_HUNDREDS.split(), start=1)},
    **{word[:-2] + "as": 100 * value for value, word in enumerate(_HUNDREDS.split(), start=1) if value > 1},
    "cien": 100, "dozen": 12, "docena": 12, "un": 1, "una": 1,
}  # fmt: skip
LARGE = {"thousand": 1e3, "mil": 1e3, "million": 1e6, "millon": 1e6, "millones": 1e6, "billion": 1e9, "trillion": 1e12}
UNSURE = frozenset(("one", "uno", "una", "un", "once"))
"""Alone these are articles and adverbs more often than numbers."""
_ORDINALS = """fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth
seventeenth eighteenth nineteenth twentieth"""
ORDINALS = {"first": 1, "second": 2, "third": 3} | {word: n for n, word in enumerate(_ORDINALS.split(), start=4)}
_PARTS = """half 2 halves 2 third 3 thirds 3 quarter 4 quarters 4 fifth 5 fifths 5 tenth 10 tenths 10 mitad 2 medio 2 media 2
tercio 3 tercios 3 cuarto 4 cuartos 4 tercera_parte 3 terceras_partes 3 cuarta_parte 4 cuartas_partes 4 quinta_parte 5"""
PARTS = {
    part.replace("_", " "): int(size) for part, size in zip(_PARTS.split()[::2], _PARTS.split()[1::2], strict=True)
}
_NAMES = "|".join(sorted(PARTS, key=len, reverse=True))
_ROMAN = {"i": 1, "v": 5, "x": 10}
_DECADES = "twenties thirties forties fifties sixties seventies eighties nineties"
_DECADE = {word: 1920 + 10 * n for n, word in enumerate(_DECADES.split())}
_QUARTER_OF_A_YEAR = r"\b(first|second|third|fourth|1st|2nd|3rd|4th) quarter\b|\bq([1-4])\b"
_DAYPART = r"(?P<part>in the (?:morn|after|even)\w+|at night|de la (?:manana|tarde|noche|madrugada)|[ap]\.?\s?m\b\.?)"
_CLOCKS = (
    re.compile(rf"\b(?P<to>half past|(?:a )?quarter (?:past|to)|\d+ (?:minutes )?(?:past|to)) (?P<h>\d+)\b(?:\s*{_DAYPART})?"),
    re.compile(rf"\blas? (?P<h>\d+) (?P<to>y (?:media|cuarto|\d+)|menos (?:cuarto|\d+))\b(?:\s*{_DAYPART})?"),
    re.compile(rf"\b(?P<h>\d+)(?::(?P<m>\d\d))?(?: o'clock)? {_DAYPART}"),
    re.compile(r"\b(?P<h>\d+) o'clock\b"),
)  # fmt: skip


def with_digits(text: str) -> str:
    """The text with every number that is written in words as digits."""
    text = re.sub(_QUARTER_OF_A_YEAR, lambda m: f"{ORDINALS.get(m[1]) or (m[1] or m[2])[0]} trimester", text)
    text = re.sub(r"\bsiglo ([ivx]+)\b", lambda m: f"siglo {_roman(m[1])}", text)
    text = re.sub(r"\b(1[5-9]\d|20\d)0s\b", r"\g<1>0 decade", text)
    text = re.sub(r"['’](\d)0s\b", r"19\g<1>0 decade", text)
    text = re.sub(rf"\b({'|'.join(_DECADE)})\b", lambda m: f"{_DECADE[m[1]]} decade", text)
    text = re.sub(rf"\b({'|'.join(_ORDINALS.split())})\b(?! of\b)", lambda m: f"{ORDINALS[m[1]]}th", text)
    text = re.sub(r"\bpor cien(?:to)?\b", "%", text)
    text = re.sub(r"\bla una\b(?= (?:y|menos|de la|en punto)\b)", "la 1", re.sub(r"\blas once\b", "las 11", text))
    text = _CHAIN.sub(_read_chain, text)
    text = re.sub(r"\b(?:midnight|medianoche)\b", "0:00", re.sub(r"\b(?:noon|mediodia)\b", "12:00", text))
    for pattern in _CLOCKS:
        text = pattern.sub(_clock, text)
    # A number and a part ("2 thirds", "3 hours and a half", "half an hour") as one number.
    number = r"(\d+(?:\.\d+)?)"
    text = re.sub(rf"\b{number} and an? (half|quarter)\b", lambda m: f"{float(m[1]) + 1 / PARTS[m[2]]:g}", text)
    mixed = rf"\b(?:{number}|an?|one|una?) ([a-z]+) (?:and an?|y) (half|quarter|medi[oa]|cuarto)\b"
    text = re.sub(mixed, lambda m: f"{float(m[1] or 1) + 1 / PARTS[m[3]]:g} {m[2]}", text)
    text = re.sub(rf"\b(\d+)(?: |-)({_NAMES})\b", lambda m: f"{int(m[1]) / PARTS[m[2]]:g}", text)
    text = re.sub(rf"\b(?:an?|one|una?|la) ({_NAMES})\b", lambda m: f"{1 / PARTS[m[1]]:g}", text)
    return re.sub(r"\b(half|mitad|quarter)\b(?: an?\b| de\b)?", lambda m: f"{1 / PARTS[m[1]]:g}", text)


def _roman(numeral: str) -> int:
    values = [_ROMAN[letter] for letter in numeral]
    return sum(-v if v < max(values[i:]) else v for i, v in enumerate(values))


_WORDS = "|".join(sorted((*SMALL, "hundred"), key=len, reverse=True))
_CHAIN = re.compile(rf"\b(?:{_WORDS})\b(?:[ -](?:(?:and|y) )?(?:{_WORDS}|{'|'.join(LARGE)})\b)*")


def _read_chain(match: re.Match[str]) -> str:
    """Read words of numbers in a row; a word that cannot continue the number before it begins the next one."""
    words = re.split(r"([ -](?:(?:and|y) )?)", match.group())
    runs = [("", [words[0]])]
    for joint, word in zip(words[1::2], words[2::2], strict=True):
        if _continues(runs[-1][1][-1], word, joint.strip(" -")):
            runs[-1][1].append(word)
        else:
            runs.append((joint, [word]))
    return "".join(joint + (run[0] if run[0] in UNSURE and not run[1:] else _evaluate(run)) for joint, run in runs)


def _continues(before: str, word: str, joint: str) -> bool:
    """Whether a word continues a number: only a smaller one does ("twenty three", not "two three")."""
    if word not in SMALL:
        return not joint
    large, small = SMALL.get(before, 0), SMALL[word]
    if joint == "y":
        return large in range(30, 100, 10) and small < 10
    if before == "hundred" or before in LARGE:
        return True
    return not joint and ((large in range(20, 100, 10) and 0 < small < 10) or (large >= 100 and small < 100))


def _evaluate(words: list[str]) -> str:
    total = current = 0.0
    for word in words:
        size = LARGE.get(word, 0)
        if word == "hundred":
            current = max(1.0, current) * 100
        elif size >= 1e6:
            total, current = (total + (current or float(not total))) * size, 0.0
        elif size:
            total, current = total + max(1.0, current) * size, 0.0
        else:
            current += SMALL[word]
    value = total + current
    return f"{value:g}" if value < 1e5 else f"{value:.0f}"


def _clock(match: re.Match[str]) -> str:
    parts = match.groupdict()
    minutes = 60 * int(parts["h"]) + int(parts.get("m") or 0)
    shift = parts.get("to") or ""
    amount = re.search(r"\d+", shift)
    size = int(amount.group()) if amount else 30 if re.search("half|media", shift) else 15 if shift else 0
    minutes += -size if re.search(r"\bto\b|menos", shift) else size
    part = (parts.get("part") or "").replace(".", "").replace(" ", "")
    late = bool(re.search("afternoon|evening|night|tarde|noche|pm", part))
    if minutes >= 24 * 60:
        return match.group()
    minutes = minutes % (12 * 60) + 12 * 60 * late if part else minutes
    return f"{minutes // 60}:{minutes % 60:02}"


# Half a per cent: rounded figures of one quantity agree, different ones seldom do.
TOLERANCE = 0.005
_MONTHS = """january jan enero ene|february feb febrero|march mar marzo|april apr abril abr|may mayo|june jun junio
|july jul julio|august aug agosto ago|september sep sept septiembre|october oct octubre|november nov noviembre
|december dec diciembre dic"""
MONTHS = {name: number for number, names in enumerate(_MONTHS.split("|"), start=1) for name in names.split()}
_UNITS = """length 1e-3 mm millimetre millimeter milimetro | length 1e-2 cm centimetre centimeter centimetro
| length 1 m metre meter metro | length 1e3 km kilometre kilometer kilometro | length 1609.344 mi mile milla
| length .3048 ft foot feet pie | length .0254 inch pulgada | mass 1e-6 mg milligram miligramo | mass 1e-3 g gram gramo
| mass 1 kg kilo kilogram kilogramo | mass 1e3 t tonne ton tonelada | mass .45359237 lb lbs libra
| time 1e-3 ms millisecond milisegundo | time 1 s sec second segundo | time 60 min minute minuto | time 3600 h hr hrs hour hora
| time 86400 day dia | time 604800 week semana | months 1 month mes | months 12 year yr ano
| bytes 1 b byte | bytes 1024 kb kib kilobyte | bytes 1048576 mb mib megabyte | bytes 1073741824 gb gib gigabyte
| bytes 1099511627776 tb tib terabyte | volume 1e-3 ml millilitre milliliter mililitro | volume 1 l litre liter litro
| speed .2777777778 km/h kmh kph kilometres_per_hour kilometers_per_hour kilometros_por_hora
| speed 1 m/s metres_per_second meters_per_second metros_por_segundo | speed .44704 mph miles_per_hour millas_por_hora
| decade 1 decade | share .01 % percent per_cent por_ciento
| celsius 1 °c celsius degrees_celsius grados_celsius grados_centigrados degrees_centigrade
| fahrenheit 1 °f fahrenheit degrees_fahrenheit grados_fahrenheit | kelvin 1 k kelvin | euro 1 € euro eur
| dollar 1 $ usd dollar dolar | pound 1 £ gbp pound | hertz 1 hz hertz | hertz 1e3 khz | hertz 1e6 mhz | hertz 1e9 ghz
| power 1 w watt vatio | power 1e3 kw kilowatt | energy 1 kwh"""
UNITS = {name: (kind, float(factor)) for kind, factor, *names in map(str.split, _UNITS.split("|")) for name in names}
SCALES = LARGE | {"bn": 1e9, "mn": 1e6}
_NUMBER = re.compile(
    r"(?P<money>[$€£])?\s?(?P<sign>(?<![\w)])[-−]|\bminus |(?<!al )(?<!lo )\bmenos )?"
    r"(?P<digits>\d+(?:[.,]\d+)*(?:e[+-]?\d+)?)(?P<suffix>(?:bn|[kmb])\b(?![/²]))?",
    re.IGNORECASE,
)
_DAY, _NAME, _YEAR = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?", r"(?P<n>[a-z]{3,10})", r"(?P<y>\d{4})"
_DATES = tuple(
    re.compile(rf"\b{pattern}\b")
    for pattern in (
        rf"{_YEAR}-(?P<m>\d{{1,2}})-(?P<d>\d{{1,2}})",
        rf"(?P<d>\d{{1,2}})[/.-](?P<m>\d{{1,2}})[/.-]{_YEAR}",
        rf"(?P<m>\d{{1,2}})[/.-](?P<d>\d{{1,2}})[/.-]{_YEAR}",
        rf"{_DAY}\s+(?:of\s+|de\s+)?{_NAME}\.?,?\s+(?:del?\s+|of\s+)?{_YEAR}",
        rf"{_NAME}\.?\s+{_DAY},?\s+{_YEAR}",
        rf"{_NAME}\.?,?\s+(?:de\s+|of\s+)?{_YEAR}",
        rf"{_DAY}\s+(?:de\s+|of\s+)?{_NAME}",
        rf"{_NAME}\s+{_DAY}",
    )
)
_DAY_FIRST = _DATES[1]
_HALF = r"([ap]\.?m\.?)"
_TIME = re.compile(
    rf"\b(\d{{1,2}})(?:[:h](\d\d)|\.(\d\d)(?=\s*[ap]\.?m\b))\s*{_HALF}?(?!\d)|\b(\d{{1,2}})\s*{_HALF}(?!\w)", re.I
)
"""A full stop between hour and minutes needs a mark after it (`7.30 pm`): `3.14` is a number."""


@dataclass(frozen=True)
class Quantity:
    """A value in the base unit of its dimension; a bare number has no dimension."""

    value: float
    dimension: str = ""

    def is_same(self, other: "Quantity") -> bool:
        # A bare number may have any unit: "5" answers "5 km".
        if self.dimension and other.dimension and self.dimension != other.dimension:
            return False
        return abs(self.value - other.value) <= TOLERANCE * max(abs(self.value), abs(other.value), 1e-9) + 1e-12


def fold_accents(text: str) -> str:
    """Lower case, no accents: "días" → "dias"."""
    folded = unicodedata.normalize("NFD", text.casefold().replace("º", "°"))
    return unicodedata.normalize("NFC", "".join(c for c in folded if unicodedata.category(c) != "Mn"))


def quantities(text: str) -> list[Quantity]:
    """Every number of a text with its unit; dates and times of day are left to their own functions."""
    text = _TIME.sub(" ", with_digits(fold_accents(text)))
    for pattern in _DATES:
        text = pattern.sub(lambda match: " " if _date(match) else match.group(), text)
    values = []
    for match in _NUMBER.finditer(text):
        before = text[match.start("digits") - 1 : match.start("digits")]
        value = _value(match["digits"])
        # Digits inside a word or name (`H2O`, `v2`) are no quantity.
        if value is not None and not before.isalnum() and before != "_":
            values.append(_with_unit(-value if match["sign"] else value, match, text[match.end() :]))
    return values


def _with_unit(value: float, match: re.Match[str], rest: str) -> Quantity:
    words = re.findall(r"[^\s,;()]+", rest[:60].replace("/ ", "/"))
    if match["suffix"]:
        value *= {"k": 1e3, "m": 1e6, "b": 1e9, "bn": 1e9}[match["suffix"].lower()]
    while words and words[0].strip(".") in SCALES:
        value *= SCALES[words.pop(0).strip(".")]
    if words and words[0] in ("de", "of"):
        words.pop(0)
    if match["money"]:
        return Quantity(value, UNITS[match["money"]][0])
    for length in (3, 2, 1):
        word = "_".join(words[:length]).rstrip(".!?:\"'`")
        forms = (word, word.removesuffix("s"), word.removesuffix("es")) if len(word) > 3 else (word,)
        unit = next((UNITS[form] for form in forms if form in UNITS), None)
        if unit is not None and len(words) >= length:
            # Temperatures have another zero, which no factor can express.
            if unit[0] in ("kelvin", "fahrenheit"):
                return Quantity(value - 273.15 if unit[0] == "kelvin" else (value - 32) / 1.8, "celsius")
            return Quantity(value * unit[1], unit[0])
    return Quantity(value)


def is_unit(word: str) -> bool:
    """Whether a word or its stem is a unit or a number in words."""
    parts = {part for name in UNITS for part in name.replace("_", " ").replace("/", " ").split()}
    return word in SMALL or any(word == part or (len(word) > 3 and part.startswith(word)) for part in parts)


def _value(digits: str) -> float | None:
    """Read 1,200 and 1.200.000 as whole numbers, 12,50 and 3.14 as decimals."""
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", digits):
        digits = digits.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(\.\d{3}){2,}(,\d+)?", digits) or re.fullmatch(r"\d{1,3}(\.\d{3})+,\d+", digits):
        digits = digits.replace(".", "").replace(",", ".")
    elif re.fullmatch(r"\d+,\d+", digits):
        digits = digits.replace(",", ".")
    try:
        return float(digits)
    except ValueError:
        return None


def dates(text: str) -> list[tuple[int, int, int]]:
    """Dates of a text as year, month and day; 0 where a part is not given. Years alone count."""
    text = with_digits(fold_accents(text))
    values: list[tuple[int, int, int]] = []
    for pattern in _DATES:
        for match in pattern.finditer(text):
            date = _date(match)
            if date is not None and date not in values:
                values.append(date)
        if pattern is not _DAY_FIRST:  # 05/03/2024 stays for the other order: either may be meant
            text = pattern.sub(lambda match: " " * len(match.group()) if _date(match) else match.group(), text)
    return values + [
        (int(year), 0, 0)
        for year in re.findall(r"(?<![\d.,$€£/])\b(1[5-9]\d\d|20\d\d)\b(?![\d%/]|[.,]\d| decade)", text)
    ]


def _date(match: re.Match[str]) -> tuple[int, int, int] | None:
    parts = match.groupdict()
    month = MONTHS.get(parts["n"], 0) if parts.get("n") else int(parts.get("m") or 0)
    day = int(parts.get("d") or 0)
    return (int(parts.get("y") or 0), month, day) if 1 <= month <= 12 and day <= 31 else None


def same_date(one: tuple[int, int, int], other: tuple[int, int, int]) -> bool:
    """Whether every part of the first date that both give is the same, and the second gives all of the first's."""
    return all(a == b for a, b in zip(one, other, strict=True) if a)


def times(text: str) -> list[int]:
    """Times of day in minutes after midnight."""
    values = []
    for hour, minutes, dotted, half, alone, half_alone in _TIME.findall(with_digits(fold_accents(text))):
        number, minute, mark = int(hour or alone), int(minutes or dotted or 0), (half or half_alone)[:1].lower()
        if number < 24 and minute < 60:
            number = number % 12 + 12 * (mark == "p") if mark and number <= 12 else number
            values.append(number * 60 + minute)
    return values
