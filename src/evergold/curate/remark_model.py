"""The fitted model: features of a message → how probably it is a remark of each kind.

A logistic regression whose weights stand in `remark_weights.json`, a line a feature; `scripts/fit_remarks.py` fits them. The
admission of the next answer ("you are right, …") is weighed apart: it is nearly unheard of after a message that is no remark.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp

from evergold.curate.remark_features import MessageFeatures, see, speaks_of_its_own
from evergold.model.admission import admits
from evergold.model.remark import RemarkKind

ALARMS = (RemarkKind.CORRECTION, RemarkKind.COMPLAINT)
THRESHOLD = 0.5  # of an alarm; below it a message is no correction and no complaint
ADMITTED = 40.0  # how many times likelier an admission is after a correction or complaint than after any other message
OWN_MATTER = 0.03  # how much of an alarm is left where a message speaks of a problem that is not the answer's
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
def shipped() -> RemarkWeights:
    """Read the weights that come with the package."""
    body = json.loads(files("evergold.curate").joinpath("remark_weights.json").read_text("utf-8"))
    kinds = tuple(RemarkKind(kind) for kind in body["kinds"])
    return RemarkWeights(kinds, {name: tuple(values) for name, values in body["features"].items()})


def classify(message: str, answer: str | None, question: str, reply: str | None = None) -> Guess:
    """Say what a message is, held against the answer before it and the answer it got."""
    seen = see(message, answer, question)
    shares = _shares(seen)
    admitted = admits(reply)
    if not admitted and speaks_of_its_own(message, answer, question, seen):
        shares = _normal({kind: share * (OWN_MATTER if kind in ALARMS else 1.0) for kind, share in shares.items()})
    if admitted:
        shares = _normal({kind: share * (ADMITTED if kind in ALARMS else 1.0) for kind, share in shares.items()})
    alarm = sum(shares[kind] for kind in ALARMS)
    rest = {kind: share for kind, share in shares.items() if kind not in ALARMS}
    kind = _alarm_kind(seen, shares) if alarm >= THRESHOLD else max(rest, key=rest.__getitem__)
    return Guess(kind, alarm if kind in ALARMS else shares[kind], alarm, _evidence(seen, kind, admitted))


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
