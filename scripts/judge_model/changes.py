"""Change a sentence by rule so that its meaning is turned, kept or narrowed: the made part of the training pairs.

Every function takes a text and a random generator and returns the changed text, or None where the rule does not apply.
"""

import random
import re
from collections.abc import Callable

Change = Callable[[str, random.Random], str | None]
Table = dict[str, dict[str, list[str]]]

WORDS = re.compile(r"\b[a-z]{3,}\b")
PHRASE = re.compile(r" (?:in|on|at|for|with|because|during|after|before|by|from|despite|without) [^,.;]{4,50}(?=[,.;])")

NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?![\w])")
NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+(?: [A-Z][a-z]+)*")
AUXILIARY = re.compile(r"\b(is|are|was|were|will|would|can|could|should|has|have|had|may|must)\b(?! not|n't)", re.I)
NEGATED = re.compile(r"\b(is|are|was|were|will|would|can|could|should|has|have|had|does|do|did)(?:n't| not)\b", re.I)
_MONTHS = "January February March April May June July August September October November December"
MONTHS = _MONTHS.split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
DAYS = _DAYS.split()
UNITS = (
    ("kilometres", "miles", "metres"),
    ("km", "miles", "m"),
    ("hours", "minutes", "days", "seconds", "weeks"),
    ("million", "billion", "thousand", "trillion"),
    ("kg", "g", "pounds", "tonnes"),
    ("percent", "points"),
    ("dollars", "euros", "pounds"),
    ("MB", "GB", "KB"),
    ("ms", "s"),
)
ANTONYMS = """increase decrease|increased decreased|increases decreases|rise fall|rose fell|higher lower|high low|more less|
most least|before after|first last|above below|open closed|opened closed|win lose|won lost|success failure|accept reject|
accepted rejected|approved rejected|allow forbid|allowed forbidden|enable disable|enabled disabled|always never|all none|
north south|east west|northern southern|eastern western|male female|man woman|men women|father mother|son daughter|
husband wife|brother sister|king queen|young old|younger older|early late|earlier later|large small|larger smaller|
largest smallest|big small|long short|longest shortest|good bad|better worse|best worst|strong weak|hot cold|warm cool|
new old|true false|correct incorrect|right wrong|legal illegal|possible impossible|likely unlikely|safe unsafe|
stable unstable|mutable immutable|public private|internal external|maximum minimum|max min|positive negative|
profit loss|gain loss|buy sell|bought sold|import export|start end|started ended|begin finish|began finished|
arrived left|enter leave|entered left|join leave|joined left|love hate|loved hated|agree disagree|agreed disagreed|
support oppose|supported opposed|for against|with without|include exclude|included excluded|inside outside|
alive dead|born died|married divorced|rich poor|easy difficult|fast slow|faster slower|ascending descending|
synchronous asynchronous|read write|encrypted unencrypted|required optional|black white|day night|summer winter|
upper lower|left right|push pull|raise lower|raised lowered|expand reduce|expanded reduced|gained lost|
remember forget|hire fire|hired fired|guilty innocent|victory defeat|majority minority|many few|major minor|
only also|both neither|permanent temporary|domestic foreign|modern ancient|urban rural|vertical horizontal"""
SPANISH_ANTONYMS = """aumenta disminuye|aumentó disminuyó|mayor menor|más menos|antes después|primero último|alto bajo|
alta baja|grande pequeño|abierto cerrado|abierta cerrada|siempre nunca|todos ninguno|norte sur|este oeste|gratis caro|
nuevo viejo|nueva vieja|verdadero falso|correcto incorrecto|seguro inseguro|permitido prohibido|fácil difícil|
rápido lento|ganó perdió|compró vendió|con sin|dentro fuera|público privado|posible imposible|obligatorio opcional"""


def _opposites(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in text.replace("\n", "").split("|"):
        one, other = pair.split()
        found.setdefault(one, other)
        found.setdefault(other, one)
    return found


OPPOSITES = _opposites(ANTONYMS) | _opposites(SPANISH_ANTONYMS)
OPPOSITE = re.compile(r"\b(?:" + "|".join(sorted(OPPOSITES, key=len, reverse=True)) + r")\b", re.I)


def number(text: str, rng: random.Random) -> str | None:
    found = list(NUMBER.finditer(text))
    if not found:
        return None
    match = rng.choice(found)
    value = float(match.group().replace(",", ""))
    if 1500 < value < 2100 and value == int(value):
        new = str(int(value) + rng.choice((-31, -12, -5, -3, -2, -1, 1, 2, 3, 4, 9, 20)))
    elif value == int(value):
        other = rng.choice((value + 1, value + 2, max(0.0, value - 1), value * 2, value * 10, value + 10, value // 2))
        new = f"{int(other if other != value else value + 3):,}" if "," in match.group() else str(int(other + 0))
    else:
        new = f"{value * rng.choice((0.5, 1.3, 2, 10, 0.1)):.2f}".rstrip("0").rstrip(".")
    return None if new == match.group() else _put(text, match, new)


def unit(text: str, rng: random.Random) -> str | None:
    for group in rng.sample(UNITS, len(UNITS)):
        match = re.search(r"(?<=\d )(?:" + "|".join(group) + r")\b", text)
        if match:
            return _put(text, match, rng.choice([one for one in group if one != match.group()]))
    return None


def date(text: str, rng: random.Random) -> str | None:
    for group in (MONTHS, DAYS):
        match = re.search(r"\b(?:" + "|".join(group) + r")\b", text)
        if match:
            return _put(text, match, rng.choice([one for one in group if one != match.group()]))
    return None


def antonym(text: str, rng: random.Random) -> str | None:
    found = list(OPPOSITE.finditer(text))
    if not found:
        return None
    match = rng.choice(found)
    new = OPPOSITES[match.group().lower()]
    return _put(text, match, new.capitalize() if match.group()[0].isupper() else new)


def negate(text: str, rng: random.Random) -> str | None:
    """Add a negation, or take one away."""
    negated = list(NEGATED.finditer(text))
    if negated:
        match = rng.choice(negated)
        return _put(text, match, match.group(1))
    found = list(AUXILIARY.finditer(text))
    if not found:
        return None
    match = found[0]
    return _put(text, match, f"{match.group()} {rng.choice(('not', 'not', 'never'))}")


def clause(text: str, rng: random.Random) -> str | None:
    """Leave a clause out: what is left is usually still supported."""
    parts = re.split(r"(?:, | and | but | while | which | who )", text.rstrip("."))
    if len(parts) < 2 or len(parts[0].split()) < 4:
        return None
    return parts[0] + "."


def drop_words(text: str, rng: random.Random) -> str | None:
    words = text.split()
    if len(words) < 8:
        return None
    start = rng.randrange(1, len(words) - 3)
    return " ".join(words[:start] + words[start + rng.randrange(1, 4) :])


def swap_names(text: str, rng: random.Random) -> str | None:
    found = list(dict.fromkeys(re.findall(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*", text)))
    if len(found) < 2:
        return None
    one, other = rng.sample(found, 2)
    changed = text.replace(one, "\0").replace(other, one).replace("\0", other)
    return None if changed == text else changed


def name_from(text: str, names: list[str], rng: random.Random) -> str | None:
    found = list(NAME.finditer(text))
    if not found or not names:
        return None
    match = rng.choice(found)
    new = rng.choice(names)
    return None if new in text else _put(text, match, new)


def substitute(text: str, table: Table, kind: str, rng: random.Random) -> str | None:
    """Put another word for one of a text's words: a synonym (`same`), a sibling (`other`) or an opposite."""
    found = [m for m in WORDS.finditer(text) if table.get(m.group(), {}).get(kind)]
    if not found:
        return None
    match = rng.choice(found)
    return _put(text, match, rng.choice(table[match.group()][kind]))


def add_phrase(text: str, other: str, rng: random.Random) -> str | None:
    """Add a phrase of another sentence at the end: something that the evidence does not say."""
    found = [m.group() for m in PHRASE.finditer(other) if m.group().strip() not in text]
    if not found or not text.endswith("."):
        return None
    return f"{text[:-1]}{rng.choice(found).rstrip(' ,.')}."


def from_evidence(text: str, evidence: str, rng: random.Random) -> str | None:
    """Exchange a name or a number for another one of the evidence: who did what is mixed up."""
    for pattern in rng.sample((NAME, NUMBER), 2):
        found = list(pattern.finditer(text))
        others = [one for one in pattern.findall(evidence) if one not in text]
        if found and others:
            return _put(text, rng.choice(found), rng.choice(others))
    return None


def fused(one: str, other: str) -> str | None:
    """The beginning of one sentence with the end of another."""
    first, second = one.split(), other.split()
    if len(first) < 8 or len(second) < 8:
        return None
    return " ".join(first[: len(first) // 2] + second[len(second) // 2 :])


TURNING: dict[str, Change] = {"number": number, "unit": unit, "date": date, "antonym": antonym, "negate": negate}
OTHER: dict[str, Change] = {"clause": clause, "drop": drop_words, "swap": swap_names}


def _put(text: str, match: re.Match[str], new: str) -> str:
    return text[: match.start()] + new + text[match.end() :]
