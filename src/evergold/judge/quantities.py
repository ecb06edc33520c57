"""Numbers with their units, dates and times of day in English and Spanish text, compared by value."""

import re
import unicodedata
from dataclasses import dataclass

# Half a per cent: rounded figures of one quantity agree, different ones seldom do.
TOLERANCE = 0.005
MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan enero ene", "february feb febrero", "march mar marzo", "april apr abril abr", "may mayo",
            "june jun junio", "july jul julio", "august aug agosto ago", "september sep sept septiembre",
            "october oct octubre", "november nov noviembre", "december dec diciembre dic",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
UNITS: dict[str, tuple[str, float]] = {
    name: (dimension, factor)
    for dimension, factor, names in (
        ("length", 1e-3, "mm millimetre millimeter milimetro"),
        ("length", 1e-2, "cm centimetre centimeter centimetro"),
        ("length", 1.0, "m metre meter metro"),
        ("length", 1e3, "km kilometre kilometer kilometro"),
        ("length", 1609.344, "mi mile milla"),
        ("length", 0.3048, "ft foot feet pie"),
        ("length", 0.0254, "inch pulgada"),
        ("mass", 1e-6, "mg milligram miligramo"),
        ("mass", 1e-3, "g gram gramo"),
        ("mass", 1.0, "kg kilo kilogram kilogramo"),
        ("mass", 1e3, "t tonne ton tonelada"),
        ("mass", 0.45359237, "lb lbs libra"),
        ("time", 1e-3, "ms millisecond milisegundo"),
        ("time", 1.0, "s sec second segundo"),
        ("time", 60.0, "min minute minuto"),
        ("time", 3600.0, "h hr hrs hour hora"),
        ("time", 86400.0, "day dia"),
        ("time", 604800.0, "week semana"),
        ("months", 1.0, "month mes"),
        ("months", 12.0, "year yr ano"),
        ("bytes", 1.0, "b byte"),
        ("bytes", 1024.0, "kb kib kilobyte"),
        ("bytes", 1024.0**2, "mb mib megabyte"),
        ("bytes", 1024.0**3, "gb gib gigabyte"),
        ("bytes", 1024.0**4, "tb tib terabyte"),
        ("volume", 1e-3, "ml millilitre milliliter mililitro"),
        ("volume", 1.0, "l litre liter litro"),
        ("speed", 1 / 3.6, "km/h kmh kph kilometres_per_hour kilometers_per_hour kilometros_por_hora"),
        ("speed", 1.0, "m/s metres_per_second meters_per_second metros_por_segundo"),
        ("speed", 0.44704, "mph miles_per_hour millas_por_hora"),
        ("share", 0.01, "% percent per_cent por_ciento"),
        ("celsius", 1.0, "°c ºc celsius degrees_celsius grados_celsius grados_centigrados degrees_centigrade"),
        ("fahrenheit", 1.0, "°f fahrenheit degrees_fahrenheit"),
        ("kelvin", 1.0, "k kelvin"),
        ("euro", 1.0, "€ euro eur"),
        ("dollar", 1.0, "$ usd dollar dolar"),
        ("pound", 1.0, "£ gbp pound"),
        ("hertz", 1.0, "hz hertz"),
        ("hertz", 1e3, "khz"),
        ("hertz", 1e6, "mhz"),
        ("hertz", 1e9, "ghz"),
        ("power", 1.0, "w watt vatio"),
        ("power", 1e3, "kw kilowatt"),
        ("energy", 1.0, "kwh"),
    )
    for name in names.split()
}
SCALES = {"thousand": 1e3, "mil": 1e3, "million": 1e6, "millones": 1e6, "millon": 1e6, "billion": 1e9, "trillion": 1e12}
_ONES = """zero/cero one/uno two/dos three/tres four/cuatro five/cinco six/seis seven/siete eight/ocho nine/nueve ten/diez
eleven/once twelve/doce thirteen/trece fourteen/catorce fifteen/quince sixteen/dieciseis seventeen/diecisiete
eighteen/dieciocho nineteen/diecinueve twenty/veinte"""
_TENS = "thirty/treinta forty/cuarenta fifty/cincuenta sixty/sesenta seventy/setenta eighty/ochenta ninety/noventa"
SMALL = {
    **{word: value for value, words in enumerate(_ONES.split()) for word in words.split("/")},
    **{word: 10 * value for value, words in enumerate(_TENS.split(), start=3) for word in words.split("/")},
    "hundred": 100,
    "cien": 100,
    "una": 1,
    "dozen": 12,
    "docena": 12,
}
FRACTIONS = {"half": 0.5, "quarter": 0.25, "mitad": 0.5}
_NUMBER = re.compile(
    r"(?P<money>[$€£])?\s?(?P<sign>(?<![\w)])[-−]|\bminus |\bmenos )?"
    r"(?P<digits>\d+(?:[.,]\d+)*(?:e[+-]?\d+)?)(?P<suffix>[kmb]\b(?![/²]))?",
    re.IGNORECASE,
)
_DATES = (
    re.compile(r"\b(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})\b"),
    re.compile(
        r"\b(?P<d>\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+|de\s+)?(?P<n>[a-z]{3,10})\.?,?\s+(?:del?\s+|of\s+)?(?P<y>\d{4})\b"
    ),
    re.compile(r"\b(?P<n>[a-z]{3,10})\.?\s+(?P<d>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<y>\d{4})\b"),
    re.compile(r"\b(?P<n>[a-z]{3,10})\.?,?\s+(?:de\s+|of\s+)?(?P<y>\d{4})\b"),
    re.compile(r"\b(?P<d>\d{1,2})(?:st|nd|rd|th)?\s+(?:de\s+|of\s+)?(?P<n>[a-z]{3,10})\b"),
    re.compile(r"\b(?P<n>[a-z]{3,10})\s+(?P<d>\d{1,2})(?:st|nd|rd|th)?\b"),
)
_TIME = re.compile(
    r"\b(\d{1,2})[:.h](\d{2})\s*(a\.?m\.?|p\.?m\.?)?(?!\d)|\b(\d{1,2})\s*(a\.?m\.?|p\.?m\.?)(?!\w)", re.I
)


@dataclass(frozen=True)
class Quantity:
    """A value in the base unit of its dimension; a bare number has no dimension."""

    value: float
    dimension: str = ""

    def same(self, other: "Quantity") -> bool:
        # A bare number may have any unit: "5" answers "5 km".
        if self.dimension and other.dimension and self.dimension != other.dimension:
            return False
        return abs(self.value - other.value) <= TOLERANCE * max(abs(self.value), abs(other.value), 1e-9) + 1e-12


def plain(text: str) -> str:
    """Lower case, no accents: "días" → "dias"."""
    folded = unicodedata.normalize("NFD", text.casefold().replace("º", "°"))
    return unicodedata.normalize("NFC", "".join(c for c in folded if unicodedata.category(c) != "Mn"))


def quantities(text: str) -> list[Quantity]:
    """Every number of a text with its unit; dates and times of day are left to their own functions."""
    text = _TIME.sub(" ", plain(text))
    for pattern in _DATES:
        text = pattern.sub(lambda match: " " if _date(match) else match.group(), text)
    # "twenty-one" before single words, or it would become "20-1".
    text = re.sub(r"\b([a-z]+)[ -]([a-z]+)\b", _compound, text)
    text = re.sub(r"\b[a-z]+\b", _spelled, text)
    values = []
    for match in _NUMBER.finditer(text):
        before = text[match.start("digits") - 1 : match.start("digits")]
        # Digits inside a word or name (`H2O`, `v2`) are no quantity.
        if before.isalnum() or before == "_":
            continue
        value = _value(match["digits"])
        if value is not None:
            values.append(_with_unit(-value if match["sign"] else value, match, text[match.end() :]))
    return values


def _with_unit(value: float, match: re.Match[str], rest: str) -> Quantity:
    words = re.findall(r"[^\s,;()]+", rest[:60].replace("/ ", "/"))
    if match["suffix"]:
        value *= {"k": 1e3, "m": 1e6, "b": 1e9}[match["suffix"].lower()]
    if words and words[0].strip(".") in SCALES:
        value *= SCALES[words.pop(0).strip(".")]
    if words and words[0] in ("de", "of"):
        words.pop(0)
    if match["money"]:
        return Quantity(value, UNITS[match["money"]][0])
    for length in (3, 2, 1):
        unit = _unit("_".join(words[:length]).rstrip(".!?:\"'`"))
        if unit is not None and len(words) >= length:
            return Quantity(value * unit[1], unit[0])
    return Quantity(value)


def _unit(word: str) -> tuple[str, float] | None:
    if word in UNITS:
        return UNITS[word]
    for ending in ("s", "es"):
        if len(word) > 3 and word.endswith(ending) and word.removesuffix(ending) in UNITS:
            return UNITS[word.removesuffix(ending)]
    return None


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


def _compound(match: re.Match[str]) -> str:
    """Read "twenty-one" as 21; other pairs of words stay."""
    tens, ones = SMALL.get(match[1], 0), SMALL.get(match[2], 0)
    return str(tens + ones) if tens in range(20, 100, 10) and 0 < ones < 10 else match.group()


def _spelled(match: re.Match[str]) -> str:
    word = match.group()
    if word in FRACTIONS:
        return f"{FRACTIONS[word]}"
    # "one" is mostly a pronoun, and "once" a word of English.
    return str(SMALL[word]) if word in SMALL and word not in ("one", "uno", "una", "once") else word


def dates(text: str) -> list[tuple[int, int, int]]:
    """Dates of a text as year, month and day; 0 where a part is not given. Years alone count."""
    text = plain(text)
    values: list[tuple[int, int, int]] = []
    for pattern in _DATES:
        for match in pattern.finditer(text):
            date = _date(match)
            if date is not None:
                values.append(date)
        text = pattern.sub(lambda match: " " * len(match.group()) if _date(match) else match.group(), text)
    return values + [
        (int(year), 0, 0) for year in re.findall(r"(?<![\d.,$€£/])\b(1[5-9]\d\d|20\d\d)\b(?![\d%]|[.,]\d)", text)
    ]


def _date(match: re.Match[str]) -> tuple[int, int, int] | None:
    parts = match.groupdict()
    month = MONTHS.get(parts["n"], 0) if parts.get("n") else int(parts.get("m") or 0)
    day = int(parts.get("d") or 0)
    return (int(parts.get("y") or 0), month, day) if 1 <= month <= 12 and day <= 31 else None


# A year alone is the same as any date of that year.
def same_date(one: tuple[int, int, int], other: tuple[int, int, int]) -> bool:
    """Whether every part of the first date that both give is the same, and the second gives all of the first's."""
    return all(a == b for a, b in zip(one, other, strict=True) if a)


def times(text: str) -> list[int]:
    """Times of day in minutes after midnight."""
    values = []
    for hour, minute, half, alone, half_alone in _TIME.findall(text):
        number, mark = int(hour or alone), (half or half_alone).lower().replace(".", "")
        if number < 24 and int(minute or 0) < 60:
            shift = 12 if mark == "pm" and number < 12 else -12 if mark == "am" and number == 12 else 0
            values.append((number + shift) * 60 + int(minute or 0))
    return values
