"""What a user does after an answer, or an assistant instead of one, that says the answer did not help.

The user asks the same again, gives up, or wants a person; the assistant hands the conversation to one. The turn is kept out
of the golden set and is no failure. Most of this comes with the next message of the session.
"""

import re
from typing import ClassVar

from evergold.checks.phrase_files import phrases
from evergold.model.checking import CheckResult, Turn
from evergold.text.folding import folded

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
        following = _following(turn)
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
        if words := gives_up(turn.input):
            return CheckResult(0.5, "the message gives up and asks for nothing", words)
        following = _following(turn)
        if following is None:
            return None
        if words := gives_up(following):
            return CheckResult(0.5, "the user gave up after this answer", words)
        return CheckResult(1.0, "the user went on")


class NotHandedOver:
    """0.5 when the answer hands over to a person or the user wants one right after it; else 1.0."""

    name: ClassVar[str] = "not_handed_over"
    version: ClassVar[str] = "1"

    def check(self, turn: Turn) -> CheckResult | None:
        if words := hands_over(turn.output or ""):
            return CheckResult(0.5, "the answer hands over to a person", words)
        following = _following(turn)
        if following is None:
            return None
        if words := wants_person(following):
            return CheckResult(0.5, "the user asked for a person after this answer", words)
        return CheckResult(1.0, "the user went on with the assistant")


def gives_up(message: str) -> str:
    """Give the words by which a message gives up, "" where it does not; one that found a solution did not give up."""
    if len(message) > SHORT:
        return ""
    text, sets = folded(message).strip(), phrases()
    # "Never mind, I found it" gives up the question because it is solved.
    if sets.settled.search(text):
        return ""
    for clause in _CLAUSES.split(text):
        if match := sets.gives_up.fullmatch(clause.strip(" -*\"'()")):
            return match[0]
    return ""


def wants_person(message: str) -> str:
    """Give the words by which a message asks for a person instead of the assistant, "" where it does not."""
    match = phrases().wants_person.search(folded(message)) if len(message) <= SHORT else None
    return match[0] if match else ""


def hands_over(answer: str) -> str:
    """Give the words by which an answer hands the conversation to a person, "" where it does not."""
    match = phrases().hands_over.search(folded(answer)) if len(answer) <= OPENING else None
    return match[0] if match else ""


def same_question(first: str, second: str) -> bool:
    """Whether two messages ask the same: the same words and numbers, whatever the case, accents, marks, openers and closers."""
    one, two = _asked(first), _asked(second)
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


def _asked(message: str) -> list[str]:
    """The words of a message without those that only open or close it ("but can I … or not?")."""
    words = _WORDS.findall(folded(message[:1000]))
    first = next((at for at, word in enumerate(words) if word not in _OPENERS), 0)
    last = next((at for at, word in enumerate(reversed(words)) if word not in _CLOSERS), 0)
    return words[first : len(words) - last] or words


def same_answer(first: str | None, second: str | None) -> bool:
    """Whether two answers of some length are the same, as from an assistant that knows no other."""
    if not first or not second or len(first) < LONG_ENOUGH:
        return False
    return first.strip() == second.strip()


def _following(turn: Turn) -> str | None:
    return None if turn.next_input is None or (turn.next_seconds or 0.0) > WITHIN_SECONDS else turn.next_input
