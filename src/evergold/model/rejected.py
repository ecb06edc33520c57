"""A record that could not be used. It is counted, named and kept; it never sinks the rest."""

from typing import Any, Self

from pydantic import BaseModel, ValidationError

from evergold.model.faults import first_fault


class Rejected(BaseModel, frozen=True, extra="forbid"):
    """Where the record stood, which field was wrong, and why; `record` is what arrived, where it is small."""

    where: str
    reason: str
    field: str | None = None
    record: str | None = None

    @classmethod
    def of(cls, problem: ValidationError, where: str, shape: Any = None, record: str | None = None) -> Self:
        """The first thing that is wrong with a record; `shape` is the type it should have been."""
        first = first_fault(problem, shape)
        return cls(where=where, field=first.field or None, reason=first.reason, record=record)

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.field, self.reason) if part)
