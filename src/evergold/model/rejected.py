"""A record that could not be used. It is counted, named and kept; it never sinks the rest."""

from pydantic import BaseModel


class Rejected(BaseModel, frozen=True, extra="forbid"):
    """Where the record stood, which field was wrong, and why; `record` is what arrived, where it is small."""

    where: str
    reason: str
    field: str | None = None
    record: str | None = None

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.field, self.reason) if part)
