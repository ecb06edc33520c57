"""Read the beginning or end of a span of time as a person writes it."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator

from evergold.errors import BadInput


def parse_cutoff(moment: str) -> str:
    """A moment a person wrote, so that it can be compared with stamps of any number of digits: UTC, without the `Z`."""
    try:
        read = datetime.fromisoformat(moment.strip())
    except ValueError:
        raise BadInput(f"time {moment!r} cannot be read; write 2026-01-02 or 2026-01-02T03:04:05Z") from None
    try:
        read = read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except OverflowError:
        raise BadInput(f"time {moment!r} falls outside the years 1 to 9999 in UTC") from None
    # Stamps end in `Z`, which sorts behind every digit and `.`: without it a cutoff sorts before all stamps of its
    # second.
    return read.replace(tzinfo=None).isoformat()


Cutoff = Annotated[str, AfterValidator(parse_cutoff)]
