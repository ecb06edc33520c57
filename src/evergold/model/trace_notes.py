"""Tags and comments that people put on traces."""

from typing import Annotated

from pydantic import BaseModel, Field

from evergold.model.moment import UtcTime
from evergold.model.trace import Ident

Tag = Annotated[str, Field(min_length=1, max_length=200)]


class Retagging(BaseModel, frozen=True, extra="forbid"):
    """Tags to put on traces, and tags of people to take off."""

    trace_ids: Annotated[tuple[Ident, ...], Field(min_length=1, max_length=1000)]
    add: Annotated[tuple[Tag, ...], Field(max_length=50)] = ()
    remove: Annotated[tuple[Tag, ...], Field(max_length=50)] = ()


class Retagged(BaseModel, frozen=True, extra="forbid"):
    """What changed on one trace, or why nothing did. The reverse undoes it."""

    trace_id: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    problem: str | None = None


class TraceComment(BaseModel, frozen=True, extra="forbid"):
    """What somebody wrote on a trace."""

    id: int
    trace_id: str
    text: str
    who: str
    created_at: UtcTime
