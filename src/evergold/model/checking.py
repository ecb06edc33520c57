"""The input and the result of a check. Pure values: no clock, no store."""

from dataclasses import dataclass, field
from typing import Any

from evergold.model.trace import ScoreSource, TraceStatus


# Dataclasses and no pydantic models: one is made for each turn that checks see, and its values were validated before.
@dataclass(frozen=True, slots=True)
class ToolStep:
    """One tool call of a trace, in the order of time."""

    name: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """A trace as checks see it: the question, the answer, how it ended, and what the user asked afterwards.

    `next_input` is the user's next message in the session, `next_seconds` how long after this turn it came, `next_output`
    the answer it got. `system` is the
    text of the instructions where the trace has any.
    """

    id: str
    input: str
    output: str | None
    status: TraceStatus = TraceStatus.COMPLETED
    name: str = ""
    started_at: str | None = None
    ended_at: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    tools: tuple[ToolStep, ...] = ()
    finish_reasons: tuple[str, ...] = ()
    output_type: str | None = None
    contexts: tuple[str, ...] = ()
    next_input: str | None = None
    next_seconds: float | None = None
    next_output: str | None = None


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A value from 0 to 1 with the reason and the words or figures it rests on."""

    value: float
    reason: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """One check's outcome on one trace: a result, nothing where it does not apply, or the error that stopped it."""

    trace_id: str
    check: str
    version: str
    result: CheckResult | None = None
    error: str | None = None
    source: ScoreSource = ScoreSource.SYSTEM
