"""The words and the JSON of an answer as grading compares them with the expected answer's.

Words are compared without case, accents and stopwords, as stems. The lexical judge grades by `compare_answers` alone.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from evergold.judge.code import FENCE, looks_like_code
from evergold.judge.quantities import plain
from evergold.text.words import STOPWORDS, Text, stem

SPANISHWORDS = """el la los las un una unos unas de del al a en con por para que y o u es son fue era ser esta estan
hay se su sus lo le les como mas pero este esta esto eso ese si ha han muy ya tiene"""
ALL_STOPWORDS = STOPWORDS | frozenset(SPANISHWORDS.split())
WORD = re.compile(r"[^\W_]+(?:[.\-'’][^\W_]+)*")


def normal_text(text: str) -> str:
    """A text without fence, spaces, case and closing marks; code keeps its case."""
    fences = FENCE.findall(text)
    text = fences[0] if len(fences) == 1 and FENCE.fullmatch(text.strip()) else text
    text = re.sub(r"\s+", " ", text).strip()
    if looks_like_code(text):
        return text.strip("`")
    return text.casefold().strip(" .!\"'`*¡¿“”")


def stems_of(text: str) -> set[str]:
    """The stems of the words that carry meaning."""
    return {stem(plain(word)) for word in WORD.findall(text) if plain(word) not in ALL_STOPWORDS}


def words_of(text: str) -> set[str]:
    """All words and their stems."""
    result = {plain(word) for word in WORD.findall(text)}
    return result | {stem(word) for word in result}


def likeness(expected: str, output: str) -> float:
    """The share of stems that two texts have in common, from 0 to 1."""
    one, other = stems_of(expected), stems_of(output)
    shared = len(one & other)
    return 2 * shared / (len(one) + len(other)) if shared else 0.0


def parsed_json(text: str) -> Any:
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


def json_share(want: Any, got: Any) -> float:
    """The share of the expected leaves that stand in the same place."""
    wanted, result = dict(_leaves(want)), dict(_leaves(got))
    same = sum(1 for key, value in wanted.items() if key in result and result[key] == value)
    return same / max(1, len(wanted | result))


def _leaves(value: Any, path: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in _leaves(inner, f"{path}.{key}")]
    if isinstance(value, list):
        return [leaf for index, inner in enumerate(value) for leaf in _leaves(inner, f"{path}[{index}]")]
    return [(path, value)]


@dataclass(frozen=True)
class Likeness:
    """How an answer compares with the expected one; `value` is what the offline judge grades by."""

    shared_words: float
    numbers: float | None

    @property
    def value(self) -> float:
        """The shared words, nine parts in ten, and the numbers the expected answer has, one in ten."""
        return self.shared_words if self.numbers is None else 0.9 * self.shared_words + 0.1 * self.numbers


def compare_answers(expected: str, output: str) -> Likeness:
    want, got = Text(expected), Text(output)
    if not want.words or not got.words:
        # Without words (signs, emoji, numbers alone) only equality can be told.
        return Likeness(float(expected.strip() == output.strip()), None)
    numbers = len(want.numbers & got.numbers) / len(want.numbers) if want.numbers else None
    shared = (Counter(want.content) & Counter(got.content)).total()
    precision, recall = shared / len(got.content), shared / len(want.content)
    return Likeness(min(1.0, 2 * precision * recall / (precision + recall)) if shared else 0.0, numbers)
