"""A list as somebody wants to see it again: filters, columns and order under a name."""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, Field

from evergold.model.moment import UtcTime


class ListPage(StrEnum):
    """The lists that views are kept of."""

    TRACES = "traces"
    CASES = "cases"
    REVIEW = "review"


class ListView(BaseModel, frozen=True, extra="forbid"):
    """A view of a list. `address` is what stands after the question mark in the page's address."""

    page: ListPage
    name: Annotated[str, Field(min_length=1, max_length=200)]
    address: Annotated[str, Field(max_length=10_000)]
    owner: str = ""
    created_at: UtcTime | None = None
