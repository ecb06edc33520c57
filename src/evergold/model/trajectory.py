"""The steps of a replay, one after another. Pure values."""

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, Field

from evergold.model.moment import UtcTime
from evergold.model.run import Usage
from evergold.model.tool_calls import ToolCall


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


class ReplayStep(BaseModel, frozen=True):
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
