"""Check for signals that a turn is neither golden nor a failure: it did not help, or there is nothing in it to evaluate.

It did not help where the user asks the same again, gives up or wants a person, or the assistant hands the conversation to one.
Most of this comes with the next message of the session. There is nothing to evaluate where a message of courtesies alone
("thanks", "ok", a thumb up) got a courtesy. That rule is narrow on purpose, because a short request is a request: every word of
the message must be a courtesy, it must ask nothing, no tool may have been called, and the answer must be short, show courtesy
and hold no figure, code, list or link. After a word that may let something be done ("ok", "yes"), each clause of the answer
must be a courtesy, or all of it short exclamations ("¡Buen viaje!").
"""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import ClassVar

from evergold.checks.answered import has_signs, phrases
from evergold.model.check import CheckResult, Turn
from evergold.text.words import fold_text

WITHIN_SECONDS = 24 * 3600  # a message after a longer pause says nothing of the answer before it
SHORT = 240  # characters; a longer message has matters of its own
OPENING = 1500
LONG_ENOUGH = 18  # characters of an answer; "You are welcome" may come twice
_WORDS = re.compile(r"\w+")
_CLAUSES = re.compile(r"[.!?;\n]+\s*|,\s+")
OPENERS = """and but so ok okay well hey hi hello hmm um sorry please again
y pero pues oye hola bueno eh vale perdon perdona por favor"""
CLOSERS = """please again or not thanks o no por favor porfa gracias"""
_OPENERS, _CLOSERS = frozenset(OPENERS.split()), frozenset(CLOSERS.split())


class NotRepeated:
    """0.5 when within a day the user asked the same again, or got the same answer to another message; 1.0 when the session
    went on; no result before the next turn."""

    name: ClassVar[str] = "not_repeated"
    version: ClassVar[str] = "2"

    def check(self, turn: Turn) -> CheckResult | None:
        following = _next_message(turn)
        if following is None:
            return None
        if same_question(turn.input, following):
            return CheckResult(0.5, "the user asked the same again", following[:80])
        if same_answer(turn.output, turn.next_output):
            return CheckResult(0.5, "the assistant gave the same answer again", following[:80])
        return CheckResult(1.0, "the user went on")


class NotGivenUp:
    """0.5 when the user gave up, in this message or the next; 1.0 when the session went on."""

    name: ClassVar[str] = "not_given_up"
    version: ClassVar[str] = "1"

    def check(self, turn: Turn) -> CheckResult | None:
        following = _next_message(turn)
        if words := gives_up(turn.input):
            return CheckResult(0.5, "the message gives up and asks for nothing", words)
        if following is not None and (words := gives_up(following)):
            return CheckResult(0.5, "the user gave up after this answer", words)
        return None if following is None else CheckResult(1.0, "the user went on")


class NotHandedOver:
    """0.5 when the answer hands over to a person or the user wants one right after it; else 1.0."""

    name: ClassVar[str] = "not_handed_over"
    version: ClassVar[str] = "1"

    def check(self, turn: Turn) -> CheckResult | None:
        following = _next_message(turn)
        if words := hands_over(turn.output or ""):
            return CheckResult(0.5, "the answer hands over to a person", words)
        if following is not None and (words := wants_person(following)):
            return CheckResult(0.5, "the user asked for a person after this answer", words)
        return None if following is None else CheckResult(1.0, "the user went on with the assistant")


def gives_up(message: str) -> str:
    """Give the words by which a message gives up, "" where it does not; one that found a solution did not give up."""
    if len(message) > SHORT:
        return ""
    text, sets = fold_text(message).strip(), phrases()
    # "Never mind, I found it" gives up the question because it is solved.
    if sets["settled"].search(text):
        return ""
    for clause in _CLAUSES.split(text):
        if match := sets["gives_up"].fullmatch(clause.strip(" -*\"'()")):
            return match[0]
    return ""


def wants_person(message: str) -> str:
    """Give the words by which a message asks for a person instead of the assistant, "" where it does not."""
    return _find_phrase("wants_person", message, SHORT)


def hands_over(answer: str) -> str:
    """Give the words by which an answer hands the conversation to a person, "" where it does not."""
    return _find_phrase("hands_over", answer, OPENING)


def _find_phrase(name: str, text: str, longest: int) -> str:
    match = phrases()[name].search(fold_text(text)) if len(text) <= longest else None
    return match[0] if match else ""


def same_question(first: str, second: str) -> bool:
    """Whether two messages ask the same: the same words and numbers, whatever the case, accents, marks, openers and closers."""
    one, two = _trim_question(first), _trim_question(second)
    # One or two words ("yes", "how much?") are the same question only with a question mark.
    if len(one) < 3 and not (one == two and "?" in first + second):
        return False
    if one == two:
        return True
    mine, theirs = set(one), set(two)
    # Another number is another question, however alike the words are.
    numbers = {word for word in mine ^ theirs if any(map(str.isdigit, word))}
    shared = len(mine & theirs)
    return not numbers and len(mine) >= 4 and shared >= 0.85 * max(len(mine), len(theirs))


def _trim_question(message: str) -> list[str]:
    """The words of a message without those that only open or close it ("but can I … or not?")."""
    words = _WORDS.findall(fold_text(message[:1000]))
    first = next((at for at, word in enumerate(words) if word not in _OPENERS), 0)
    last = next((at for at, word in enumerate(reversed(words)) if word not in _CLOSERS), 0)
    return words[first : len(words) - last] or words


def same_answer(first: str | None, second: str | None) -> bool:
    """Whether two answers of some length are the same, as from an assistant that knows no other."""
    if not first or not second or len(first) < LONG_ENOUGH:
        return False
    return first.strip() == second.strip()


def _next_message(turn: Turn) -> str | None:
    return None if turn.next_input is None or (turn.next_seconds or 0.0) > WITHIN_SECONDS else turn.next_input


LONGEST = 80  # characters of a message that may be a courtesy
MOST_WORDS = 9
MOST_ANSWER_WORDS = 45
MOST_ANSWER_SIGNS = 300
_SUBSTANCE_WORDS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_ASKS = re.compile(r"[?？؟;：:=/\\<>{}\[\]+*\d]")
_SUBSTANCE_CLAUSES = re.compile(r"[.!?,;。！？，、\n]+")
_GIVES = re.compile(r"\d|```|https?:|^\s*(?:[-*•]|\|)\s", re.M)
# Faces, hands, hearts and what goes with them; other pictures may be a riddle or a question.
_GESTURES = re.compile(
    "[\U0001f600-\U0001f64f\U0001f442-\U0001f450\U0001f490-\U0001f49f\U0001f389\U0001f38a\U0001f4aa\U0001f4af\U0001f525"
    "\U0001f90c-\U0001f93a\U0001f970-\U0001f97a\U0001fae0-\U0001faf8\u2600\u263a\u2639\u2705\u2714\u270a-\u270d\u2728\u2764\u2b50"
    "\U0001f31f\U0001f3fb-\U0001f3ff\ufe0f\u200d]+"
)
_EXCLAIMS = re.compile(
    r"(?:\s*¡?(?:[^\W\d_]+,? ?){1,4}!+\W*)+"
)  # wishes and greetings of a few words, each with its mark
_SMILEYS = re.compile(r"(?<!\w)[:;]-?[)DPp](?!\w)|<3|\^\^")


class Substance:
    """0.5 when message and answer are courtesies alone; no result for every other turn."""

    name: ClassVar[str] = "substance"
    version: ClassVar[str] = "2"

    def check(self, turn: Turn) -> CheckResult | None:
        # A call shows that the message let something be done, however short it is.
        if turn.tools or len(turn.input) > LONGEST or not turn.output:
            return None
        kind = courtesy(turn.input)
        if kind is None or not is_courteous_answer(turn.output, strict=kind == "assenting"):
            return None
        return CheckResult(0.5, "no substance: the message is a courtesy and so is the answer", turn.input.strip())


def courtesy(message: str) -> str | None:
    """Say which kind of courtesy a message is, None where it is anything else or nothing."""
    bare, gestures = _GESTURES.subn(" ", _SMILEYS.sub(" \U0001f642 ", message))
    if _ASKS.search(bare):
        return None
    words = _SUBSTANCE_WORDS.findall(fold_text(bare))
    if not words:
        # Signs that are no gestures may mean anything.
        return "courteous" if gestures and not has_signs(bare) else None
    known = courtesies()
    core = [word for word in words if word in known["courteous"] or word in known["assenting"]]
    others = {word for word in words if word not in core} - known["beside"]
    if not core or len(words) > MOST_WORDS or (others - known["after_thanks"]):
        return None
    if others and core[0] not in known["courteous"]:
        return None
    # A word of both kinds is read by the stricter rule.
    return (
        "courteous"
        if any(word in known["courteous"] and word not in known["assenting"] for word in core)
        else "assenting"
    )


def is_courteous_answer(answer: str, *, strict: bool) -> bool:
    """Whether an answer shows courtesy and gives nothing else; `strict`: each of its clauses must show it."""
    if len(answer) > MOST_ANSWER_SIGNS or _GIVES.search(answer):
        return False
    text = fold_text(answer)
    if len(_SUBSTANCE_WORDS.findall(text)) > MOST_ANSWER_WORDS:
        return False
    clauses = (
        [clause for clause in _SUBSTANCE_CLAUSES.split(text) if _SUBSTANCE_WORDS.search(clause)] if strict else [text]
    )
    return _EXCLAIMS.fullmatch(answer) is not None or all(map(_shows_courtesy, clauses))


def _shows_courtesy(clause: str) -> bool:
    known, words = courtesies(), _SUBSTANCE_WORDS.findall(clause)
    if any(word in known["replying"] or word in known["courteous"] for word in words):
        return True
    # "Okay then" says nothing by itself, and an answer of signs alone is a gesture.
    return all(word in known["assenting"] or word in known["beside"] for word in words) or any(
        part in clause for part in known["replying_parts"]
    )


@cache
def courtesies() -> dict[str, frozenset[str]]:
    """The words of `phrases/courtesies.toml`, folded, by what they do."""
    table = tomllib.loads(files("evergold.checks").joinpath("phrases", "courtesies.toml").read_text("utf-8"))["words"]
    return {name: frozenset(fold_text(" ".join(lines)).split()) for name, lines in table.items()}
