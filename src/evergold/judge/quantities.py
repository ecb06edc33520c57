"""Numbers with their units, dates and times of day in English and Spanish text, compared by value.

What stands in words is written with digits first: "fifteen thousand" → "15000", "two thirds" → "0.666667", "the nineties" →
"1990 decade", "half past seven" → "7:30".
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from evergold.text.words import fold_text

Date = tuple[int, int, int]
"""Year, month and day; 0 where a part is not given."""


def _number(words: str, first: int, step: int = 1) -> dict[str, int]:
    """Number groups of words that mean the same."""
    return {word: first + step * row for row, group in enumerate(words.split()) for word in group.split("/")}


def _choice(words: Iterable[str]) -> str:
    """A pattern of any of these words, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_BELOW_THIRTY = """zero/cero one/uno/un/una two/dos three/tres four/cuatro five/cinco six/seis seven/siete eight/ocho nine/nueve
ten/diez eleven/once twelve/doce/dozen/docena thirteen/trece fourteen/catorce fifteen/quince sixteen/dieciseis
seventeen/diecisiete eighteen/dieciocho nineteen/diecinueve twenty/veinte veintiuno/veintiun/veintiuna veintidos veintitres
veinticuatro veinticinco veintiseis veintisiete veintiocho veintinueve"""
_TENS = (
    "twenty thirty/treinta forty/cuarenta fifty/cincuenta sixty/sesenta seventy/setenta eighty/ochenta ninety/noventa"
)
_HUNDREDS = """cien/ciento doscientos/doscientas trescientos/trescientas cuatrocientos/cuatrocientas quinientos/quinientas
seiscientos/seiscientas setecientos/setecientas ochocientos/ochocientas novecientos/novecientas"""
_ONES, _TEN, _HUNDRED = _number(_BELOW_THIRTY, 0), _number(_TENS, 20, 10), _number(_HUNDREDS, 100, 100)
SMALL = _ONES | _TEN | _HUNDRED
LARGE = {"thousand": 1e3, "mil": 1e3, "million": 1e6, "millon": 1e6, "millones": 1e6, "billion": 1e9, "trillion": 1e12}
UNSURE = frozenset(("one", "uno", "una", "un", "once"))
"""Alone these are articles and adverbs more often than numbers."""
_DIGIT = _choice(word for word, value in _ONES.items() if 0 < value < 10)
_BELOW_100 = rf"(?:(?:{_choice(_TEN)})(?:[ -]| y )(?:{_DIGIT})|{_choice(_ONES | _TEN)})"
_BELOW_1000 = rf"(?:(?:(?:{_BELOW_100} )?hundred|{_choice(_HUNDRED)})\b(?: (?:and )?{_BELOW_100})?|{_BELOW_100})\b"
_IN_WORDS = re.compile(rf"\b(?<!por ){_BELOW_1000}(?:(?: (?:{_choice(LARGE)})\b)+(?: (?:and )?{_BELOW_1000})?)*")
ORDINALS = _number(
    """first/1st second/2nd third/3rd fourth/4th fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
fifteenth sixteenth seventeenth eighteenth nineteenth twentieth""",
    1,
)
PARTS = {"tenth": 10} | _number("half/halve/mitad/medi[oa] third/tercio/tercera quarter/cuart[oa] fifth/quint[oa]", 2)
_PART = rf"({'|'.join(PARTS)})s?(?: partes?)?"
_DECADE = _number("twenties thirties forties fifties sixties seventies eighties nineties", 1920, 10)
_CLOCK = re.compile(
    r"\b(?:(?P<to>half past|(?:a )?quarter (?:past|to)|\d\d? (?:minutes )?(?:past|to)) )?(?P<las>las? )?"
    r"(?P<hour>\d\d?)(?:[:h](?P<minute>\d\d)(?!\d)|\.(?P<dotted>\d\d)(?=\s?[ap]\.?m))?"
    r"(?P<y> y (?:media|cuarto|\d\d?)\b| menos (?:cuarto|\d\d?)\b)?(?P<sharp> o'clock)?"
    r"(?:\s*(?P<part>in the (?:morn|after|even)\w+|at night|de la (?:manana|tarde|noche|madrugada)|[ap]\.?\s?m\b\.?))?"
)
"""A full stop between hour and minutes needs a mark after it (`7.30 pm`): `3.14` is a number."""
_TIME = re.compile(r"(?<![\d:])(\d\d?):(\d\d)(?!\d)")


def with_digits(text: str) -> str:
    """The folded text with every number, decade and time of day that is written in words as digits."""
    text = " ".join(text.split())
    text = re.sub(
        rf"\b(?:({_choice(ORDINALS)}) quarter|q([1-4]))\b", lambda m: f"{ORDINALS.get(m[1]) or m[2]} trimester", text
    )
    text = re.sub(r"(?:\b(1[5-9]|20)|')(\d)0s\b", lambda m: f"{m[1] or 19}{m[2]}0 decade", text)
    text = re.sub(rf"\b({_choice(_DECADE)})\b", lambda m: f"{_DECADE[m[1]]} decade", text)
    text = re.sub(
        rf"\b({_choice(ORDINALS)})\b(?! of\b)", lambda m: f"{n}th" if (n := ORDINALS[m[1]]) > 3 else m[1], text
    )
    text = re.sub(r"\bla una\b(?= (?:y|menos|de la|en punto)\b)", "la 1", re.sub(r"\blas once\b", "las 11", text))
    text = _IN_WORDS.sub(lambda m: m[0] if m[0] in UNSURE else _evaluate(re.findall(r"[a-z]+", m[0])), text)
    text = re.sub(r"\b(?:midnight|medianoche)\b", "0:00", re.sub(r"\b(?:noon|mediodia)\b", "12:00", text))
    text = _CLOCK.sub(_write_clock, text)
    # A number and a part ("3 hours and a half", "2 thirds", "half an hour") as one number.
    mixed = r"\b(?:(\d+(?:\.\d+)?)|an?|one|una?)( [a-z]+)? (?:and an?|y) (half|quarter|medi[oa]|cuarto)\b"
    text = re.sub(mixed, lambda m: f"{float(m[1] or 1) + 1 / _size(m[3]):g}{m[2] or ''}", text)
    text = re.sub(
        rf"\b(?:(\d+)[ -]|(?:an?|one|una?|la) ){_PART}\b", lambda m: f"{int(m[1] or 1) / _size(m[2]):g}", text
    )
    return re.sub(r"\b(half|mitad|quarter)\b(?: an?\b| de\b)?", lambda m: f"{1 / _size(m[1]):g}", text)


def _size(part: str) -> int:
    return next(size for name, size in PARTS.items() if re.fullmatch(name, part))


def _evaluate(words: list[str]) -> str:
    total = below = 0.0
    for word in words:
        if word == "hundred":
            below = max(1.0, below) * 100
        elif size := LARGE.get(word):
            # "Dos mil millones": a larger word counts all before it.
            total, below = ((total + below) * size if total < size else total + below * size), 0.0
        else:
            below += SMALL.get(word, 0)
    return f"{total + below:.0f}"


def _write_clock(match: re.Match[str]) -> str:
    """Write a time of day as hour and minutes after midnight; a bare number stays."""
    to, las, hour, minute, dotted, y, sharp, part = match.groups()
    shift = to or (y if las or part else "") or ""
    minutes = 60 * int(hour) + int(minute or dotted or 0)
    if not (shift or minute or dotted or sharp or part) or minutes >= 24 * 60 or int(minute or dotted or 0) > 59:
        return match[0]
    amount = re.search(r"\d+", shift)
    size = int(amount[0]) if amount else 30 if re.search("half|media", shift) else 15 if shift else 0
    minutes += -size if re.search(r"\bto\b|menos", shift) else size
    if part:
        minutes = minutes % 720 + 720 * bool(re.search(r"afternoon|evening|night|tarde|noche|p\.?\s?m", part))
    return f"{minutes // 60 % 24}:{minutes % 60:02}"


TOLERANCE = 0.005  # of its value, within which a figure may be rounded
MONTHS = _number(
    """january/jan/enero/ene february/feb/febrero march/mar/marzo april/apr/abril/abr may/mayo june/jun/junio july/jul/julio
august/aug/agosto/ago september/sep/sept/septiembre october/oct/octubre november/nov/noviembre december/dec/diciembre/dic""",
    1,
)
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
| area 1 m2 m² square_metre square_meter metro_cuadrado metros_cuadrado | area 1e4 ha hectare hectarea
| area 1e6 km2 km² square_kilometre square_kilometer kilometros_cuadrado | decade 1 decade
| share .01 % percent per_cent por_cien por_ciento
| celsius 1 °c celsius centigrade centigrado | fahrenheit 1 °f fahrenheit | kelvin 1 k kelvin | euro 1 € euro eur
| dollar 1 $ usd dollar dolar | pound 1 £ gbp pound | hertz 1 hz hertz | hertz 1e3 khz | hertz 1e6 mhz | hertz 1e9 ghz
| power 1 w watt vatio | power 1e3 kw kilowatt | energy 1 kwh"""
UNITS = {
    name.replace("_", " "): (kind, float(factor))
    for kind, factor, *names in map(str.split, _UNITS.split("|"))
    for name in names
}
MONEY = frozenset({"euro", "dollar", "pound"})
_SPANS = _choice(name for name, (kind, _) in UNITS.items() if kind in ("time", "months"))
_ONE = re.compile(rf"^\W*(?:an?|una?) (?=(?:{_SPANS})\W*$)")
"""The article of a text that is one unit of time: "a week"."""
SCALES = LARGE | {"bn": 1e9, "mn": 1e6, "k": 1e3, "m": 1e6, "b": 1e9}
_QUANTITY = re.compile(
    r"(?P<money>[$€£])?\s?(?P<sign>(?<![\w)])[-−]|\bminus |(?<!al )(?<!lo )\bmenos )?(?<!\w)(?<!\w[.,])"
    r"(?P<digits>\d+(?:[.,]\d+)*(?:e[+-]?\d+)?)(?:th\b|(?P<suffix>bn|[kmb])\b(?![/²]))?(?: (?:degree|grado)s?\b)?"
    rf"(?P<scales>(?: (?:{_choice(LARGE)}|bn|mn)\b)*)(?:[\s-]?(?:(?:de|of) )?(?P<unit>{_choice(UNITS)})(?:e?s)?(?![\w/²]))?"
)
_DAY, _YEAR = r"(0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?\b", r"(\d{4})\b"
_DATE = re.compile(
    r"\b(?:(?P<iso>\d{4}-\d\d?-\d\d?)|(?P<slashed>\d\d?[/.-]\d\d?[/.-]\d{4})|"
    rf"(?:{_DAY} (?:of |de )?)?(?P<month>{_choice(MONTHS)})\b\.?(?: {_DAY}(?!:))?(?:,? (?:del? |of )?{_YEAR})?)"
)


@dataclass(frozen=True)
class Quantity:
    """A value in the base unit of its dimension; a bare number has no dimension. `step` is worth one of its last digit."""

    value: float
    dimension: str = ""
    step: float = field(default=0.0, compare=False)

    def is_same(self, other: "Quantity", rough: bool = False) -> bool:
        """Whether one may be the other rounded to its last digit; of figures that are only roughly right, by half a per cent."""
        # A bare number may have any unit: "5" answers "5 km".
        if self.dimension and other.dimension and self.dimension != other.dimension:
            return False
        # A kilobyte is 1,000 or 1,024 bytes.
        sizes = [1.024**power for power in range(-4, 5)] if self.dimension == "bytes" else [1.0]
        for value in (other.value * size for size in sizes):
            room = TOLERANCE * max(abs(self.value), abs(value))
            room = room if rough else min(room, max(self.step, other.step) / 2)
            if abs(self.value - value) <= room + 1e-9 * abs(value) + 1e-12:
                return True
        return False


def fold(text: str) -> str:
    return fold_text(text.replace("º", "°"))


def quantities(text: str) -> list[Quantity]:
    """Every number of a text with its unit; dates and times of day are left to their own functions."""
    return [
        _quantity(match) for match in _QUANTITY.finditer(_without_dates(text)) if _value(match["digits"]) is not None
    ]


def words_beside(text: str) -> str:
    """What a text says beside its quantities, dates and times of day."""
    return _QUANTITY.sub(" ", _without_dates(text))


def _without_dates(text: str) -> str:
    return _DATE.sub(
        lambda match: " " if _dates_of(match) else match[0], _TIME.sub(" ", with_digits(_ONE.sub("1 ", fold(text))))
    )


def _quantity(match: re.Match[str]) -> Quantity:
    kind, factor = UNITS[match["money"] or match["unit"]] if match["money"] or match["unit"] else ("", 1.0)
    digits = match["digits"]
    # Nobody writes money with three decimals: 1.000 € is a thousand.
    digits = digits.replace(".", "") if kind in MONEY and re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", digits) else digits
    value = (_value(digits) or 0.0) * (-1 if match["sign"] else 1)
    step = 10.0 ** -len(decimals[1]) if (decimals := re.search(r"[.,](\d{1,2}|\d{4,})$", digits)) else 1.0
    if re.search(r"[.,]\d{3}$", digits) and value != round(value):
        step = 1e-3
    for scale in [match["suffix"] or "", *match["scales"].split()]:
        value, step = value * SCALES.get(scale, 1), step * SCALES.get(scale, 1)
    # Temperatures have another zero, which no factor can express.
    if kind in ("kelvin", "fahrenheit"):
        return Quantity(value - 273.15 if kind == "kelvin" else (value - 32) / 1.8, "celsius", step)
    return Quantity(value * factor, kind, step * factor)


def _value(digits: str) -> float | None:
    """Read 1,200 and 1.200.000 as whole numbers, 12,50 and 3.14 as decimals."""
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", digits):
        digits = digits.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(\.\d{3}){2,}|\d{1,3}(\.\d{3})+,\d+|\d+,\d+", digits):
        digits = digits.replace(".", "").replace(",", ".")
    try:
        return float(digits)
    except ValueError:
        return None


def dates(text: str) -> list[Date]:
    """Dates of a text; years alone count."""
    text = with_digits(fold(text))
    dates = [date for match in _DATE.finditer(text) for date in _dates_of(match)]
    rest = _DATE.sub(lambda match: " " if _dates_of(match) else match[0], text)
    years = re.findall(r"(?<![\d.,$€£/])\b(1[5-9]\d\d|20\d\d)\b(?![\d%/]|[.,]\d| decade)", rest)
    return list(dict.fromkeys([*dates, *((int(year), 0, 0) for year in years)]))


def _dates_of(match: re.Match[str]) -> list[Date]:
    """What a date may mean: 05/03/2024 is in either order."""
    if match["month"]:
        *_, before, month, after, year = match.groups()
        day = int(before or after or 0)
        return [(int(year or 0), MONTHS[month], day)] if day or year else []
    first, middle, last = map(int, re.findall(r"\d+", match[0]))
    orders = [(first, middle, last)] if match["iso"] else [(last, middle, first), (last, first, middle)]
    return [date for date in dict.fromkeys(orders) if 1 <= date[1] <= 12 and date[2] <= 31]


def same_date(one: Date, other: Date) -> bool:
    """Whether the second date gives every part of the first, and the same."""
    return all(a == b for a, b in zip(one, other, strict=True) if a)


def times(text: str) -> list[int]:
    """Times of day in minutes after midnight."""
    minutes_read = (
        60 * int(hour) + int(minute) for hour, minute in _TIME.findall(with_digits(fold(text))) if int(minute) < 60
    )
    return [minutes for minutes in minutes_read if minutes < 24 * 60]
