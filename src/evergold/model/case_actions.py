"""What people do to cases in a list: write a new one, change many, and the way back."""

from typing import Annotated

from pydantic import BaseModel, Field

from evergold.model.case import CaseKind, CaseStatus
from evergold.model.review import CaseKey

# Cases in one request: they change in one transaction, which must not hold up other writers for long.
MOST = 1000
TagText = Annotated[str, Field(min_length=1, max_length=200)]


class NewCase(BaseModel, frozen=True, extra="forbid"):
    """A case that somebody writes by hand."""

    dataset: Annotated[str, Field(min_length=1, max_length=200)]
    input: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    expected: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    kind: CaseKind = CaseKind.CHAT
    name: str | None = None
    tags: tuple[TagText, ...] = ()


class CaseChange(BaseModel, frozen=True, extra="forbid"):
    """One change to many cases. `dataset` moves them: each is written there, and withdrawn where it was.

    `repeats_of` merges them into one: the others are dismissed, and that one gets their tags.
    """

    cases: Annotated[tuple[CaseKey, ...], Field(min_length=1, max_length=MOST)]
    add_tags: tuple[TagText, ...] = ()
    remove_tags: tuple[TagText, ...] = ()
    dataset: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    status: CaseStatus | None = None
    repeats_of: CaseKey | None = None


class CaseChanged(BaseModel, frozen=True, extra="forbid"):
    """The cases that changed, where they are now, and the changes that take it all back, in order."""

    cases: tuple[CaseKey, ...]
    problems: tuple[str, ...] = ()
    undo: tuple[CaseChange, ...] = ()
