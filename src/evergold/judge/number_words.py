"""Write numbers, fractions, decades and times of day that stand in words with digits, in English and Spanish.

"fifteen thousand" → "15000", "two thirds" → "0.666667", "the nineties" → "1990 decade", "half past seven" → "7:30". Text comes
in lower case and without accents (`quantities.plain`).
"""

import re

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
        value = _evaluated([words[i].group() for i in run]) if run else None
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


def _evaluated(words: list[str]) -> float | None:
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
