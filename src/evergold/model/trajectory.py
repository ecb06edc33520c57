"""The steps of a replay, one after another. Pure values."""

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, Field

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
