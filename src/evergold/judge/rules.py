"""Grade an answer by rule where a model cannot be: equal texts, JSON, code, dates, times of day, numbers with units.

A rule answers only when it is sure what it compares, and gives None else.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evergold.judge.code import FENCE, compare_code, looks_like_code
from evergold.judge.evidence import stems_of
from evergold.judge.quantities import dates, quantities, same_date, times, words_beside
from evergold.text.words import fold_text

# Never 1 and never 0: a rule may misread, and a calibrated judge leaves room for that.
RIGHT, WRONG = 0.95, 0.05
_BRACKET = re.compile(r"\s*(?:```\w*\s*)?[{\[]")
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
    return Grade(1.0, "the same JSON") if want == got else Grade(WRONG, "the JSON differs")


def _code(question: str, expected: str, output: str) -> Grade | None:
    if not looks_like_code(expected):
        return None
    value, reason = compare_code(expected, output)
    return Grade(value, reason)


def _date(question: str, expected: str, output: str) -> Grade | None:
    """For an expected answer that is a date or a time of day and little else."""
    rest = len(stems_of(expected) - stems_of(question))
    clock = times(expected)
    if clock and rest <= 5 and times(output):
        return _compare(clock[0] in times(output), "time")
    want = dates(expected)
    either_order = len(want) == 2 and want[0] == (want[1][0], want[1][2], want[1][1])
    # `12/9` may be a fraction anywhere but beside a date; the year stands in for one that is not asked for.
    given = dates(output) or dates(re.sub(r"\b(\d\d?/\d\d?)\b(?!/)", r"\1/1000", output))
    # A bare month is too little to be sure that a date is asked for.
    if not (len(want) == 1 or either_order) or rest > (4 if want[0][1] else 2) or not given:
        return None
    return _compare(any(same_date(one, got) for one in want for got in given), "date")


def _quantity(question: str, expected: str, output: str) -> Grade | None:
    """For an expected answer that is one number with its unit and nothing that could be wrong besides."""
    want = quantities(expected)
    asked = stems_of(question)
    if len(want) != 1 or len(expected.split()) > 12:
        return None
    key = stems_of(words_beside(expected)) - asked
    # Numbers of the question are usually repeated in the answer and are not its result.
    got = [quantity for quantity in quantities(output) if quantity not in quantities(question) or quantity == want[0]]
    if not got:
        return None
    same = [one for one in got if one.is_same(want[0])]
    # A bare number stands for one with a unit only where the answer has no unit at all.
    bare = want[0].dimension and not any(one.dimension for one in same) and any(one.dimension for one in got)
    if not same or bare:
        return Grade(WRONG, "another number")
    # The right number beside other words ("500 mg of ibuprofen"), or under a negation, is left to the model.
    sure = not key and not (_SURE.search(fold_text(output)) and len(output.split()) > 3)
    return Grade(RIGHT, "the same number") if sure else None


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
