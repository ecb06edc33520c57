"""A file that somebody drops into a page, and what became of it."""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, Field


class UploadOf(StrEnum):
    """What a file holds."""

    TRACES = "traces"
    CASES = "cases"


class Upload(BaseModel, frozen=True, extra="forbid"):
    """The text of a file. `dataset`: where its cases go, unless the file says so."""

    name: Annotated[str, Field(min_length=1, max_length=300)]
    of: UploadOf
    text: Annotated[str, Field(min_length=1)]
    dataset: Annotated[str, Field(max_length=200)] = ""


class Uploaded(BaseModel, frozen=True, extra="forbid"):
    """How many records of a file were stored, how many not, and why."""

    of: UploadOf
    stored: int
    rejected: int
    problems: list[str]
