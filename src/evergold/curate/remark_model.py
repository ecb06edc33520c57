"""Classify a message by a fitted model: its features → how probably it is a remark of each kind.

A logistic regression whose weights stand in `remark_weights.json`, a line a feature; `scripts/fit_remarks.py` fits them. The
admission of the next answer ("you are right, …") is weighed apart: it is nearly unheard of after a message that is no remark.
`PLAIN_WORDS` says how each feature is shown to people as evidence.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp

from evergold.curate.remark_features import MessageFeatures, see
from evergold.curate.remark_rules import (
    asks_for,
    chooses,
    is_hint,
    is_no_remark,
    left_of_alarm,
    of_topic_left_out,
    rests_on_words,
    speaks_of_answer,
)
from evergold.model.checking import RemarkKind, admits, agrees, regrets

PLAIN_WORDS = {
    "cue:thanks": "thanks",
    "cue:praise": "praises",
    "cue:affirms": "affirms",
    "cue:declines": "wants another one",
    "cue:harmless": "a courtesy",
    "cue:own_fault": "blames itself",
    "cue:denial": "says no",
    "cue:wrong_of_answer": "calls the answer wrong",
    "cue:wrong": "speaks of a mistake",
    "cue:wrong_opens": "opens with a verdict",
    "cue:fails": "says that it does not work",
    "cue:i_said": "says what was asked for",
    "cue:i_meant": "says what was meant",
    "cue:should_be": "says what should be",
    "cue:source": "names a source",
    "cue:you_did": "names a fault",
    "cue:opposite": "says that it is the other way round",
    "cue:again": "asks again",
    "cue:doubts": "doubts",
    "cue:states": "states",
    "cue:though": "objects",
    "cue:actually": "sets it right",
    "cue:asks": "asks",
    "cue:orders": "gives an order",
    "cue:wants": "wants something",
    "cue:opinion": "has an opinion",
    "cue:condition": "makes a condition",
    "cue:laughs": "laughs",
    "cue:angry": "is angry",
    "cue:human": "asks for a person",
    "cue:gives_up": "gives up",
    "cue:understands_nothing": "was not understood",
    "question": "is a question",
    "exclaims": "exclaims",
    "shouts": "is in capitals",
    "short": "is short",
    "words": "has many words",
    "long": "is long",
    "reply_asks": "the answer asked",
    "denial_answers": "says no to a question of the answer",
    "denied_word": "denies words of the answer",
    "said_before": "says words of the question again",
    "number_said_before": "says a number of the question again",
    "other_number": "gives another number",
    "same_number": "has a number of the answer",
    "of_answer": "has words of the answer",
    "of_question": "has words of the question",
    "novel": "has new words",
    "respelled": "spells a word of the answer otherwise",
    "repeats": "is the question again",
    "bare_value": "is a bare value",
    "quotes_answer": "quotes the answer",
    "states_other_number": "states another number",
    "states_of_answer": "states something about words of the answer",
    "denial_states": "says no and states",
    "denial_number": "says no and gives a number",
    "doubt_asked": "asks whether it is so",
    "wrong_asked": "asks about a mistake",
    "contrast": "denies a word and gives another",
    "no_answer": "there was no answer",
    "order_restates": "orders the same again",
    "replaces_number": "replaces a number of the answer",
    "own_change": "changes a value of its own",
    "plain_denial": "only says no",
    "plain_wrong": "only calls it wrong",
    "gives_value": "gives something that the answer lacks",
    "wrong_and_value": "calls it wrong and says what is right",
    "denial_and_value": "says no and what is right",
    "reply_asks_open": "the answer asked for something",
    "many_words": "has many words",
    "opinion_answers": "answers with an opinion",
    "answer_has_none": "the answer had nothing to offer",
}

ALARMS = (RemarkKind.CORRECTION, RemarkKind.COMPLAINT)
THRESHOLD = 0.5  # of an alarm; below it a message is no correction and no complaint
ADMITTED = 40.0  # how many times likelier an admission is after a correction or complaint than after any other message
AGREED = (
    10.0  # the same of an opening that grants what the user stated ("that is true, …") or regrets ("I apologize if …")
)
MOST_EVIDENCE = 3


@dataclass(frozen=True)
class RemarkWeights:
    """The kinds, and by feature its weight for each of them; the feature "" is the intercept."""

    kinds: tuple[RemarkKind, ...]
    features: dict[str, tuple[float, ...]]


@dataclass(frozen=True)
class Guess:
    """The most probable kind, its probability, that of an alarm of either kind, and what spoke for it."""

    kind: RemarkKind
    probability: float
    alarm: float
    evidence: tuple[str, ...] = ()


@cache
def load_weights() -> RemarkWeights:
    """Read the weights that come with the package."""
    body = json.loads(files("evergold.curate").joinpath("remark_weights.json").read_text("utf-8"))
    kinds = tuple(RemarkKind(kind) for kind in body["kinds"])
    return RemarkWeights(kinds, {name: tuple(values) for name, values in body["features"].items()})


def classify(message: str, answer: str | None, question: str, reply: str | None = None) -> Guess:
    """Say what a message is, held against the answer before it and the answer it got."""
    seen = of_topic_left_out(see(message, answer, question), question)
    unremarkable = is_no_remark(message)
    admitted = 1.0 if unremarkable else _admission(seen, reply, asks_for(answer, seen))
    # An admission of the assistant outweighs the situation of the message.
    factor = admitted if admitted > 1.0 else left_of_alarm(message, answer, question, seen)
    shares = _weigh_alarms(_shares(seen), 0.0 if unremarkable else factor)
    alarm = sum(shares[kind] for kind in ALARMS)
    rest = {kind: share for kind, share in shares.items() if kind not in ALARMS}
    # Alarms are decided on their sum: correction and complaint may share the probability.
    kind = _alarm_kind(seen, shares) if alarm >= THRESHOLD else max(rest, key=rest.__getitem__)
    # A difference that no words speak of is a hint: people see it, and it is no failure.
    if kind in ALARMS and admitted == 1.0 and not rests_on_words(seen):
        hint = is_hint(seen)
        evidence = (*_evidence(seen, kind, admitted=False), "no words speak of the answer") if hint else ()
        return Guess(RemarkKind.DOUBT if hint else RemarkKind.NONE, alarm, alarm, evidence)
    return Guess(kind, alarm if kind in ALARMS else shares[kind], alarm, _evidence(seen, kind, admitted > 1.0))


def _admission(seen: MessageFeatures, reply: str | None, asked: bool) -> float:
    """How much likelier an alarm is by the answer that the message got; "sorry" to "never mind" is a courtesy.

    After a question of either side a reply may only confirm: "Is it at 5?" "Correct, at 5", or a quiz. Whoever gives what the
    answer asked for is not the reason of an apology.
    """
    if "gives_up" in seen.cues or ((asked or chooses(seen)) and not speaks_of_answer(seen)):
        return 1.0
    if admits(reply):
        return ADMITTED
    granted = agrees(reply) and not asked and not seen.values.get("question") and rests_on_words(seen)
    return AGREED if regrets(reply) or granted else 1.0


def _weigh_alarms(shares: dict[RemarkKind, float], factor: float) -> dict[RemarkKind, float]:
    return _normal({kind: share * (factor if kind in ALARMS else 1.0) for kind, share in shares.items()})


def _alarm_kind(seen: MessageFeatures, shares: dict[RemarkKind, float]) -> RemarkKind:
    """Tell a correction from a complaint: one that says what is right is a correction, however loud the rest of it."""
    if seen.values.get("wrong_and_value") or seen.values.get("denial_and_value"):
        return RemarkKind.CORRECTION
    return max(ALARMS, key=shares.__getitem__)


def _shares(seen: MessageFeatures) -> dict[RemarkKind, float]:
    weights = load_weights()
    sums = list(weights.features[""])
    for name, value in seen.values.items():
        for at, weight in enumerate(weights.features[name]):
            sums[at] += weight * value
    # Subtracting the largest exponent keeps exp from overflowing.
    top = max(sums)
    return _normal({kind: exp(each - top) for kind, each in zip(weights.kinds, sums, strict=True)})


def _normal(shares: dict[RemarkKind, float]) -> dict[RemarkKind, float]:
    total = sum(shares.values())
    return {kind: share / total for kind, share in shares.items()}


def _evidence(seen: MessageFeatures, kind: RemarkKind, admitted: bool) -> tuple[str, ...]:
    """The features that spoke loudest for the kind and against none, with their words."""
    weights = load_weights()
    at, none = weights.kinds.index(kind), weights.kinds.index(RemarkKind.NONE)
    gain = {
        name: (weights.features[name][at] - weights.features[name][none]) * value for name, value in seen.values.items()
    }
    loudest = sorted((name for name in gain if gain[name] > 0.1), key=lambda name: -gain[name])[:MOST_EVIDENCE]
    evidence = [
        f"{PLAIN_WORDS[name]}: {seen.words[name]}" if name in seen.words else PLAIN_WORDS[name] for name in loudest
    ]
    return (*evidence, "the next answer admits it") if admitted else tuple(evidence)
