"""Picking: a person makes cases of traces."""

from typing import Annotated

from pydantic import BaseModel, Field

from evergold.model.trace import Ident


class Picking(BaseModel, frozen=True, extra="forbid"):
    """Which traces become cases of which dataset.

    With `answer` the cases are validated and this is their reference; without it they wait for review.
    """

    trace_ids: Annotated[tuple[Ident, ...], Field(min_length=1, max_length=500)]
    dataset: Annotated[str, Field(min_length=1, max_length=200)] = "picked"
    answer: Annotated[str | None, Field(max_length=1_000_000)] = None
    tags: Annotated[tuple[str, ...], Field(max_length=50)] = ()
    note: Annotated[str, Field(max_length=10_000)] = ""


class Picked(BaseModel, frozen=True, extra="forbid"):
    """What became of one trace: the key of its case, or why there is none."""

    trace_id: str
    dataset: str | None = None
    id: str | None = None
    problem: str | None = None
