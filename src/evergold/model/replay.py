"""Settings and results of a replay: how a recorded conversation is played again, and who plays its user."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, field_validator

from evergold.errors import BadInput

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
    def stripped(cls, value: str) -> str:
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
