"""Grade an answer against the expected one: by rule where the expected answer has a form, by entailment both ways else.

A form is JSON, code, an option, yes or no, a date, a time, a quantity, a list, or a few words. A rule answers only when
it is sure what it compares; what no rule answers goes to the small model, whose verdicts are checked for numbers,
negations and opposites that it may overlook.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evergold.judge.claim_model import REFUTED, SUPPORTED, ClaimModel
from evergold.judge.code import FENCE, compare_code, looks_like_code
from evergold.judge.polarity import chosen_letter, denials, opposed, options, refuses, turned, yes_or_no
from evergold.judge.quantities import dates, plain, quantities, same_date, times
from evergold.text.words import STOPWORDS, sentences, stem

RIGHT, NEARLY, WRONG = 0.95, 0.85, 0.05
RECALL, PRECISION, WORDS, SURE = 0.6, 0.1, 0.2, 0.1
FEW_WORDS, FEW_SENTENCES = 7, 8
LONGEST = 20_000
SPANISH_WORDS = """el la los las un una unos unas de del al a en con por para que y o u es son fue era ser esta estan
hay se su sus lo le les como mas pero este esta esto eso ese si ha han muy ya tiene"""
ALL_STOPWORDS = STOPWORDS | frozenset(SPANISH_WORDS.split())
_SEPARATOR = re.compile(r"\s*(?:,(?!\d)|;|\n|\s(?:and|y|e|&|or|o)\s)\s*(?:(?:and|y|e)\s+)?")
_SENTENCE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|can|does|did|es|son|fue|esta|está|tiene|hay)\b|[.!?]\s+[A-Z]", re.I
)
_BRACKET = re.compile(r"\s*(?:```\w*\s*)?[{\[]")
_WORD = re.compile(r"[^\W_]+(?:[.\-'’][^\W_]+)*")


@dataclass(frozen=True)
class Grade:
    """How right an answer is, from 0 to 1, and why."""

    value: float
    reason: str


def grade(question: str, expected: str, output: str, model: ClaimModel | None) -> Grade | None:
    """The grade of an answer; None where no rule answers and there is no model."""
    expected, output = expected[:LONGEST].strip(), output[:LONGEST].strip()
    if not output:
        return (
            Grade(0.0, "the answer is empty" if expected else "both are empty")
            if expected
            else Grade(1.0, "both are empty")
        )
    if _normal(expected) == _normal(output) and _normal(expected):
        return Grade(1.0, "the same text")
    for rule in RULES:
        result = rule(question, expected, output)
        if result is not None:
            return result
    return None if model is None else entailed(expected, output, model)


def entailed(expected: str, output: str, model: ClaimModel) -> Grade:
    """Entailment both ways: how much of the expected answer the answer supports, and whether either refutes the other."""
    wanted = list(sentences(expected)[:FEW_SENTENCES]) or [expected]
    words_given = list(sentences(output)[:FEW_SENTENCES]) or [output]
    pairs = [(_nearest(claim, words_given), claim) for claim in wanted] + [
        (_nearest(claim, wanted), claim) for claim in words_given
    ]
    answers = model.probabilities(pairs)
    there, back = answers[: len(wanted)], answers[len(wanted) :]
    recall, precision = float(there[:, SUPPORTED].mean()), float(back[:, SUPPORTED].mean())
    refuted = float(there[:, REFUTED].max())
    if len(wanted) == len(words_given) == 1:
        refuted = (refuted + float(back[0, REFUTED])) / 2
    shared = _likeness(expected, output)
    value = RECALL * recall + PRECISION * precision + WORDS * shared + SURE * recall * precision
    value *= 1 - refuted * (1 - recall)
    reason = f"supported {recall:.2f} and back {precision:.2f}, refuted {refuted:.2f}, shared words {shared:.2f}"
    return _checked(expected, output, value, reason)


def _checked(expected: str, output: str, value: float, reason: str) -> Grade:
    """Lower a grade that numbers, negations or opposites forbid."""
    missing = [q for q in quantities(expected) if not any(q.same(other) for other in quantities(output))]
    if missing and quantities(output):
        value, reason = min(value, 0.3), f"{reason}; a number differs"
    one, other = _stems(expected), _stems(output)
    alike = len(one & other) / max(1, min(len(one), len(other)))
    opposite = opposed(_words(expected), _words(output))
    if (
        len(one) >= 2
        and alike >= (0.5 if opposite else 0.8)
        and turned(expected, output, _words(expected), _words(output))
    ):
        value, reason = min(value, 0.2), f"{reason}; one says the opposite of the other"
    return Grade(max(0.0, min(0.99, value)), reason)


def _empty_or_refusing(question: str, expected: str, output: str) -> Grade | None:
    if refuses(output) and not refuses(expected) and len(output.split()) < 60:
        return Grade(WRONG, "the answer refuses")
    return None


def _echo(question: str, expected: str, output: str) -> Grade | None:
    """The question repeated is no answer."""
    asked, words_given = _stems(question), _stems(output)
    if not words_given or _stems(expected) <= asked or quantities(output) != quantities(question):
        return None
    if (
        words_given <= asked
        and len(words_given) >= 2
        and (output.rstrip().endswith("?") or len(words_given) >= 0.6 * len(asked))
    ):
        return Grade(WRONG, "the answer repeats the question")
    return None


def _json(question: str, expected: str, output: str) -> Grade | None:
    want = _parsed(expected) if _BRACKET.match(expected) else None  # brackets inside code or a sentence are no JSON
    if not isinstance(want, dict | list):
        return None
    got = _parsed(output)
    if got is None:
        return Grade(WRONG, "the answer has no JSON")
    if want == got:
        return Grade(1.0, "the same JSON")
    share = _json_share(want, got)
    return Grade(0.35 * share, f"the JSON differs; {share:.0%} of its values are the same")


def _code(question: str, expected: str, output: str) -> Grade | None:
    if not looks_like_code(expected):
        return None
    value, reason = compare_code(expected, output)
    return Grade(value, reason)


def _option(question: str, expected: str, output: str) -> Grade | None:
    offered = options(question)
    if not offered and not re.fullmatch(r"\W*[A-Ha-h]\W*", expected):
        return None
    want, got = chosen_letter(expected, offered), chosen_letter(output, offered)
    if want is None or (offered and want not in offered):
        return None
    if got is None:
        return (
            Grade(0.1, f"the answer chooses no option; {want.upper()} is expected")
            if len(output.split()) < 40
            else None
        )
    return Grade(RIGHT if want == got else WRONG, f"option {got.upper()}, expected {want.upper()}")


def _yes_no(question: str, expected: str, output: str) -> Grade | None:
    want = yes_or_no(expected)
    if want is None:
        return None
    got = yes_or_no(output)
    if got is None:
        if len(expected.split()) > 2:
            return None
        got = denials(output) % 2 == denials(question) % 2 and not opposed(_words(question), _words(output))
        return Grade(0.75 if got == want else 0.15, "yes or no, read from a sentence")
    if got != want:
        return Grade(WRONG, "yes and no")
    return Grade(RIGHT, "the same yes or no") if len(expected.split()) <= 2 or len(output.split()) <= 2 else None


def _date(question: str, expected: str, output: str) -> Grade | None:
    """For an expected answer that is a date or a time of day and little else."""
    rest = len(_stems(expected) - _stems(question))
    clock = times(expected)
    if clock and rest <= 5:
        return _one_of(clock[0] in times(output), bool(times(output)), "time")
    want = dates(expected)
    if len(want) != 1 or rest > 4 or not (want[0][1] or re.search(r"\b[12]\d{3}\b", expected)):
        return None
    if not want[0][1] and rest > 2:
        return None
    return _one_of(any(same_date(want[0], got) for got in dates(output)), True, "date")


def _quantity(question: str, expected: str, output: str) -> Grade | None:
    """For an expected answer that is one number with its unit and little else besides words of the question."""
    want = quantities(expected)
    key = {word for word in _stems(expected) - _stems(question) if not re.search(r"\d", word)}
    if len(want) != 1 or len(key) > 3 or len(expected.split()) > 12:
        return None
    got = [quantity for quantity in quantities(output) if quantity not in quantities(question) or quantity == want[0]]
    same_kind = [one for one in got if one.same(want[0])]
    if (
        want[0].dimension
        and same_kind
        and not any(one.dimension for one in same_kind)
        and any(one.dimension for one in got)
    ):
        same_kind = []
    if not same_kind and not got and key and key & _stems(output):
        return None
    if (
        same_kind
        and turned(expected, output, _words(expected), _words(output))
        and len(output.split()) <= 2 * FEW_WORDS
    ):
        return Grade(0.2, "the same number, but one says the opposite of the other")
    if same_kind and len(key) > 1 and len(output.split()) > 3:
        return None
    return _one_of(bool(same_kind), True, "number")


def _list(question: str, expected: str, output: str) -> Grade | None:
    want = _items(expected)
    if (
        len(want) < 2
        or any(len(item) > 4 for item in want)
        or yes_or_no(expected) is not None
        or _SENTENCE.search(_body(expected))
    ):
        return None
    got = _items(output)
    words_given = _stems(output)
    there = [item for item in want if item <= words_given]
    if len(there) < len(want):
        return Grade(0.35 * len(there) / len(want), f"{len(there)} of {len(want)} items")
    pure = len(got) >= 2 and all(len(item) <= 4 for item in got)
    extra = (
        [item for item in got if not any(item & one for one in want) and not item <= _stems(question)] if pure else []
    )
    if extra:
        return Grade(0.38, f"{len(extra)} items too many")
    return Grade(RIGHT, "all items, in any order")


def _few_words(question: str, expected: str, output: str) -> Grade | None:
    """For a short expected answer: the words that are not the question's must stand in the answer, not denied."""
    if len(expected.split()) > FEW_WORDS:
        return None
    key = _stems(expected) - _stems(question) or _stems(expected)
    words_given = _stems(output) - (_stems(question) - key)
    if not key:
        return None
    clause = _clause_with(output, key)
    if key <= words_given and clause is not None:
        if turned(expected, clause, _words(expected), _words(clause)):
            return Grade(0.2, "the expected words are denied")
        return Grade(NEARLY, "the expected words stand in the answer")
    names = {word.casefold() for word in _WORD.findall(expected) if word[0].isupper()} - ALL_STOPWORDS
    bare = len(key) <= 3 and (len(expected.split()) <= 3 or names)
    if words_given and words_given <= key and words_given & {stem(plain(name)) for name in names}:
        return Grade(0.8, "part of the expected words, and nothing else")
    if bare and not key & words_given and len(expected.split()) <= 3 and names:
        return Grade(0.1, "the expected name is missing")
    return None


RULES: tuple[Callable[[str, str, str], Grade | None], ...] = (
    _json,
    _code,
    _option,
    _empty_or_refusing,
    _echo,
    _yes_no,
    _date,
    _list,
    _quantity,
    _few_words,
)


def _one_of(same: bool, comparable: bool, what: str) -> Grade:
    if same:
        return Grade(RIGHT, f"the same {what}")
    return Grade(WRONG, f"another {what}" if comparable else f"no {what} in the answer")


def _clause_with(text: str, key: set[str]) -> str | None:
    """The clause of an answer that has the expected words; the whole text where they are spread."""
    for part in re.split(r"[.;!?\n]|,\s*(?:but|pero|sino|although|aunque|while|mientras|whereas)?\s", text):
        if key <= _stems(part):
            return part
    return text if key <= _stems(text) else None


def _normal(text: str) -> str:
    fences = FENCE.findall(text)
    text = fences[0] if len(fences) == 1 and FENCE.fullmatch(text.strip()) else text
    text = re.sub(r"\s+", " ", text).strip()
    if looks_like_code(text):
        return text.strip("`")
    return text.casefold().strip(" .!\"'`*¡¿“”")


def _stems(text: str) -> set[str]:
    return {stem(plain(word)) for word in _WORD.findall(text) if plain(word) not in ALL_STOPWORDS}


def _words(text: str) -> set[str]:
    result = {plain(word) for word in _WORD.findall(text)}
    return result | {stem(word) for word in result}


def _body(text: str) -> str:
    """A list without its marks and without the words that lead to it ("The colours are")."""
    lines = re.sub(r"(?m)^\s*(?:[-*•–]|\d{1,2}[.)])\s+", "", text).strip(" .")
    lead = re.match(r"[^,;\n]{0,80}?(?::|\b(?:are|were|include|includes|son|eran|incluyen?)\b)", lines)
    return lines[lead.end() :].strip() if lead else lines


def _items(text: str) -> list[frozenset[str]]:
    result = [frozenset(_stems(part)) for part in _SEPARATOR.split(_body(text)) if part and part.strip()]
    return [item for item in result if item]


def _likeness(expected: str, output: str) -> float:
    one, other = _stems(expected), _stems(output)
    shared = len(one & other)
    return 2 * shared / (len(one) + len(other)) if shared else 0.0


def _nearest(claim: str, parts: list[str]) -> str:
    """The parts that bear on a claim, in their order, as evidence for the model."""
    words = _stems(claim)
    ranked = sorted(range(len(parts)), key=lambda i: -len(words & _stems(parts[i])))[:3]
    return " ".join(parts[i] for i in sorted(ranked))


def _parsed(text: str) -> Any:
    fences = FENCE.findall(text)
    body = (fences[0] if fences else text).strip()
    start = min((i for i in (body.find("{"), body.find("[")) if i >= 0), default=-1)
    if start < 0:
        return None
    try:
        return json.JSONDecoder().raw_decode(body[start:])[0]
    except (ValueError, RecursionError):
        return None


def _json_share(want: Any, got: Any) -> float:
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
