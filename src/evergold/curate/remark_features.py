"""Features of a user's message, compared with the answer and the question before it.

Every feature is a number from 0 to 1 with a name a person can read. Some are cues: words and turns of phrase in English and
Spanish, read from `phrases/`, one file a language. A cue says only that some words are there; what they weigh is fitted. The
other features need no words: values given again or replaced, words of the answer denied, spelling that is nearly the same, the
question repeated. Only the beginning of long texts is looked at, so that the time does not grow with them.
"""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from math import log2

from evergold.text.words import fold_text

LANGUAGES = ("english", "spanish")
# What follows one of these, up to the end of the clause, is not said of the answer ("if that is wrong, tell me").
_SUPPOSED = re.compile(
    r"\b(?:if|whether|in case|unless|suppose|por si|si (?:algo|esta|hay|es|lo|la|te|entre))\b[^,.;!?\n]*"
)


def cues_in(text: str) -> dict[str, str]:
    """Find the cues of a folded text, each with the words that are it."""
    # A supposition ("if that is wrong") is no statement about the answer.
    certain = _SUPPOSED.sub(" ", text)
    spoken = _compile_cues()["harmless"].sub(" ", certain)
    cues = {}
    for name, pattern in _compile_cues().items():
        # Cues of whole situations need the text as it is, harmless and supposed parts included.
        match = pattern.search(text if name in ("harmless", "condition", "gives_up") else spoken)
        if match is not None and match[0].strip():
            cues[name] = match[0].strip(" ,.!")
    return cues


def cue_names() -> tuple[str, ...]:
    """Name every cue, in the order of the files."""
    return tuple(_compile_cues())


@cache
def _compile_cues() -> dict[str, re.Pattern[str]]:
    gathered: dict[str, list[str]] = defaultdict(list)
    for language in LANGUAGES:
        table = tomllib.loads(files("evergold.curate").joinpath("phrases", f"{language}.toml").read_text("utf-8"))
        for name, patterns in table["cues"].items():
            gathered[name] += [_fill_words(pattern, table["words"]) for pattern in patterns]
    return {name: re.compile("|".join(f"(?:{one})" for one in patterns)) for name, patterns in gathered.items()}


def _fill_words(pattern: str, words: dict[str, str]) -> str:
    for name, group in words.items():
        pattern = pattern.replace("{" + name + "}", group)
    return pattern


MESSAGE, ANSWER = 600, 4000  # characters of a message and of an answer that are looked at
MOST_COMPARED, MOST_CLAUSES = 200, 20
# Words and characters.
MANY_WORDS, OPEN_END = 25, 300  # a longer message than this, and how much of the end of an answer is looked at
ROOT = 6  # letters by which words are compared where endings do not matter: reserva, reservar
_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*")
DENYING = """not no ni isn't isnt wasn't aren't arent doesn't doesnt don't dont never nunca tampoco nor"""
_CLAUSE = re.compile(r"[.;:!?,\n]\s+| - |\bbut\b|\bpero\b|\bbecause\b|\bporque\b")
_IS = re.compile(
    r"\b(?:is|are|was|were|it's|its|that's|be|means|es|son|era|eran|fue|seria|ser|somos|significa|lleva)\b|'s\b"
)
_SUBJECT = re.compile(
    r"(?<![^\W\d_])([^\W\d_]{3,}) (?:is|are|was|were|has|es|esta|son|estan|era|fue|tiene|no es|no esta)\b"
)
_JUDGES = re.compile(
    r"\b(?:wrong|incorrect|mistake\w*|right|correct|true|false|accurate|sense|what i|what we|mal|incorrect[oa]|error|fals[oa]|"
    r"ciert[oa]|verdad|correct[oa]|asi|equivoc\w+|lo que|thanks?|gracias|sorry|please|work\w*|funciona|sirve|again|"
    r"not the ones?|no (?:es|era|son|eran|fue|fueron) (?:el|la|los|las) que)\b"
)
_HAS_NONE = re.compile(  # the answer has nothing to offer, so a next message with other values changes the wish
    r"\b(?:unfortunately|sorry|afraid|unable|could not|couldn't|no \w+ (?:available|matching|match|found)|"
    r"(?:there (?:is|are)|i have|we have) (?:no|not any)|lo siento|lamento|lamentablemente|"
    r"(?:lo )?sentimos|no (?:hay|quedan?|tenemos|encuentro|dispongo|esta disponible))\b"
)
SENTENCE = re.compile(r"(?<=[.!?])\s+")
_OPEN = re.compile(
    r"\b(?:what|which|why|how|who|whom|where|when|name|tell|give|describe|que|cual|cuales|por que|como|quien|donde|cuando|"
    r"cuant[oa]s?|dime|cuentame|explica\w*)\b"
)
_REQUEST_VERBS = re.compile(r"\b(?:please|tell me|give|name|describe|dime|cuentame|explica\w*|por favor)\b")
_LETTERS = re.compile(r"[^\W\d_]")
_QUOTED = re.compile(r"[\"“«']([^\"”»']{2,40})[\"”»']")
COUNTS = """zero one two three four five six seven eight nine ten eleven twelve
cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce"""
AUXILIARY = """can could will would shall should may might must do does did has have had was were is are am
puede puedo puedes pueden podria podrian debe deben debia sera seria serian habia hubo haya sea fuera estaba ser estar"""
FUNCTION = """a an the and or but if so to of in on at for by with from as is are was were be been am it its it's this that these
those there here he she they we i you me my your our their his her him them us do does did done have has had will would
can could should may might must not no yes ok okay please just only also very too then than when what which who how why
where all any some more most other such own same up out about into over after before again now ll s t re ve m d im
el la los las un una unos unas y o u pero si no ya de del al a en por para con sin que como es son era eran fue ser
esta estan estaba este esto ese eso esa esos esas estas yo tu te ti me mi mis se su sus lo le les nos os muy mas
menos tan tanto hay ha he has han hoy solo pues porque cuando donde quien cual cuanto tengo tiene tienes va voy
eh che jaja lol um hm vale bueno gracias thanks thank"""
ANSWER_CUES = """denial wrong_of_answer wrong_opens i_said i_meant should_be source you_did opposite again doubts actually
angry human gives_up understands_nothing"""
OF_ANSWERS = frozenset(ANSWER_CUES.split())
_DENYING, _FUNCTION = frozenset(DENYING.split()), frozenset(FUNCTION.split())
_AUXILIARY = frozenset(word for plain in AUXILIARY.split() for word in (plain, f"{plain}n't", f"{plain}nt"))
_COUNTS = {word: str(at % 13) for at, word in enumerate(COUNTS.split())} | {"una": "1"}
SEEN = (
    "question", "exclaims", "shouts", "short", "words", "long", "reply_asks", "denial_answers", "denied_word", "said_before",
    "number_said_before", "other_number", "same_number", "of_answer", "of_question", "novel", "respelled", "repeats",
    "bare_value", "quotes_answer", "states_other_number", "states_of_answer", "denial_states", "denial_number",
    "doubt_asked", "wrong_asked", "contrast", "no_answer", "order_restates", "replaces_number", "own_change", "plain_denial",
    "plain_wrong", "gives_value", "wrong_and_value", "denial_and_value", "reply_asks_open", "many_words", "opinion_answers",
    "answer_has_none",
)  # fmt: skip


@dataclass(frozen=True)
class MessageFeatures:
    """The features of a message, and the words behind those that words are behind."""

    values: dict[str, float]
    words: dict[str, str] = field(default_factory=dict)
    text: str = ""  # the message as it was looked at: folded, its beginning

    @cached_property
    def cues(self) -> frozenset[str]:
        """The names of the cues among the features."""
        return frozenset(name.removeprefix("cue:") for name in self.values if name.startswith("cue:"))


@dataclass(frozen=True)
class Words:
    """A text taken apart: its tokens, the content words and the numbers among them."""

    tokens: tuple[str, ...]
    content: frozenset[str]
    numbers: frozenset[str]

    @classmethod
    def of(cls, text: str) -> "Words":
        # Small numbers in words and digits are the same value ("two", "2").
        tokens = tuple(_COUNTS.get(token, token) for token in _TOKEN.findall(text))
        numbers = frozenset(_number(token) for token in tokens if token[0].isdigit())
        words = frozenset(_stem(token) for token in tokens if not token[0].isdigit() and token not in _FUNCTION)
        return cls(tokens, words, numbers)


def feature_names() -> tuple[str, ...]:
    """Name every feature, in the order in which weights are kept."""
    return (*(f"cue:{name}" for name in cue_names()), *SEEN)


def see(message: str, answer: str | None, question: str) -> MessageFeatures:
    """Take the features of a message that follows an answer to a question."""
    text = fold_text(message[:MESSAGE]).strip()
    spoken = " ".join(text.split())
    message_words, given, asked = (
        Words.of(spoken),
        Words.of(fold_text((answer or "")[:ANSWER])),
        Words.of(fold_text(question[:ANSWER])),
    )
    cues = cues_in(spoken)
    values = dict.fromkeys((f"cue:{name}" for name in cues), 1.0)
    words = {f"cue:{name}": text for name, text in cues.items()}
    values |= _form(message, message_words, answer)
    against, evidence = _against(message_words, given, asked, spoken)
    values |= against
    values["gives_value"] = float(not values["question"] and _gives_value(spoken, given, asked))
    values |= _together(values, cues)
    values["doubt_asked"] = float("doubts" in cues and "?" in spoken)  # also "sure? it was 5 yesterday"
    return MessageFeatures({name: value for name, value in values.items() if value}, words | evidence, spoken)


def touches(message: str, answer: str | None, question: str) -> int:
    """Count the content words and numbers of a message that a turn has, whatever the endings of long words.

    A word of the answer that is denied counts twice, and so does one of which the message says what it is ("Ana is away").
    """
    text = fold_text(message[:MESSAGE])
    message_words, given = Words.of(text), Words.of(fold_text((answer or "")[:ANSWER]))
    asked = Words.of(fold_text(question[:ANSWER]))
    shared = (_roots(message_words.content) & _roots(given.content | asked.content)) | (
        message_words.numbers & (given.numbers | asked.numbers)
    )
    stated = {word[:ROOT] for word in map(_stem, _SUBJECT.findall(text))} & shared
    return len(shared) + len(stated | set(_find_denied(message_words.tokens, given.content | given.numbers)))


def _roots(words: Iterable[str]) -> set[str]:
    return {word[:ROOT] for word in words}


def _form(message: str, message_words: Words, answer: str | None) -> dict[str, float]:
    letters = _LETTERS.findall(message[:MESSAGE])
    ends = message[:MESSAGE].rstrip(" \n)\"'")
    return {
        "question": float(ends.endswith("?") or "¿" in message[:MESSAGE]),
        "exclaims": float("!" in message[:MESSAGE]),
        "shouts": float(len(letters) >= 4 and sum(map(str.isupper, letters)) >= 0.6 * len(letters)),
        "short": float(len(message_words.tokens) <= 3),
        "words": min(log2(len(message_words.tokens) + 1) / 7, 1.0),
        "long": float(len(message) > MESSAGE),
        "reply_asks": float(bool(answer) and answer is not None and answer.rstrip().endswith("?")),
        "reply_asks_open": float(_asks_open(answer)),
        "answer_has_none": float(_HAS_NONE.search(fold_text((answer or "")[:ANSWER])) is not None),
        "many_words": float(len(message_words.tokens) > MANY_WORDS),
        "no_answer": float(not (answer or "").strip()),
    }


def _asks_open(answer: str | None) -> bool:
    """Whether an answer ends by asking for more than a yes or no: then the next message most probably replies to it."""
    last = SENTENCE.split(fold_text((answer or "")[-OPEN_END:]).strip())[-1]
    return bool(_OPEN.search(last)) and (last.endswith("?") or _REQUEST_VERBS.search(last) is not None)


def _against(message_words: Words, given: Words, asked: Words, text: str) -> tuple[dict[str, float], dict[str, str]]:
    """Hold the words and numbers of a message against those of the answer and the question."""
    total = len(message_words.content) + len(message_words.numbers)
    words: dict[str, str] = {}
    again = (message_words.content & asked.content) - given.content
    # Without a number in the answer there is nothing that another number could replace.
    other = message_words.numbers - given.numbers - asked.numbers if given.numbers else frozenset()
    numbers_again = (message_words.numbers & asked.numbers) - given.numbers
    denied = _find_denied(message_words.tokens, given.content | given.numbers)
    respelled = _find_respelled(message_words.content - asked.content - given.content, given.content)
    quoted = [part for part in _QUOTED.findall(text) if set(_TOKEN.findall(part)) <= set(given.tokens)]
    known = given.content | asked.content | given.numbers | asked.numbers
    for name, matched in {
        "said_before": again, "other_number": other, "number_said_before": numbers_again, "denied_word": denied,
        "respelled": respelled, "quotes_answer": quoted,
    }.items():  # fmt: skip
        if matched:
            words[name] = " ".join(sorted(matched)[:4])
    values = {
        "denied_word": float(bool(denied)),
        "said_before": min(len(again), 2) / 2,
        "number_said_before": float(bool(numbers_again)),
        "other_number": float(bool(other)),
        "same_number": float(bool(message_words.numbers & given.numbers)),
        "of_answer": len((message_words.content & given.content) | (message_words.numbers & given.numbers)) / total
        if total
        else 0.0,
        "of_question": len((message_words.content & asked.content) | (message_words.numbers & asked.numbers)) / total
        if total
        else 0.0,
        "novel": len((message_words.content | message_words.numbers) - known) / total if total else 0.0,
        "respelled": float(bool(respelled)),
        "repeats": float(
            total >= 2 and (message_words.content | message_words.numbers) == (asked.content | asked.numbers)
        ),
        "quotes_answer": float(bool(quoted)),
        "contrast": float(
            bool(denied) and bool((message_words.content | message_words.numbers) - given.content - given.numbers)
        ),
        # The user changes a value of their own that the answer had repeated.
        "own_change": float(bool(other) and bool(given.numbers & asked.numbers)),
        "bare_value": float(len(message_words.tokens) <= 4 and bool(other or numbers_again or again or respelled)),
    }
    return values, words


def _together(values: dict[str, float], cues: dict[str, str]) -> dict[str, float]:
    """Features that mean more together than each alone."""
    has = values.get
    denial, states = "denial" in cues, "states" in cues
    wrong = "wrong_of_answer" in cues or "wrong" in cues
    going_on = has("question") or any(name in cues for name in ("asks", "orders", "wants", "declines", "affirms"))
    glad = any(name in cues for name in ("thanks", "praise", "harmless", "opinion", "own_fault"))
    return {
        "denial_answers": float(denial and bool(has("reply_asks"))),
        "denial_states": float(denial and states and not has("reply_asks")),
        "denial_number": float(denial and bool(has("other_number") or has("number_said_before"))),
        "states_other_number": float(states and bool(has("other_number")) and not has("question")),
        "states_of_answer": has("of_answer", 0.0) if states and not has("question") else 0.0,
        "replaces_number": float(
            bool(has("other_number")) and not (going_on or glad or has("reply_asks") or has("own_change"))
        ),
        "plain_denial": float(denial and not (going_on or glad or has("reply_asks"))),
        "wrong_and_value": float((wrong or "wrong_opens" in cues) and bool(has("gives_value"))),
        "denial_and_value": float(denial and bool(has("gives_value")) and not (going_on or glad or has("reply_asks"))),
        "opinion_answers": float("opinion" in cues and bool(has("reply_asks") or has("reply_asks_open"))),
        "plain_wrong": float(wrong and not (going_on or glad)),
        "wrong_asked": float(wrong and bool(has("question"))),
        "order_restates": float(("orders" in cues or "wants" in cues) and bool(has("said_before"))),
    }


def _gives_value(text: str, given: Words, asked: Words) -> bool:
    """Whether a clause gives something that the answer lacks: "it is Quito", "Quito", and not "that is wrong"."""
    for clause in _CLAUSE.split(text)[:MOST_CLAUSES]:
        # A clause that judges ("that is wrong") gives no value of its own.
        if _JUDGES.search(clause):
            continue
        clause_words = Words.of(clause)
        fresh = (clause_words.content - given.content - _AUXILIARY) | (clause_words.numbers - given.numbers)
        if fresh and (_IS.search(clause) or len(clause_words.tokens) <= 3 or fresh & (asked.content | asked.numbers)):
            return True
    return False


def _number(token: str) -> str:
    """Write a number or a time one way: 08:30 as 8:30, 18:00 as 18, 4,95 as 4.95."""
    plain = token.replace(",", ".")
    head, sign, tail = plain.partition(":") if ":" in plain else plain.partition(".")
    head = head.lstrip("0") or "0"
    return head if not tail.strip("0") else f"{head}{sign}{tail}"


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 4 and word.endswith("s") else word


def _find_denied(tokens: tuple[str, ...], of_answer: frozenset[str]) -> list[str]:
    """Find words of the answer that the message denies: "not Sydney", "Sydney isn't"."""
    plain = [_number(token) if token[0].isdigit() else _stem(token) for token in tokens]
    near_words = []
    for at, token in enumerate(tokens):
        if token not in _DENYING:
            continue
        # Up to three words behind a denial and one before it: "not Sydney", "Sydney isn't".
        near = [*plain[at + 1 : at + 4], *plain[max(at - 1, 0) : at]]
        near_words += [word for word in near if word in of_answer]
    return near_words


def _find_respelled(message_words: frozenset[str], given: frozenset[str]) -> list[str]:
    """Find words that differ from a word of the answer by a letter or two."""
    mine, theirs = sorted(message_words)[:MOST_COMPARED], sorted(given)[:MOST_COMPARED]
    return [word for word in mine if len(word) > 3 and any(_near(word, other) for other in theirs)]


def _near(one: str, two: str) -> bool:
    if one == two or abs(len(one) - len(two)) > 1 or len(two) < 4 or (one[:1] != two[:1] and one[-2:] != two[-2:]):
        return False
    head = 0
    while head < min(len(one), len(two)) and one[head] == two[head]:
        head += 1
    tail = 0
    while tail < min(len(one), len(two)) - head and one[-1 - tail] == two[-1 - tail]:
        tail += 1
    return max(len(one), len(two)) - head - tail <= (1 if len(one) < 6 else 2)
