"""A run: a dataset × a target × metrics → attempts → measurements."""

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, model_validator

from evergold.model.case import LineRange
from evergold.model.moment import UtcTime
from evergold.model.nesting import Values
from evergold.model.notebook import html_of_pairs
from evergold.model.replay import Replay
from evergold.model.tool_calls import ToolCall


class RunStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        return self in (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED)


class MeasurementState(StrEnum):
    SCORED = "scored"
    UNSCORED = "unscored"
    ERROR = "error"
    NOT_APPLICABLE = "not_applicable"


class Usage(BaseModel, frozen=True, extra="forbid"):
    """Tokens and money; `cost` is null where no price is known, which is not the same as free.

    So a sum is null too as soon as tokens of unknown price are in it: part of a bill is not the bill.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None

    def plus(self, other: "Usage") -> "Usage":
        known = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            # Free calls without tokens have no price and spoil no sum; tokens without a price do.
            cost=sum(known) if known and not (self.unpriced or other.unpriced) else None,
        )

    @property
    def unpriced(self) -> bool:
        """Whether there are tokens whose price nobody knows."""
        return self.cost is None and self.input_tokens + self.output_tokens > 0


class Measurement(BaseModel, frozen=True, extra="forbid"):
    """A value, or the reason why there is none. "Could not judge" is never 0.

    A metric that does not apply to a case (no reference, no expected calls) is outside every mean and its coverage.
    """

    state: MeasurementState
    value: float | None = None
    reason: str | None = None
    details: dict[str, Any] = Field(default_factory=dict)
    usage: Usage = Usage()

    @model_validator(mode="after")
    def value_only_when_scored(self) -> Self:
        # A value beside an error would be averaged by somebody; no value beside "scored" would be a zero to somebody
        # else.
        if (self.value is not None) != (self.state is MeasurementState.SCORED):
            raise ValueError("a measurement has a value exactly when it is scored")
        return self

    @classmethod
    def of(cls, value: float, reason: str | None = None, **details: Any) -> Self:
        return cls(state=MeasurementState.SCORED, value=value, reason=reason, details=details)

    @classmethod
    def unscored(cls, reason: str, **details: Any) -> Self:
        return cls(state=MeasurementState.UNSCORED, reason=reason, details=details)

    @classmethod
    def not_applicable(cls, reason: str, **details: Any) -> Self:
        return cls(state=MeasurementState.NOT_APPLICABLE, reason=reason, details=details)

    @classmethod
    def error(cls, reason: str, **details: Any) -> Self:
        return cls(state=MeasurementState.ERROR, reason=reason, details=details)


class MetricSpec(BaseModel, frozen=True, extra="forbid"):
    """A metric as a run records it: name, version, parameters, and for a judged one the judge and its prompts."""

    name: str
    version: str
    params: dict[str, Any] = Field(default_factory=dict)
    judge: str | None = None
    prompt_hash: str | None = None


class Attempt(BaseModel, frozen=True, extra="forbid"):
    """One try of the target at one case. An attempt with an error has no answer and is never judged."""

    case_id: str
    trial: int = 0
    output: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    ranges: tuple[LineRange, ...] = ()
    paths: tuple[str, ...] = ()
    error: str | None = None
    error_class: str | None = None
    usage: Usage = Usage()
    retry_after: float | None = None
    latency_ms: float | None = None
    sends: int = 1
    cached: bool = False
    finish_reason: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    measurements: dict[str, Measurement] = Field(default_factory=dict)


class Asked(BaseModel, frozen=True):
    """A case in a list: its question and its reference, each cut to what a row can show."""

    question: str
    reference: str = ""


class RunSpec(BaseModel, frozen=True, extra="forbid"):
    """What was asked for; enough to do it again. `cases`: only these of the dataset, by id; all where none is named.

    `weighted`: means count each question once, however many cases ask it.
    """

    dataset: Annotated[str, Field(min_length=1)]
    cases: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    model: Annotated[str, Field(min_length=1)]
    metrics: tuple[str, ...]
    judge: str | None = None
    trials: Annotated[int, Field(ge=1, le=1000)] = 1
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 20
    seed: int | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    budget_tokens: Annotated[int, Field(ge=1)] | None = None
    budget_money: Annotated[float, Field(gt=0)] | None = None
    cache: bool = True
    replay: Replay | None = None
    weighted: bool = False
    params: Values = Field(default_factory=dict)


class Run(BaseModel, frozen=True, extra="forbid"):
    """A run and how far it is. `provenance` pins dataset version and hash, metrics, judge, target, seed and code."""

    id: str
    spec: RunSpec
    status: RunStatus = RunStatus.QUEUED
    error: str | None = None
    created_at: UtcTime
    started_at: UtcTime | None = None
    ended_at: UtcTime | None = None
    total: int = 0
    done: int = 0
    failed: int = 0
    scored: int = 0
    usage: Usage = Usage()
    judge_usage: Usage = Usage()
    metrics: tuple[MetricSpec, ...] = ()
    provenance: dict[str, Any] = Field(default_factory=dict)

    def _repr_html_(self) -> str:
        took = self.ended_at - self.started_at if self.started_at and self.ended_at else None
        failed = f", {self.failed} failed" if self.failed else ""
        return html_of_pairs(
            f"{self.id}: {self.spec.dataset} against {self.spec.model}, {self.status.value}",
            [
                ("cases", f"{self.done} of {self.total}{failed}"),
                ("metrics", self.spec.metrics),
                ("judge", self.spec.judge),
                ("tokens", self.usage.input_tokens + self.usage.output_tokens),
                ("tokens of judges", self.judge_usage.input_tokens + self.judge_usage.output_tokens),
                ("cost", self.usage.cost),
                ("began", self.started_at and self.started_at.isoformat(sep=" ", timespec="seconds")),
                ("took", took and f"{took.total_seconds():.1f} s"),
                ("error", self.error),
            ],
        )
