"""Grade an answer by rule where a model cannot be: equal texts, JSON, code, dates, times of day, numbers with units.

A rule answers only when it is sure what it compares, and gives None else.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from evergold.judge.code import FENCE, compare_code, looks_like_code
from evergold.judge.evidence import stems_of
from evergold.judge.quantities import dates, fold, quantities, same_date, times, with_digits, words_beside
from evergold.text.words import fold_text

# Never 1 and never 0: a rule may misread, and a calibrated judge leaves room for that.
RIGHT, WRONG = 0.95, 0.05
_BRACKET = re.compile(r"\s*(?:```\w*\s*)?[{\[]")
_DENIED = re.compile(
    r"(?:\b(?:not|never|no|nunca)|n't) (?!only|just|solo|later|before|antes)(?:[^\W\d]+ ){0,3}\d[^,;.!?]*?"
    r"(?=,|;|[.!?](?:\s|$)|$| but\b| sino\b)"
)
"""A number under a negation, up to the end of its clause: "not on 3 March 1990 but on 4 May 1991"."""
_OR = re.compile(r"\d\S*(?: [^\W\d]+)?,? (?:or|o) (?:\w+ )?[$€£]?\d")
_BOUND = re.compile(
    r"\b(?:(?:more|less|fewer|greater|later|earlier) than|over|under|above|below|after|before|at (?:least|most)|up to|until|"
    r"(?:mas|menos) de|(?:al|por lo) menos|como (?:maximo|minimo)|hasta|despues de|antes de)(?: \w+)? [$€£]?\d|[<>≤≥] ?\d"
)
_ROUGH = re.compile(
    r"\b(?:about|approximately|approx|around|roughly|nearly|almost|some|circa|unos|unas|aproximadamente|cerca de|casi)\b|[~≈]"
)
_WEEKDAYS = [
    re.compile(rf"\b(?:{both})")
    for both in (
        "mon(?:day)?\\b|lunes",
        "tue|martes",
        "wed|miercoles",
        "thu|jueves",
        "fri(?:day)?\\b|viernes",
        "sat(?:urday)?\\b|sabado",
        "sun(?:day)?\\b|domingo",
    )
]
_SURE = re.compile(r"\b(?:not|n't|never|no|sino|nunca|either|o bien|but|pero)\b|n't\b")


@dataclass(frozen=True)
class Grade:
    """How right an answer is, from 0 to 1, and why."""

    value: float
    reason: str


def normal_text(text: str) -> str:
    """A text without fence, spaces, case and closing marks; code keeps its case."""
    fences = FENCE.findall(text)
    text = fences[0] if len(fences) == 1 and FENCE.fullmatch(text.strip()) else text
    text = re.sub(r"\s+", " ", text).strip()
    return text.strip("`") if looks_like_code(text) else text.casefold().strip(" .!\"'`*¡¿“”")


def grade_by_rule(question: str, expected: str, output: str) -> Grade | None:
    """Grade an answer by the first rule that applies."""
    expected, output = expected.strip(), output.strip()
    if not output:
        return Grade(0.0, "the answer is empty") if expected else Grade(1.0, "both are empty")
    # The text itself first: no rule may find fault with an exact copy.
    if normal_text(expected) == normal_text(output) and normal_text(expected):
        return Grade(1.0, "the same text")
    return next((grade for rule in RULES if (grade := rule(question, expected, output)) is not None), None)


def _json(question: str, expected: str, output: str) -> Grade | None:
    # Only an expected answer that is JSON as a whole asks for JSON.
    want = parse_json(expected) if _BRACKET.match(expected) else None
    if not isinstance(want, dict | list):
        return None
    got = parse_json(output)
    if got is None:
        return Grade(WRONG, "the answer has no JSON")
    several = isinstance(want, dict) and any(not _same_json(got, other) for other in _objects_in(output))
    same = _same_json(want, got) and not several
    return Grade(1.0, "the same JSON") if same else Grade(WRONG, "the JSON differs")


def _same_json(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: `true` is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same_json(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same_json, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _objects_in(text: str) -> Iterator[Any]:
    """The JSON objects of a text."""
    at = text.find("{")
    while at >= 0:
        try:
            value, size = json.JSONDecoder().raw_decode(text[at:])
        except (ValueError, RecursionError):
            size = 1
        else:
            yield value
        at = text.find("{", at + size)


def _code(question: str, expected: str, output: str) -> Grade | None:
    if not looks_like_code(expected):
        return None
    value, reason = compare_code(expected, output)
    return Grade(value, reason)


def _date(question: str, expected: str, output: str) -> Grade | None:
    """For an expected answer that is a date or a time of day and little else."""
    rest = len(stems_of(expected) - stems_of(question))
    output, denied = _drop_denied(expected, output)
    clock, want = times(expected), dates(expected)
    if denied and not (times(output) if clock else dates(output)):
        return Grade(WRONG, "it is denied") if rest <= 5 else None
    if not denied and _is_bounded(expected, output):
        return None
    # `12/9` may be a fraction anywhere but beside a date; the year stands in for one that is not asked for.
    given = dates(output) or dates(re.sub(r"\b(\d\d?/\d\d?)\b(?!/)", r"\1/1000", output))
    same_day = any(same_date(one, got) for one in want for got in given)
    if clock and rest <= 5 and times(output):
        if (want and given and not same_day) or _weekdays(expected) != (_weekdays(output) or _weekdays(expected)):
            return Grade(WRONG, "another day")
        return _compare(clock[0] in times(output), "time")
    either_order = len(want) == 2 and want[0] == (want[1][0], want[1][2], want[1][1])
    # A bare month is too little to be sure that a date is asked for.
    if not (len(want) == 1 or either_order) or rest > (4 if want[0][1] else 2) or not given:
        return None
    return _compare(same_day, "date")


def _quantity(question: str, expected: str, output: str) -> Grade | None:
    """For an expected answer that is one number with its unit and nothing that could be wrong besides."""
    want = quantities(expected)
    asked = stems_of(question)
    if len(want) != 1 or len(expected.split()) > 12:
        return None
    key = stems_of(words_beside(expected)) - asked
    output, denied = _drop_denied(expected, output)
    # Numbers of the question are usually repeated in the answer and are not its result.
    got = [quantity for quantity in quantities(output) if quantity not in quantities(question) or quantity == want[0]]
    if not got:
        return Grade(WRONG, "it is denied") if denied and not key else None
    rough = any(_ROUGH.search(fold_text(text)) for text in (expected, output))
    same = [one for one in got if one.is_same(want[0], rough)]
    # A bare number stands for one with a unit only where the answer has no unit at all.
    bare = want[0].dimension and not any(one.dimension for one in same) and any(one.dimension for one in got)
    if not same or bare:
        return Grade(WRONG, "another number")
    if len(same) < len(got) and _OR.search(fold_text(output)) and not _OR.search(fold_text(expected)):
        return Grade(WRONG, "more than one number")
    # The right number beside other words ("500 mg of ibuprofen"), as a bound or under a negation, is left to the model.
    sure = not key and not (_SURE.search(fold_text(output)) and len(output.split()) > 3)
    return Grade(RIGHT, "the same number") if sure and not _is_bounded(expected, output) else None


def _drop_denied(expected: str, output: str) -> tuple[str, bool]:
    """An answer without the numbers that it denies, and whether it denies any; where the expected one does too, as it is."""
    text = with_digits(fold(output))
    if not _DENIED.search(text) or _DENIED.search(with_digits(fold(expected))):
        return output, False
    return _DENIED.sub(" ", text), True


def _is_bounded(expected: str, output: str) -> bool:
    """Whether only the answer says that a number is a bound: "more than 12"."""
    return bool(_BOUND.search(with_digits(fold(output)))) and not _BOUND.search(with_digits(fold(expected)))


def _weekdays(text: str) -> list[int]:
    return [day for day, named in enumerate(_WEEKDAYS) if named.search(fold_text(text))]


def _compare(same: bool, what: str) -> Grade:
    return Grade(RIGHT, f"the same {what}") if same else Grade(WRONG, f"another {what}")


RULES: tuple[Callable[[str, str, str], Grade | None], ...] = (_json, _code, _date, _quantity)


def parse_json(text: str) -> Any:
    """Read the first JSON object or list of a text, inside a fence or not; None where there is none."""
    fences = FENCE.findall(text)
    body = (fences[0] if fences else text).strip()
    start = min((i for i in (body.find("{"), body.find("[")) if i >= 0), default=-1)
    if start < 0:
        return None
    try:
        return json.JSONDecoder().raw_decode(body[start:])[0]
    except (ValueError, RecursionError):
        return None
