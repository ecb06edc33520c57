"""The fitted model: features of a message → how probably it is a remark of each kind.

A logistic regression whose weights stand in `remark_weights.json`, a line a feature; `scripts/fit_remarks.py` fits them. The
admission of the next answer ("you are right, …") is weighed apart: it is nearly unheard of after a message that is no remark.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp

from evergold.curate.remark_features import OF_ANSWERS, MessageFeatures, see, speaks_of_its_own
from evergold.model.admission import admits, agrees
from evergold.model.remark import RemarkKind

ALARMS = (RemarkKind.CORRECTION, RemarkKind.COMPLAINT)
THRESHOLD = 0.5  # of an alarm; below it a message is no correction and no complaint
ADMITTED = 40.0  # how many times likelier an admission is after a correction or complaint than after any other message
AGREED = 10.0  # the same of an opening that grants what the user stated ("that is true, …")
SIGNAL = (
    0.03  # how much of an alarm is left where a message only asks for a person: a signal of its own (checks/signals.py)
)
TAKEN_UP = 0.03  # the same where a message only takes up what the answer said
OWN_MATTER = 0.03  # how much of an alarm is left where a message speaks of a problem that is not the answer's
ASKED_AGAIN = 0.5  # share of a message's words that stood in the question already
MOST_EVIDENCE = 3
SPEAKS_OF_ANSWER = (OF_ANSWERS | {"fails", "wrong", "denial"}) - {"human"}


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
def shipped() -> RemarkWeights:
    """Read the weights that come with the package."""
    body = json.loads(files("evergold.curate").joinpath("remark_weights.json").read_text("utf-8"))
    kinds = tuple(RemarkKind(kind) for kind in body["kinds"])
    return RemarkWeights(kinds, {name: tuple(values) for name, values in body["features"].items()})


def classify(message: str, answer: str | None, question: str, reply: str | None = None) -> Guess:
    """Say what a message is, held against the answer before it and the answer it got."""
    seen = see(message, answer, question)
    cues = {name.removeprefix("cue:") for name in seen.values if name.startswith("cue:")}
    admitted = _admission(seen, cues, reply)
    shares = _shares(seen)
    # Rules weaken an alarm only if the assistant did not admit a mistake itself.
    if admitted == 1.0 and "human" in cues and not cues & SPEAKS_OF_ANSWER:
        shares = _weighed(shares, SIGNAL)
    elif admitted == 1.0 and _takes_up(seen, cues):
        shares = _weighed(shares, TAKEN_UP)
    elif admitted == 1.0 and speaks_of_its_own(message, answer, question, seen):
        shares = _weighed(shares, OWN_MATTER)
    shares = _weighed(shares, admitted)
    alarm = sum(shares[kind] for kind in ALARMS)
    rest = {kind: share for kind, share in shares.items() if kind not in ALARMS}
    # Alarms are decided on their sum: correction and complaint may share the probability.
    kind = _alarm_kind(seen, shares) if alarm >= THRESHOLD else max(rest, key=rest.__getitem__)
    return Guess(kind, alarm if kind in ALARMS else shares[kind], alarm, _evidence(seen, kind, admitted > 1.0))


def _admission(seen: MessageFeatures, cues: set[str], reply: str | None) -> float:
    """How much likelier an alarm is by the answer that the message got; "sorry" to "never mind" is a courtesy."""
    if "gives_up" in cues:
        return 1.0
    if admits(reply):
        return ADMITTED
    return AGREED if not seen.values.get("question") and agrees(reply) else 1.0


def _takes_up(seen: MessageFeatures, cues: set[str]) -> bool:
    """Whether a message denies nothing and only says what the answer said, to choose or confirm it ("at 6" of "at 5 or at 6"),
    or asks again for what an answer did not have."""
    if cues & SPEAKS_OF_ANSWER or seen.values.get("denied_word"):
        return False
    without = seen.values.get("answer_has_none") or seen.values.get("no_answer")
    return seen.values.get("of_answer") == 1.0 or bool(without and seen.values.get("of_question", 0.0) >= ASKED_AGAIN)


def _weighed(shares: dict[RemarkKind, float], factor: float) -> dict[RemarkKind, float]:
    return _normal({kind: share * (factor if kind in ALARMS else 1.0) for kind, share in shares.items()})


def _alarm_kind(seen: MessageFeatures, shares: dict[RemarkKind, float]) -> RemarkKind:
    """Tell a correction from a complaint: one that says what is right is a correction, however loud the rest of it."""
    if seen.values.get("wrong_and_value") or seen.values.get("denial_and_value"):
        return RemarkKind.CORRECTION
    return max(ALARMS, key=shares.__getitem__)


def _shares(seen: MessageFeatures) -> dict[RemarkKind, float]:
    weights = shipped()
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
    weights = shipped()
    at, none = weights.kinds.index(kind), weights.kinds.index(RemarkKind.NONE)
    gain = {
        name: (weights.features[name][at] - weights.features[name][none]) * value for name, value in seen.values.items()
    }
    loudest = sorted((name for name in gain if gain[name] > 0.1), key=lambda name: -gain[name])[:MOST_EVIDENCE]
    evidence = [f"{name.removeprefix('cue:')}: {seen.words[name]}" if name in seen.words else name for name in loudest]
    return (*evidence, "the next answer admits it") if admitted else tuple(evidence)
