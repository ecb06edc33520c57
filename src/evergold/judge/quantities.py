"""Numbers with their units, dates and times of day in English and Spanish text, compared by value.

Write numbers, fractions, decades and times of day that stand in words with digits, in English and Spanish.

"fifteen thousand" → "15000", "two thirds" → "0.666667", "the nineties" → "1990 decade", "half past seven" → "7:30". Text comes
in lower case and without accents (`quantities.plain`).
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
PARTS = {
    "half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fifth": 5, "fifths": 5, "tenth": 10,
    "tenths": 10, "mitad": 2, "medio": 2, "media": 2, "tercio": 3, "tercios": 3, "cuarto": 4, "cuartos": 4,
    "tercera parte": 3, "terceras partes": 3, "cuarta parte": 4, "cuartas partes": 4, "quinta parte": 5, "decima parte": 10,
}  # fmt: skip
_NAMES = "|".join(sorted(PARTS, key=len, reverse=True))
_ROMAN = {"i": 1, "v": 5, "x": 10}
_DECADES = "twenties thirties forties fifties sixties seventies eighties nineties"
_DECADE = {word: 1920 + 10 * n for n, word in enumerate(_DECADES.split())}
_QUARTER_OF_A_YEAR = r"\b(first|second|third|fourth|1st|2nd|3rd|4th) quarter\b|\bq([1-4])\b"
_DAYPART = (
    r"(?P<part>in the (?:morning|afternoon|evening)|at night|de la (?:manana|tarde|noche|madrugada)|[ap]\.?\s?m\b\.?)"
)
_CLOCKS = (
    re.compile(rf"\b(?P<to>half past|(?:a )?quarter (?:past|to)|\d+ (?:minutes )?(?:past|to)) (?P<h>\d+)\b(?:\s*{_DAYPART})?"),
    re.compile(
        r"\blas? (?P<h>\d+) (?P<to>y (?:media|cuarto|0\.5|0\.25|\d+)|menos (?:cuarto|0\.25|\d+))\b" + rf"(?:\s*{_DAYPART})?"
    ),
    re.compile(rf"\b(?P<h>\d+)(?::(?P<m>\d\d))?(?: o'clock)? {_DAYPART}"),
    re.compile(r"\b(?P<h>\d+) o'clock\b"),
)  # fmt: skip


def with_digits(text: str) -> str:
    """The text with every number that is written in words as digits."""
    text = re.sub(_QUARTER_OF_A_YEAR, lambda m: f"{_rank(m[1] or m[2])} trimester", text)
    text = re.sub(r"\bsiglo ([ivx]+)\b", lambda m: f"siglo {_roman(m[1])}", text)
    text = re.sub(r"\b(1[5-9]\d|20\d)0s\b", r"\g<1>0 decade", text)
    text = re.sub(r"['’](\d)0s\b", r"19\g<1>0 decade", text)
    text = re.sub(rf"\b({'|'.join(_DECADE)})\b", lambda m: f"{_DECADE[m[1]]} decade", text)
    text = re.sub(rf"\b({'|'.join(_ORDINALS.split())})\b(?! of\b)", lambda m: f"{ORDINALS[m[1]]}th", text)
    text = re.sub(r"\bpor cien(?:to)?\b", "%", text)
    text = re.sub(r"\blas once\b", "las 11", text)
    text = re.sub(r"\bla una\b(?= (?:y|menos|de la|en punto)\b)", "la 1", text)
    text = _clocks(_cardinals(text))
    return _fractions(text)


def _rank(word: str) -> int:
    return ORDINALS.get(word) or int(word[0])


def _roman(numeral: str) -> int:
    values = [_ROMAN[letter] for letter in numeral]
    return sum(-v if v < max(values[i:]) else v for i, v in enumerate(values))


def _cardinals(text: str) -> str:
    """Runs of number words become one number; "and" and "y" may stand inside a run."""
    words = list(re.finditer(r"[a-z]+", text))
    out: list[str] = []
    end = index = 0
    while index < len(words):
        run = _run(words, index, text)
        value = _evaluate([words[i].group() for i in run]) if run else None
        if value is None or (len(run) == 1 and words[index].group() in UNSURE):
            index += 1
            continue
        out += [text[end : words[run[0]].start()], f"{value:g}" if value < 1e5 else f"{value:.0f}"]
        end = words[run[-1]].end()
        index = run[-1] + 1
    return "".join([*out, text[end:]])


def _run(words: list[re.Match[str]], start: int, text: str) -> list[int]:
    """The places of the words of one number, without its joining words at the end."""
    run: list[int] = []
    index = start
    while index < len(words):
        word = words[index].group()
        gap = text[words[index - 1].end() : words[index].start()] if run else ""
        known = word in SMALL or word == "hundred" or (word in LARGE and bool(run))
        joins = word in ("and", "y") and bool(run) and index + 1 < len(words) and words[index + 1].group() in SMALL
        if gap not in ("", " ", "-") or not (known or joins):
            break
        if joins and not _may_join(word, words[run[-1]].group()):
            break
        if (
            word in SMALL
            and run
            and not _may_follow(words[run[-1]].group(), word, text[words[run[-1]].end() : words[index].start()])
        ):
            break
        if not joins:
            run.append(index)
        index += 1
    return run


def _may_join(joint: str, before: str) -> bool:
    if joint == "y":
        return SMALL.get(before, 0) in range(30, 100, 10)
    return before == "hundred" or before in LARGE


def _may_follow(before: str, word: str, gap: str) -> bool:
    """Whether a number word continues the one before it: only a smaller one does ("twenty three", not "two three")."""
    if before in LARGE or before == "hundred":
        return True
    large, small = SMALL.get(before, 0), SMALL[word]
    if " y " in gap:
        return small < 10
    return (large in range(20, 100, 10) and 0 < small < 10) or (large >= 100 and small < 100)


def _evaluate(words: list[str]) -> float | None:
    total = current = 0.0
    for word in words:
        if word == "hundred":
            current = max(1.0, current) * 100
        elif word in LARGE:
            if LARGE[word] >= 1e6:
                total, current = (total + (current or float(not total))) * LARGE[word], 0.0
            else:
                total, current = total + max(1.0, current) * LARGE[word], 0.0
        else:
            current += SMALL[word]
    return total + current if words else None


def _fractions(text: str) -> str:
    """A number and a part ("2 thirds", "3 hours and a half", "half an hour") as one number."""
    number = r"(\d+(?:\.\d+)?)"
    text = re.sub(rf"\b{number} and an? (half|quarter)\b", lambda m: f"{float(m[1]) + 1 / PARTS[m[2]]:g}", text)
    text = re.sub(
        rf"\b(?:{number}|an?|one|una?) ([a-z]+) (?:and an?|y) (half|quarter|medi[oa]|cuarto)\b",
        lambda m: f"{float(m[1] or 1) + 1 / PARTS[m[3]]:g} {m[2]}",
        text,
    )
    text = re.sub(rf"\b(\d+)(?: |-)({_NAMES})\b", lambda m: f"{int(m[1]) / PARTS[m[2]]:g}", text)
    text = re.sub(rf"\b(?:an?|one|una?|la) ({_NAMES})\b", lambda m: f"{1 / PARTS[m[1]]:g}", text)
    return re.sub(r"\b(half|mitad|quarter)\b(?: an?\b| de\b)?", lambda m: f"{1 / PARTS[m[1]]:g}", text)


def _clocks(text: str) -> str:
    text = re.sub(r"\b(?:noon|mediodia)\b", "12:00", text)
    text = re.sub(r"\b(?:midnight|medianoche)\b", "0:00", text)
    for pattern in _CLOCKS:
        text = pattern.sub(_clock, text)
    return text


def _clock(match: re.Match[str]) -> str:
    parts = match.groupdict()
    minutes = 60 * int(parts["h"]) + int(parts.get("m") or 0)
    shift = parts.get("to") or ""
    amount = re.search(r"\d+(?:\.\d+)?", shift)
    size = 30 if re.search("half|media", shift) else 15 if re.search("quarter|cuarto", shift) else 0
    if amount:
        size = int(float(amount.group()) * 60) if "." in amount.group() else int(amount.group())
    minutes += -size if re.search(r"\bto\b|menos", shift) else size
    part = (parts.get("part") or "").replace(".", "").replace(" ", "")
    late = bool(re.search("afternoon|evening|night|tarde|noche|pm", part))
    if minutes >= 24 * 60:
        return match.group()
    if late and minutes < 12 * 60:
        minutes += 12 * 60
    elif part and not late and minutes >= 12 * 60:
        minutes -= 12 * 60
    return f"{minutes // 60}:{minutes % 60:02}"


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
        ("decade", 1.0, "decade"),
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
SCALES = LARGE | {"bn": 1e9, "mn": 1e6}
_NUMBER = re.compile(
    r"(?P<money>[$€£])?\s?(?P<sign>(?<![\w)])[-−]|\bminus |\bmenos )?"
    r"(?P<digits>\d+(?:[.,]\d+)*(?:e[+-]?\d+)?)(?P<suffix>(?:bn|[kmb])\b(?![/²]))?",
    re.IGNORECASE,
)
_DATES = (
    re.compile(r"\b(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})\b"),
    re.compile(r"\b(?P<d>\d{1,2})[/.-](?P<m>\d{1,2})[/.-](?P<y>\d{4})\b"),
    re.compile(r"\b(?P<m>\d{1,2})[/.-](?P<d>\d{1,2})[/.-](?P<y>\d{4})\b"),
    re.compile(
        r"\b(?P<d>\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+|de\s+)?(?P<n>[a-z]{3,10})\.?,?\s+(?:del?\s+|of\s+)?(?P<y>\d{4})\b"
    ),
    re.compile(r"\b(?P<n>[a-z]{3,10})\.?\s+(?P<d>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<y>\d{4})\b"),
    re.compile(r"\b(?P<n>[a-z]{3,10})\.?,?\s+(?:de\s+|of\s+)?(?P<y>\d{4})\b"),
    re.compile(r"\b(?P<d>\d{1,2})(?:st|nd|rd|th)?\s+(?:de\s+|of\s+)?(?P<n>[a-z]{3,10})\b"),
    re.compile(r"\b(?P<n>[a-z]{3,10})\s+(?P<d>\d{1,2})(?:st|nd|rd|th)?\b"),
)
_DAY_FIRST = _DATES[1]
_TIME = re.compile(
    r"\b(\d{1,2})(?:[:h](\d{2})|\.(\d{2})(?=\s*[ap]\.?m\b))\s*(a\.?m\.?|p\.?m\.?)?(?!\d)|"
    r"\b(\d{1,2})\s*(a\.?m\.?|p\.?m\.?)(?!\w)",
    re.I,
)
"""A full stop between hour and minutes needs a mark after it (`7.30 pm`): `3.14` is a number."""


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
    text = _TIME.sub(" ", with_digits(plain(text)))
    for pattern in _DATES:
        text = pattern.sub(lambda match: " " if _date(match) else match.group(), text)
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
        value *= {"k": 1e3, "m": 1e6, "b": 1e9, "bn": 1e9}[match["suffix"].lower()]
    while words and words[0].strip(".") in SCALES:
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


def is_unit(word: str) -> bool:
    """Whether a word or its stem is a unit or a number in words."""
    parts = {part for name in UNITS for part in name.replace("_", " ").replace("/", " ").split()}
    return word in SMALL or any(word == part or (len(word) > 3 and part.startswith(word)) for part in parts)


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


def dates(text: str) -> list[tuple[int, int, int]]:
    """Dates of a text as year, month and day; 0 where a part is not given. Years alone count."""
    text = with_digits(plain(text))
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


# A year alone is the same as any date of that year.
def same_date(one: tuple[int, int, int], other: tuple[int, int, int]) -> bool:
    """Whether every part of the first date that both give is the same, and the second gives all of the first's."""
    return all(a == b for a, b in zip(one, other, strict=True) if a)


def times(text: str) -> list[int]:
    """Times of day in minutes after midnight."""
    values = []
    for hour, minutes, dotted, half, alone, half_alone in _TIME.findall(with_digits(plain(text))):
        minute = minutes or dotted
        number, mark = int(hour or alone), (half or half_alone).lower().replace(".", "")
        if number < 24 and int(minute or 0) < 60:
            shift = 12 if mark == "pm" and number < 12 else -12 if mark == "am" and number == 12 else 0
            values.append((number + shift) * 60 + int(minute or 0))
    return values
