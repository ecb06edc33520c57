"""Situations in which a message is less of a remark than its words suggest.

The fitted weights know which words and values stand in a message. Here is what they cannot know: whether the message answers a
question of the assistant, sets the next task, mends the user's own slip, or speaks of something else.
"""

import re
from collections import Counter
from dataclasses import replace

from evergold.curate.remark_features import MESSAGE, OF_ANSWERS, OPEN_END, SENTENCE, MessageFeatures, Words, touches
from evergold.text.folding import folded

LEFT = 0.03  # how much of an alarm is left in such a situation
ASKED_AGAIN = 0.5  # share of a message's words that stood in the question already
SAME_FORM, OWN_WORDS = (
    0.7,
    0.5,
)  # shares of the question's and of the message's words that two tasks of one form have in common
FEWEST_WORDS = 4  # of a question that another one can have the form of
EXPRESSION = 80  # letters of a message that may be something to compute
OWN_CONTENT = 3  # content words of a message that speaks of a matter of its own
SPEAKS_OF_ANSWER = (OF_ANSWERS | {"fails", "wrong", "denial"}) - {"human"}
# Cues that speak of the answer even where the message replies to a question or tells of something else.
CERTAIN = frozenset(
    {
        "wrong_of_answer",
        "wrong_opens",
        "i_said",
        "i_meant",
        "you_did",
        "understands_nothing",
        "angry",
        "doubts",
        "denial",
    }
)
ELSEWHERE = CERTAIN | {"source", "gives_up", "opposite"}
TO_ASSISTANT = """you your yours tu te ti usted ustedes vos su this that it esto eso ahi alli"""
_ADDRESSING = frozenset(TO_ASSISTANT.split())
_OF_THINGS = frozenset({"fails", "wrong"})  # cues that a thing may have as well as an answer
_GOES_ON = frozenset({"asks", "orders", "wants"})
OWN = """i i'm i've im my me mine we we're our us yo mi mis me nos nuestro nuestra soy estoy tengo"""
_OWN = frozenset(OWN.split())
_THERE = re.compile(r"\bthere\b(?!'s| (?:is|are|was|were|will|has|have|seems?)\b)")  # a place, not "there is"
_REQUESTS = re.compile(  # a request without a question mark: "Please enter your PIN", "I need to know the day", "A ___ is"
    r"\b(?:please|kindly|could you|can you|would you|may i|por favor|podrias?|puedes?)\b[^.!?]{0,30}"
    r"\b(?:provide|specify|enter|state|choose|select|pick|type|spell|fill in|have your|indic\w+|facilit\w+|proporcion\w+|elig\w+|"
    r"escrib\w+|especific\w+)\b|"
    r"\b(?:tell me|name (?:an?|one|some|the|your)|describe|dime|cuentame)\b|"
    r"\b(?:i|we)(?:'ll| will)?(?: also| still| just)? need (?:to know|your|the)\b|"
    r"\bnecesit(?:o|amos) (?:saber|tu|su|el|la)\b|_{3,}"
)
_OF_TOPICS = ("cue:human", "cue:angry", "cue:wrong")
_A_HUMAN = re.compile(
    r"^human\b|\b(?:a|an actual|a real|a live|some) human\b(?! \w+)|\bhuman (?:agent|operator|support|please|being)\b"
)
_CODE = re.compile(r"```.*?(?:```|\Z)", re.S)
_TO_COMPUTE = re.compile(r"[\d\s.,()+*^/x-]*\d\s*[+*^][\d\s.,()+*^/x-]*=?\s*|[\d\s.,()+*^/-]*\d\s*=\s*")
_OWN_SLIP = re.compile(
    r"(?:oh |no |ah )?(?:oops|ups|sorry|my (?:bad|mistake|apologies)|apologies|i apologi[sz]e|perdon|perdona|disculpa)\b.{0,20}\b"
    r"(?:i (?:meant|mean|mistyped|typed|was thinking)|quise decir|queria decir|me referia|me refiero)\b"
)


def of_topic_left_out(seen: MessageFeatures, question: str) -> MessageFeatures:
    """Leave out cues whose words are what the question is about, and a "human" nobody asked for.

    "Joke" after a joke was asked for judges nothing, nor does "human history" ask for a person.
    """
    asked = Words.of(folded(question[:MESSAGE])).content
    dropped = {
        name for name in _OF_TOPICS if (content := Words.of(seen.words.get(name, "")).content) and content <= asked
    }
    if seen.words.get("cue:human") == "human" and not _A_HUMAN.search(seen.text):
        dropped.add("cue:human")
    return replace(seen, values={name: value for name, value in seen.values.items() if name not in dropped})


def is_no_remark(message: str) -> bool:
    """Whether a message remarks on nothing, whatever the next answer says: the user's own slip, or nothing but code."""
    return _OWN_SLIP.match(folded(message[:MESSAGE]).strip()) is not None or not _CODE.sub("", message).strip()


def left_of_alarm(message: str, answer: str | None, question: str, seen: MessageFeatures) -> float:
    """Give the share of an alarm that is left: all of it, or `LEFT` in one of the situations below."""
    cues = {name.removeprefix("cue:") for name in seen.values if name.startswith("cue:")}
    text = folded(message[:MESSAGE]).strip()
    situations = (
        # Asking for a person is a signal of its own (checks/signals.py).
        "human" in cues and not cues & SPEAKS_OF_ANSWER,
        _takes_up(seen, cues),
        asks_for(answer, seen) and not cues & CERTAIN and not seen.values.get("denied_word"),
        _goes_on(text, question, seen, cues),
        speaks_of_its_own(message, answer, question, seen),
    )
    return LEFT if any(situations) else 1.0


def _takes_up(seen: MessageFeatures, cues: set[str]) -> bool:
    """Whether a message denies nothing and only says what the answer said, to choose or confirm it ("at 6" of "at 5 or at 6"),
    or asks again for what an answer did not have."""
    if cues & SPEAKS_OF_ANSWER or seen.values.get("denied_word"):
        return False
    without = seen.values.get("answer_has_none") or seen.values.get("no_answer")
    return seen.values.get("of_answer") == 1.0 or bool(without and seen.values.get("of_question", 0.0) >= ASKED_AGAIN)


def asks_for(answer: str | None, seen: MessageFeatures) -> bool:
    """Whether an answer ends by asking for something, so that a message most probably gives it: a name, a number, a report."""
    last = SENTENCE.split(folded((answer or "")[-OPEN_END:]).strip())[-1]
    return _REQUESTS.search(last) is not None or (bool(seen.values.get("reply_asks_open")) and last.endswith("?"))


def _goes_on(text: str, question: str, seen: MessageFeatures, cues: set[str]) -> bool:
    """Whether a message denies nothing and goes on: it asks, is long, has something computed, or sets a task of the form of
    the one before with other values."""
    if cues & CERTAIN or seen.values.get("denied_word"):
        return False
    computes = len(text) <= EXPRESSION and _TO_COMPUTE.fullmatch(text) is not None
    if "asks" in cues or seen.values.get("many_words") or computes:
        return True
    mine, theirs = (Words.of(each).tokens for each in (text, folded(question[:MESSAGE]).strip()))
    if mine == theirs or min(len(mine), len(theirs)) < FEWEST_WORDS:
        return mine == theirs  # the question itself is a repeat
    shared = (Counter(mine) & Counter(theirs)).total()
    return shared >= SAME_FORM * len(theirs) and shared >= OWN_WORDS * len(mine)


def speaks_of_its_own(message: str, answer: str | None, question: str, seen: MessageFeatures) -> bool:
    """Whether a message speaks of something that neither question nor answer speaks of: a new matter.

    "My printer does not work" after opening hours is a question for help, and "I was born in 1998" after a date is talk. After an
    answer with code in it, or where the message speaks to the assistant, it may well be the answer that does not work.
    """
    cues = {name.removeprefix("cue:") for name in seen.values if name.startswith("cue:")}
    if cues & ELSEWHERE or (cues & OF_ANSWERS and cues & _OF_THINGS) or "```" in (answer or ""):
        return False
    text = folded(message[:MESSAGE])
    words = Words.of(text)
    # People tell of themselves and give orders; a plain statement of fact may well replace what the answer stated.
    if not cues & (_OF_THINGS | _GOES_ON) and _OWN.isdisjoint(words.tokens):
        return False
    if len(words.content) < OWN_CONTENT or not _ADDRESSING.isdisjoint(words.tokens) or _THERE.search(text):
        return False
    return touches(message, answer, question) == 0
