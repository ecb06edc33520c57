"""A record that could not be used. It is counted, named and kept; it never sinks the rest."""

from typing import Self

from pydantic import BaseModel, ValidationError


class Rejected(BaseModel, frozen=True, extra="forbid"):
    """Where the record stood, which field was wrong, and why; `record` is what arrived, where it is small."""

    where: str
    reason: str
    field: str | None = None
    record: str | None = None

    @classmethod
    def of(cls, problem: ValidationError, where: str, *, skip: str = "", record: str | None = None) -> Self:
        """The first thing that is wrong with a record; `skip` is a part of its path that a reader would not know."""
        first = problem.errors(include_url=False, include_context=False, include_input=False)[0]
        path = [str(part) for part in first["loc"]]
        if path and path[0] == skip:
            path = path[1:]
        return cls(
            where=where, field=".".join(path) or None, reason=first["msg"].removeprefix("Value error, "), record=record
        )

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.field, self.reason) if part)
