"""How a recorded conversation is played again."""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, Field


class Turns(StrEnum):
    """Which part is played: the last turn, each assistant turn with the true history, or all user turns in order."""

    LAST = "last"
    EACH = "each"
    ALL = "all"


class OnUnrecorded(StrEnum):
    """What a call that the record does not know gets: the end, a tool error, or a result that the model invents."""

    STOP = "stop"
    ERROR = "error"
    MODEL = "model"


class Replay(BaseModel, frozen=True, extra="forbid"):
    turns: Turns = Turns.LAST
    on_unrecorded: OnUnrecorded = OnUnrecorded.STOP
    max_steps: Annotated[int, Field(ge=1, le=1000)] = 50
