"""A user's message as a remark on an earlier answer of the session. Pure values: no clock, no store."""

from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel


class RemarkKind(StrEnum):
    """What a message says of an earlier answer: what is right instead, that it is wrong, that it may be, the question again."""

    CORRECTION = "correction"
    COMPLAINT = "complaint"
    DOUBT = "doubt"
    REPEAT = "repeat"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """A question and its answer before the message, and how many seconds lie between the two messages (None: unknown)."""

    id: str
    input: str
    output: str | None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message, the turns before it in its session (the latest first), and the answer that it got, where there is one."""

    id: str
    text: str
    earlier: tuple[EarlierTurn, ...]
    reply: str | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """What a message says, of which turn, how probably, and the words or facts that decided."""

    kind: RemarkKind
    trace_id: str
    probability: float
    evidence: tuple[str, ...] = ()


class ShownRemark(BaseModel, frozen=True, extra="forbid"):
    """A remark as people see it: the message, the turn it is on, what it says, how probably, by what words, who found it."""

    message_id: str
    target_id: str
    kind: RemarkKind
    probability: float
    evidence: tuple[str, ...] = ()
    detector: str = ""
    message: str = ""
