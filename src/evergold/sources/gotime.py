"""Times as a Go program writes them into SQLite: RFC 3339 with nanoseconds, or what `time.Time.String()` prints.

Python's datetime ends at microseconds; the order of actions may be decided below that, so the nanoseconds stay in a
number of their own.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_TIME = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[T ](?P<clock>\d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9})\d*)?"
    r" ?(?P<zone>Z|[+-]\d\d:?\d\d)?(?: [A-Za-z0-9+-]+)?(?: m=[+-][\d.]+)?"
)


class GoTime(NamedTuple):
    """`nanoseconds` since 1970 orders moments exactly; `time` is the same to the microsecond, in UTC."""

    nanoseconds: int
    time: datetime


def parse_time(text: str) -> GoTime:
    """Raises ValueError for what is neither form, or no date of the calendar. No zone means UTC."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a time (expected RFC 3339 or Go's time.String())")
    try:
        whole = datetime.fromisoformat(f"{match['day']}T{match['clock']}").replace(tzinfo=UTC) - _offset(match["zone"])
    except OverflowError:
        raise ValueError(f"{text!r} lies outside the years 1 to 9999 in UTC") from None
    fraction = int((match["fraction"] or "").ljust(9, "0"))
    seconds = (whole - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    return GoTime(seconds * 10**9 + fraction, whole + timedelta(microseconds=fraction // 1000))


def _offset(zone: str | None) -> timedelta:
    if zone in (None, "Z"):
        return timedelta()
    digits = zone[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -offset if zone.startswith("-") else offset
