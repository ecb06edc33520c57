"""What upkeep says of a set: its topics, how much of the traffic they cover, and the problems that recur in them."""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel

from evergold.model.case import TierEvidence


class Topic(BaseModel, frozen=True):
    """What is asked by a group of traces and cases. It is covered by three golden cases."""

    id: int
    name: str
    traces: int
    failures: int
    golden: int
    candidates: int
    covered: bool


class TopicPosition(BaseModel, frozen=True):
    """Where a topic lies on the map, from 0 to 1; topics of like questions lie near each other."""

    id: int
    x: float
    y: float


class TopicChange(BaseModel, frozen=True, extra="forbid"):
    """What a person makes of topics: exactly one of a name, topics to take in, or a number of parts."""

    name: str | None = None
    merge: tuple[int, ...] = ()
    split: int | None = None


class CoverageWeek(BaseModel, frozen=True):
    """The traffic of a week that begins on a Monday, and the share of it in covered topics."""

    week: str
    traces: int
    share: float


class Drift(BaseModel, frozen=True):
    """How far the topics of the last 7 days lie from those of the 28 days before; null where there is too little traffic."""

    value: float | None
    threshold: float | None
    alarm: bool


class TopicGap(BaseModel, frozen=True):
    """A topic that is not covered."""

    topic: int
    name: str
    traces: int
    failure_share: float
    why: str


class TopicCoverage(BaseModel, frozen=True):
    """The share of the last 28 days of traffic in covered topics, with its 95 % interval.

    Null: no topics are known yet.
    `distance` is how far the topics of the golden cases lie from those of that traffic, from 0 (the same) to 1.
    """

    share: float | None
    low: float | None
    high: float | None
    weeks: list[CoverageWeek]
    distance: float | None
    drift: Drift
    gaps: list[TopicGap]


class ProblemState(StrEnum):
    OPEN = "open"
    FIXED = "fixed"
    REOPENED = "reopened"


class RecurringProblem(BaseModel, frozen=True):
    """Failures of one reason that recur in a topic. `traces` are the newest of them."""

    id: int
    topic: int
    name: str
    reason: str
    count: int
    first_seen: str
    last_seen: str
    trend: list[int]
    """Occurrences in each of the last four weeks, the oldest first."""
    state: ProblemState
    dataset: str
    """Of its regression cases; empty: none were made."""
    traces: list[str]


class ProblemCases(BaseModel, frozen=True):
    """The regression cases of a problem. A run over the dataset that passes them all closes it; `gate` names it to `--gate`."""

    problem: int
    dataset: str
    gate: str
    added: int


class ReviewNext(BaseModel, frozen=True):
    """A case whose review is worth something, and why. Values are for comparison alone."""

    dataset: str
    id: str
    tier: str
    evidence: TierEvidence
    title: str
    value: float
    why: str


class Basis(BaseModel, frozen=True):
    """One thing that a reference rests on: a document, a tool's result, or the answer, whose `hash` is of the passage, the
    result or the text."""

    kind: Literal["answer", "document", "tool"]
    name: str
    hash: str
    model: str
    """Of the answer; empty where it is not known, or where a person or a source gave the answer."""
    prompt_version: str
    """Of the answer, as `name@version` where the prompt has a name."""
    seen_at: str
    """When the same content came last."""


class StaleReason(BaseModel, frozen=True):
    """Why a case's reference may no longer hold: what it rests on as it was, and as it came since. Null: it was deleted."""

    dataset: str
    id: str
    because: str
    was: str | None
    now: str | None
    at: str
    trace_id: str | None
    """The trace in which the change came."""
    model: str
    prompt_version: str


class StaleAction(StrEnum):
    """What a person makes of a stale reference: it still holds, another answer does, or the case is taken out."""

    KEEP = "keep"
    REPLACE = "replace"
    RETIRE = "retire"


class StaleDecision(BaseModel, frozen=True, extra="forbid"):
    """What a person decides; `answer` goes with `replace`."""

    action: StaleAction
    answer: str | None = None
