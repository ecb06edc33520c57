"""When something was: a moment in UTC, the same whichever zone it was written in."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator


def in_utc(value: datetime) -> datetime:
    """Times are UTC; one without a zone is taken as UTC."""
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    try:
        # 0001-01-01T00:00+14:00 lies before year 1 in UTC.
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("in UTC this time falls outside the years 1 to 9999") from None


UtcTime = Annotated[datetime, AfterValidator(in_utc)]


def seconds_between(start: str | None, end: str | None) -> float | None:
    """Seconds from one stored time to another; None when either is missing or unreadable."""
    if not start or not end:
        return None
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return None
