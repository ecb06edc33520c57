"""Rules that grade an answer where the expected one has a form: JSON, code, an option, yes or no, a date, a time, a quantity,
a list, or a few words. A rule answers only when it is sure what it compares, and gives None else.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from evergold.judge.answer_words import ALL_STOPWORDS, WORD, json_share, parsed_json, stems_of, words_of
from evergold.judge.code import compare_code, looks_like_code
from evergold.judge.polarity import (
    DENIALS,
    chosen_letter,
    contradicts,
    denials,
    has_opposites,
    negates,
    options,
    refuses,
    yes_or_no,
)
from evergold.judge.quantities import dates, is_unit, plain, quantities, same_date, times
from evergold.text.words import stem

# Never 1 and never 0: a rule may misread, and a calibrated judge leaves room for that.
RIGHT, NEARLY, WRONG = 0.95, 0.85, 0.05
FEW_WORDS = 7
# Blanks before a separator stay with the part: looked for from each of them, a long run would take quadratic time.
_SEPARATOR = re.compile(r"(?:,(?!\d)|;|\n|\s(?:and|y|e|&|or|o)\s)\s*(?:(?:and|y|e)\s+)?")
_SENTENCE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|can|does|did|es|son|fue|esta|está|tiene|hay)\b|[.!?]\s+[A-Z]", re.I
)
_EXCLUDED = re.compile(
    r"\b(?:but not|but no|not including|not|except(?: for)?|excluding|without|pero no|excepto|salvo|sin|menos)\b[^.;\n]*"
)
"""What a list leaves out: everything after "but not" up to the end of the sentence."""
_PASSIVE = re.compile(r"\b(?:is|are|was|were|be|been|being|es|son|fue|fueron|sido)\b[^.]*\b(?:by|por)\b")
_BRACKET = re.compile(r"\s*(?:```\w*\s*)?[{\[]")


@dataclass(frozen=True)
class Grade:
    """How right an answer is, from 0 to 1, and why."""

    value: float
    reason: str


def _empty_or_refusing(question: str, expected: str, output: str) -> Grade | None:
    if refuses(output) and not refuses(expected) and len(output.split()) < 60:
        return Grade(WRONG, "the answer refuses")
    return None


def _echo(question: str, expected: str, output: str) -> Grade | None:
    """The question repeated is no answer."""
    asked, words_given = stems_of(question), stems_of(output)
    # An answer may repeat the question and add the number that was asked for.
    if not words_given or stems_of(expected) <= asked or quantities(output) != quantities(question):
        return None
    if (
        words_given <= asked
        and len(words_given) >= 2
        and (output.rstrip().endswith("?") or len(words_given) >= 0.6 * len(asked))
    ):
        return Grade(WRONG, "the answer repeats the question")
    return None


def _json(question: str, expected: str, output: str) -> Grade | None:
    # Only an expected answer that is JSON as a whole asks for JSON.
    want = parsed_json(expected) if _BRACKET.match(expected) else None  # brackets inside code or a sentence are no JSON
    if not isinstance(want, dict | list):
        return None
    got = parsed_json(output)
    if got is None:
        return Grade(WRONG, "the answer has no JSON")
    if want == got:
        return Grade(1.0, "the same JSON")
    share = json_share(want, got)
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
        # No yes or no in the answer: two denials, or none, keep the sense of the question.
        got = denials(output) % 2 == denials(question) % 2 and not has_opposites(words_of(question), words_of(output))
        return Grade(0.75 if got == want else 0.15, "yes or no, read from a sentence")
    if got != want:
        return Grade(WRONG, "yes and no")
    if len(expected.split()) <= 2 or len(output.split()) <= 2:
        return Grade(RIGHT, "the same yes or no")
    shared = stems_of(expected) & stems_of(output)
    alike = len(shared) >= 0.5 * min(len(stems_of(expected)), len(stems_of(output)))
    same_numbers = quantities(expected) == quantities(output) and dates(expected) == dates(output)
    if alike and same_numbers and not has_opposites(words_of(expected), words_of(output)):
        return Grade(0.8, "the same yes or no, and most of the words")
    return None


def _same_words(question: str, expected: str, output: str) -> Grade | None:
    """The same words in another order or form: right unless subject and object changed places or one side denies."""
    one, other = (
        [stem(plain(word)) for word in WORD.findall(text) if plain(word) not in ALL_STOPWORDS | DENIALS]
        for text in (expected, output)
    )
    if len(one) < 2 or len(one) != len(other) or not all(any(_akin(a, b) for b in other) for a in one):
        return None
    if not all(any(_akin(a, b) for a in one) for b in other) or quantities(expected) != quantities(output):
        return None
    if contradicts(expected, output, words_of(expected), words_of(output)):
        return Grade(0.2, "the same words, but one denies them")
    in_order = all(_akin(a, b) for a, b in zip(one, other, strict=True))
    passive = [bool(_PASSIVE.search(plain(text))) for text in (expected, output)]
    if passive[0] != passive[1] and in_order:
        return Grade(0.2, "the same words, but what acts and what is acted on have changed places")
    return Grade(NEARLY, "the same words") if in_order or passive[0] != passive[1] else None


def _akin(one: str, other: str) -> bool:
    """Whether two stems are forms of one word, a denying prefix aside ("effect", "ineffectiv")."""
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= 5 and long.startswith(short)) or negates(long, short)


def _date(question: str, expected: str, output: str) -> Grade | None:
    """For an expected answer that is a date or a time of day and little else."""
    rest = len(stems_of(expected) - stems_of(question))
    clock = times(expected)
    if clock and rest <= 5:
        return _one_of(clock[0] in times(output), bool(times(output)), "time")
    want = dates(expected)
    either_order = len(want) == 2 and want[0] == (want[1][0], want[1][2], want[1][1])
    # A bare month or year is too little to be sure that a date is asked for.
    if not (len(want) == 1 or either_order) or rest > 4 or not (want[0][1] or re.search(r"\b[12]\d{3}\b", expected)):
        return None
    if not want[0][1] and rest > 2:
        return None
    return _one_of(any(same_date(one, got) for one in want for got in dates(output)), True, "date")


def _quantity(question: str, expected: str, output: str) -> Grade | None:
    """For an expected answer that is one number with its unit and little else besides words of the question."""
    want = quantities(expected)
    key = {word for word in stems_of(expected) - stems_of(question) if not re.search(r"\d", word) and not is_unit(word)}
    if len(want) != 1 or len(key) > 3 or len(expected.split()) > 12:
        return None
    # Numbers of the question are usually repeated in the answer and are not its result.
    got = [quantity for quantity in quantities(output) if quantity not in quantities(question) or quantity == want[0]]
    same_kind = [one for one in got if one.same(want[0])]
    if (
        want[0].dimension
        and same_kind
        and not any(one.dimension for one in same_kind)
        and any(one.dimension for one in got)
    ):
        same_kind = []
    if not same_kind and not got and key and key & stems_of(output):
        return None
    if (
        same_kind
        and contradicts(expected, output, words_of(expected), words_of(output))
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
    words_given = stems_of(output if denials(expected) else _EXCLUDED.sub(" ", plain(output)))
    there = [item for item in want if item <= words_given]
    if len(there) < len(want):
        return Grade(0.35 * len(there) / len(want), f"{len(there)} of {len(want)} items")
    pure = len(got) >= 2 and all(len(item) <= 4 for item in got)
    extra = (
        [item for item in got if not any(item & one for one in want) and not item <= stems_of(question)] if pure else []
    )
    if extra:
        return Grade(0.38, f"{len(extra)} items too many")
    return Grade(RIGHT, "all items, in any order")


def _few_words(question: str, expected: str, output: str) -> Grade | None:
    """For a short expected answer: the words that are not the question's must stand in the answer, not denied."""
    if len(expected.split()) > FEW_WORDS:
        return None
    # Words that the question has already prove nothing when they stand in the answer.
    key = stems_of(expected) - stems_of(question) or stems_of(expected)
    words_given = stems_of(output) - (stems_of(question) - key)
    if not key:
        return None
    clause = _clause_with(output, key)
    if key <= words_given and clause is not None:
        if contradicts(expected, clause, words_of(expected), words_of(clause)):
            return Grade(0.2, "the expected words are denied")
        return Grade(NEARLY, "the expected words stand in the answer")
    names = {word.casefold() for word in WORD.findall(expected) if word[0].isupper()} - ALL_STOPWORDS
    bare = len(key) <= 3 and (len(expected.split()) <= 3 or names)
    if words_given and words_given <= key and words_given & {stem(plain(name)) for name in names}:
        return Grade(0.8, "part of the expected words, and nothing else")
    if bare and not key & words_given and len(expected.split()) <= 3 and names:
        return Grade(0.1, "the expected name is missing")
    return None


# The order matters: forms that are certain come first, loose words last.
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
    _same_words,
    _few_words,
)


def _one_of(same: bool, comparable: bool, what: str) -> Grade:
    if same:
        return Grade(RIGHT, f"the same {what}")
    return Grade(WRONG, f"another {what}" if comparable else f"no {what} in the answer")


def _clause_with(text: str, key: set[str]) -> str | None:
    """The clause of an answer that has the expected words; the whole text where they are spread."""
    for part in re.split(r"[.;!?\n]|,\s*(?:but|pero|sino|although|aunque|while|mientras|whereas)?\s", text):
        if key <= stems_of(part):
            return part
    return text if key <= stems_of(text) else None


def _body(text: str) -> str:
    """A list without its marks and without the words that lead to it ("The colours are")."""
    lines = re.sub(r"(?m)^[^\S\n]*(?:[-*•–]|\d{1,2}[.)])\s+", "", text).strip(" .")
    lead = re.match(r"[^,;\n]{0,80}?(?::|\b(?:are|were|include|includes|son|eran|incluyen?)\b)", lines)
    return lines[lead.end() :].strip() if lead else lines


def _items(text: str) -> list[frozenset[str]]:
    result = [frozenset(stems_of(part)) for part in _SEPARATOR.split(_body(text)) if part and part.strip()]
    return [item for item in result if item]
