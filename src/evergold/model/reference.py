"""The reference of a case: the answer that others are measured by, and who stands behind it."""

from enum import StrEnum

from pydantic import BaseModel

from evergold.model.tool_calls import ToolCall


class Origin(StrEnum):
    """Where a reference comes from, the strongest first."""

    PERSON = "person"
    SOURCE = "source"
    REVISED = "revised"
    CONFIRMED = "confirmed"
    CANDIDATE = "candidate"


class Answer(BaseModel, frozen=True, extra="forbid"):
    """An answer that a person wrote or approved, or that corrected another one.

    `tool_calls` are the calls that belong to it, None where nothing is known of them. `trace_id` names the trace that
    gave this answer, where one did.
    """

    text: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    trace_id: str | None = None


class Reference(BaseModel, frozen=True, extra="forbid"):
    """What is right, as text and calls. `text` is None where only the calls are known, and the other way round."""

    text: str | None
    tool_calls: tuple[ToolCall, ...] | None = None
    origin: Origin
