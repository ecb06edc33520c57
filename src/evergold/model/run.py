"""A run: a dataset × a target × metrics → attempts → measurements; and replays of recorded conversations, step by step."""

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, field_validator, model_validator

from evergold.credentials import hide_value
from evergold.errors import BadInput
from evergold.model.case import Candidates, LineRange
from evergold.model.limits import UtcTime, Values
from evergold.model.report import Mean, html_of_pairs
from evergold.model.tool_calls import ToolCall

LONGEST = 20_000  # characters of a goal or persona: both go into every request that plays the user


class Turns(StrEnum):
    """Which part is played: the last turn, each assistant turn with the true history, all user turns in order, or a
    conversation with a user that a model plays."""

    LAST = "last"
    EACH = "each"
    ALL = "all"
    SIMULATED = "simulated"


class OnUnrecorded(StrEnum):
    """What a call that the record does not know gets: the end, a tool error, or a result that a model invents."""

    STOP = "stop"
    ERROR = "error"
    MODEL = "model"


class Replay(BaseModel, frozen=True, extra="forbid"):
    """The rules of a replay. `user_model` plays the simulated user and `tool_model` invents results of unrecorded calls;
    both default to the model under test. The limits hold for one trajectory; `max_turns` counts messages of the user."""

    turns: Turns = Turns.LAST
    on_unrecorded: OnUnrecorded = OnUnrecorded.STOP
    max_steps: Annotated[int, Field(ge=1, le=1000)] = 50
    max_turns: Annotated[int, Field(ge=1, le=1000)] = 20
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_cost: Annotated[float, Field(gt=0)] | None = None
    max_seconds: Annotated[float, Field(gt=0)] | None = None
    user_model: str | None = None
    tool_model: str | None = None


class SimulatedUser(BaseModel, frozen=True):
    """A user for a model to play, from `persona` and `goal` in the metadata of a case.

    `drafted` marks one that a program wrote from the trace and nobody has reviewed.
    """

    persona: Annotated[str, Field(max_length=LONGEST)] = "A customer who writes briefly and politely."
    goal: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    drafted: bool = False

    @field_validator("persona", "goal")
    @classmethod
    def strip_blanks(cls, value: str) -> str:
        return value.strip()

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Self | None:
        """Read the user of a case; None where its metadata states no goal."""
        goal, persona = metadata.get("goal"), metadata.get("persona")
        if goal is None and persona is None:
            return None
        if not isinstance(goal, str) or not goal.strip():
            raise BadInput(
                "metadata has a persona and no goal; write metadata.goal as text: what the user wants to reach"
            )
        if persona is not None and not isinstance(persona, str):
            raise BadInput(f"metadata.persona is {type(persona).__name__}; write who the user is as text")
        if max(len(goal), len(persona or "")) > LONGEST:
            raise BadInput(f"goal and persona have at most {LONGEST:,} characters each; shorten them in the metadata")
        # Left out where it is empty, so that the default persona applies.
        given = {"persona": persona} if persona and persona.strip() else {}
        return cls(goal=goal, drafted=bool(metadata.get("user_drafted")), **given)


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


class Result(BaseModel, frozen=True, extra="forbid"):
    """What a target or judge made of a request: an endpoint may repeat the key it was sent, and no result keeps that."""

    @model_validator(mode="before")
    @classmethod
    def hide_secrets(cls, given: Any) -> Any:
        return hide_value(given)


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


class Measurement(Result):
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


class Scale(BaseModel, frozen=True, extra="forbid"):
    """The lowest and highest value of a metric, and which of them is good."""

    low: float = 0.0
    high: float = 1.0
    lower_is_better: bool = False

    @property
    def worst(self) -> float:
        return self.high if self.lower_is_better else self.low

    def share_of(self, value: float) -> float:
        """A value as a share of the scale: 1 is best."""
        share = (value - self.low) / (self.high - self.low)
        return 1 - share if self.lower_is_better else share

    def value_at(self, share: float) -> float:
        """The value that is this share of the scale."""
        return self.low + (1 - share if self.lower_is_better else share) * (self.high - self.low)


class MetricSpec(BaseModel, frozen=True, extra="forbid"):
    """A metric as a run records it: name, version, parameters, and for a judged one the judge and its prompts.

    `scale` is null for a metric without bounds, such as a number of steps. An answer below `passing` fails whatever the mark
    of the report is.
    """

    name: str
    version: str
    params: dict[str, Any] = Field(default_factory=dict)
    judge: str | None = None
    prompt_hash: str | None = None
    scale: Scale | None = Scale()
    passing: float = 0.0

    def is_failing(self, value: float, passing: float = 0.5) -> bool:
        """Whether a value is below the mark, as a share of the scale; what has no scale cannot fail."""
        return self.scale is not None and self.scale.share_of(value) < max(passing, self.passing)

    def measure_failure(self, attempt: "Attempt") -> Measurement:
        """What an attempt without an answer counts as: the worst value, so that a crash never raises a mean."""
        return measure_failure(attempt, self.scale)


class Attempt(Result):
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

    @property
    def outcome(self) -> "AttemptOutcome":
        if self.error is None:
            return AttemptOutcome.ANSWERED
        return AttemptOutcome.FAILED if self.error_class in MODEL_FAILURES else AttemptOutcome.ERROR

    @property
    def is_truncated(self) -> bool:
        """Whether the answer was cut by its length."""
        return self.error is None and self.finish_reason in CUT_BY_LENGTH


class AttemptOutcome(StrEnum):
    """How an attempt ended: with an answer, with a reply that is none, or without a reply that could be had."""

    ANSWERED = "answered"
    FAILED = "failed"
    ERROR = "error"


MODEL_FAILURES = frozenset({"invalid_reply", "no_answer", "too_large"})
"""Classes of errors that are the model's own: arguments that are no JSON object, no answer, a reply of another form."""
CUT_BY_LENGTH = frozenset({"length", "max_tokens", "MAX_TOKENS"})


def measure_failure(attempt: Attempt, scale: Scale | None) -> Measurement:
    """The measurement of an attempt without an answer, by a metric that applies to its case."""
    what = "the model failed" if attempt.outcome is AttemptOutcome.FAILED else "no reply"
    reason = f"{what}: {attempt.error}"
    if scale is None:
        return Measurement.unscored(reason, attempt=attempt.outcome.value)
    return Measurement.of(scale.worst, reason, attempt=attempt.outcome.value)


class Asked(BaseModel, frozen=True):
    """A case in a list: its question and its reference, each cut to what a row can show."""

    question: str
    reference: str = ""


RETRIEVER = "retriever:"
RETRIEVAL_METRICS = ("line_recall", "line_precision", "line_budget", "file_recall", "file_mrr")


def _read_replay(given: Mapping[str, Any]) -> "Replay | None":
    """Read the replay that the options ask for; None without `replay`."""
    chosen = {name: given[name] for name in Replay.model_fields if given.get(name) is not None}
    if given.get("replay"):
        return Replay.model_validate(chosen)
    if chosen:
        name = next(iter(chosen)).replace("_", "-")
        raise BadInput(f"--{name} says how to replay; add --replay")
    return None


def parse_budget(text: str | float | None) -> dict[str, float | int]:
    """Read `50000`, a number of tokens, or `$2.50`, of dollars."""
    if text is None:
        return {}
    number = str(text).removeprefix("$").replace("_", "")
    try:
        amount = float(number)
    except ValueError:
        amount = 0.0
    if not 0 < amount < math.inf:
        raise BadInput(f"--budget {text!r} is neither a number of tokens (50000) nor of dollars ($2.50)")
    return {"budget_money": amount} if str(text).startswith("$") else {"budget_tokens": int(amount)}


class RunSpec(BaseModel, frozen=True, extra="forbid"):
    """What was asked for; enough to do it again. `cases`: only these of the dataset, by id; all where none is named.
    `candidates`: whether those of a stored dataset come along that rest on silence alone; cases that are named always do.

    `weighted`: means count each question once, however many cases ask it.
    """

    dataset: Annotated[str, Field(min_length=1)]
    cases: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    candidates: Candidates = Candidates.EXCLUDE
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

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> "RunSpec":
        """Make a spec of the options of `evergold run`, named as there; one that is None or missing was not given."""
        given = {name: value for name, value in options.items() if value is not None}
        for name, example in (("dataset", "basic-coding"), ("model", "--model openai/gpt-4o")):
            if not given.get(name):
                raise BadInput(f"{name} is missing; for example: {example}")
        given_metrics = given.get("metrics", ())
        texts = [given_metrics] if isinstance(given_metrics, str) else given_metrics
        # `a,b` is two metrics; `a:x=1,y=2` is one with two parameters.
        names = tuple(name for text in texts for name in ([text] if ":" in text else text.split(",")) if name)
        if not names and given["model"].startswith(RETRIEVER):
            names = RETRIEVAL_METRICS
        kept = {name: given[name] for name in cls.model_fields if name in given and name != "replay"}
        repo = {"repo": str(given["repo"])} if given.get("repo") else {}
        return cls.model_validate(
            kept
            | {"metrics": names, "replay": _read_replay(given), "params": {**given.get("params", {}), **repo}}
            | ({"cache": False} if given.get("no_cache") else {})
            | parse_budget(given.get("budget"))
        )


class Run(Result):
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

    def is_failure(self, attempt: Attempt) -> bool:
        """Whether an attempt has no answer, or one that some metric calls a failure."""
        values = ((spec, attempt.measurements.get(spec.name)) for spec in self.metrics)
        return attempt.error is not None or any(
            made is not None and made.value is not None and spec.is_failing(made.value) for spec, made in values
        )

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


class ResultOrigin(StrEnum):
    """Where the result of a replayed call comes from."""

    RECORDED = "recorded"
    NEAR = "near"  # recorded for arguments that differ only in spaces, letter case or the writing of a number
    ERROR = "error"  # not recorded; the call got a tool error
    INVENTED = "invented"  # not recorded; a model invented the result
    NONE = "none"  # not recorded; the replay stopped here


class ReplayEnd(StrEnum):
    """Why a trajectory ended."""

    ANSWERED = "answered"
    GOAL_REACHED = "goal_reached"
    GAVE_UP = "gave_up"
    TURN_LIMIT = "turn_limit"
    UNRECORDED = "unrecorded"
    STEP_LIMIT = "step_limit"
    TOKEN_LIMIT = "token_limit"
    COST_LIMIT = "cost_limit"
    TIME_LIMIT = "time_limit"

    @property
    def has_answer(self) -> bool:
        """Whether the model's last message is an answer that can be measured."""
        return self in _WITH_ANSWER


_WITH_ANSWER = (ReplayEnd.ANSWERED, ReplayEnd.GOAL_REACHED, ReplayEnd.GAVE_UP, ReplayEnd.TURN_LIMIT)


class ReplayedCall(BaseModel, frozen=True):
    """A call with its result and where that comes from. `recorded` is the number of the recorded call that answered it."""

    call: ToolCall
    origin: ResultOrigin
    recorded: int | None = None


class ReplayStep(Result, extra="ignore"):
    """What one request to the model added: its message, the results of its calls, and what the user said next.

    A step holds everything that is needed to go on after it, so that an interrupted trajectory continues here.
    `helper_usage` is what the simulated user and the model that invents results took.
    """

    messages: tuple[dict[str, Any], ...]
    calls: tuple[ReplayedCall, ...] = ()
    output: str = ""
    usage: Usage = Usage()
    helper_usage: Usage = Usage()
    latency_ms: float | None = None
    end: ReplayEnd | None = None
    reason: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class CallState(StrEnum):
    """How a call of a replay stands to the record."""

    SAME = "same"
    CHANGED = "changed"
    MISSING = "missing"
    EXTRA = "extra"


class StepSpent(BaseModel, frozen=True):
    """What one request to the model took; `message` is where its first message stands in the trajectory."""

    message: int
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    latency_ms: float | None = None


class AlignedCall(BaseModel, frozen=True):
    """A recorded call beside the one that was made; one side is missing where nothing stands opposite.

    `step` is the index of the recorded call; `origin` says where the result of the made call comes from. `spent` is what the
    request took that made the call; of parallel calls the first one has it.
    """

    state: CallState
    step: int | None = None
    recorded: ToolCall | None = None
    made: ToolCall | None = None
    origin: ResultOrigin | None = None
    spent: StepSpent | None = None


class AlignedTrajectory(BaseModel, frozen=True):
    """A replayed trajectory beside the recorded one. `spent` has tokens, cost and time of each request to the model."""

    case_id: str
    trial: int
    rows: list[AlignedCall]
    first_divergence: int | None
    why: str | None
    recorded_answer: str | None
    answer: str
    ended: str | None
    stopped: str | None
    spent: list[StepSpent]


class TrajectoryDifference(BaseModel, frozen=True):
    """A case whose trajectory left the record in one of two runs: the metric `trajectory` in both."""

    case_id: str
    question: str
    first: float
    second: float


class CaseReplay(BaseModel, frozen=True):
    """A replay of a case by some run; `value` is the metric `trajectory` where it was measured."""

    run_id: str
    case_id: str
    trial: int
    model: str
    created_at: UtcTime
    value: float | None = None


class UsersDrafted(BaseModel, frozen=True):
    """What drafting did: `by` counts drafts per author, `problems` why a rule stood in for the model.

    Drafting that was given a time may be `unfinished`; the same call goes on where it stopped.
    """

    dataset: str
    drafted: int
    had_one: int
    without_messages: int
    by: dict[str, int]
    problems: dict[str, int]
    unfinished: bool = False


class MetricInfo(BaseModel, frozen=True):
    """A metric one can name in a run."""

    name: str
    description: str
    version: str
    judged: bool


class Entry(BaseModel, frozen=True):
    """The newest completed run of a model."""

    model: str
    run_id: str
    judge: str | None
    self_judged: bool
    means: tuple[Mean, ...]
    failed: int
    usage: Usage
    judge_usage: Usage


class UnrankedRun(BaseModel, frozen=True):
    """A completed run that is not ranked, and why."""

    model: str
    run_id: str
    why: str


class Board(BaseModel, frozen=True):
    """One dataset version, ranked by the first metric, which is the one most cases were scored by; who lacks it is last.

    Runs of which too little could be measured are `excluded`. `weighted`: each question counts once in every mean of the
    board, however many cases ask it.
    """

    dataset: str
    version: str
    content_hash: str
    metrics: tuple[str, ...]
    entries: tuple[Entry, ...]
    excluded: tuple[UnrankedRun, ...] = ()
    weighted: bool = False


class Plan(BaseModel, frozen=True):
    """An estimate; what it rests on is said in `assumes`. `derived_tools` counts cases whose tool schemas are derived,
    `candidates_left_out` the cases of the dataset that nobody has confirmed."""

    dataset: str
    version: str
    content_hash: str
    model: str
    cases: int
    calls: int
    judge: str | None
    judge_calls: int
    judge_input_tokens: int = 0
    judge_output_tokens: int = 0
    judge_cost: float | None = 0.0
    input_tokens: int
    output_tokens: int
    cost: float | None
    smallest_visible_effect: float | None
    derived_tools: int = 0
    candidates_left_out: int = 0
    assumes: str


class BenchmarkDataset(BaseModel, frozen=True):
    """A dataset one can name in a run; with problems, one that has to be mended first."""

    name: str
    title: str
    description: str = ""
    origin: str
    tasks: int
    candidates: int = 0  # which a run leaves out
    content_hash: str | None = None
    difficulties: dict[str, int] = {}
    problems: tuple[str, ...] = ()
