"""Partitions of `spans`, each a range of `trace_seq`: the order of arrival is the order of time.

A span lies with its trace, whatever its own times say, and the key (`trace_seq`, `id`) stays as it is. Three kinds:

- `spans_kept` holds what lies before every other partition: spans of old traces that are kept although their day was dropped;
- `spans_2026_11_17` holds the traces that first came from that day on. The last one has no end, so no span is ever refused;
- `spans_before` is the whole table of a database that was filled before it had partitions.
"""

import re
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, event, text

KEPT = "spans_kept"
BEFORE = "spans_before"
FIRST = 1  # the lowest number that a trace can have
BOUND = "spans_bound"  # a constraint that lets PostgreSQL attach a table without reading it


class SpanRange(NamedTuple):
    """A partition: the numbers of the traces in it, from `first` up to but without `end`. None: without a limit."""

    name: str
    first: int | None
    end: int | None

    @property
    def day(self) -> str | None:
        """The day on which its first traces came; None for a partition that is not of one day."""
        match = re.fullmatch(r"spans_(\d{4})_(\d\d)_(\d\d)", self.name)
        return "-".join(match.groups()) if match else None


def keep_partitions(spans: Table) -> None:
    """Create the first partitions together with the table."""

    @event.listens_for(spans, "after_create")
    def create(_table: Any, connection: Connection, **_: Any) -> None:
        if connection.dialect.name == "postgresql":
            _create_first(connection)


def span_ranges(connection: Connection) -> list[SpanRange]:
    """The partitions in their order; none where `spans` is still one plain table."""
    # With the table's own number instead of 0, PostgreSQL would wait for whoever has locked it.
    query = text(
        "SELECT c.relname, pg_get_expr(c.relpartbound, 0) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
        "WHERE i.inhparent = 'spans'::regclass"
    )
    ranges = [SpanRange(name, *_limits(bound)) for name, bound in connection.execute(query)]
    return sorted(ranges, key=lambda one: (one.first is not None, one.first))


def _limits(bound: str) -> tuple[int | None, int | None]:
    """The two limits of `FOR VALUES FROM (1) TO (MAXVALUE)`."""
    low, high = re.findall(r"\('?(\w+)'?\)", bound)
    return (None if low == "MINVALUE" else int(low)), (None if high == "MAXVALUE" else int(high))


def todays_name(connection: Connection) -> str:
    """The name of today's partition, by the database's clock: the clocks of servers differ."""
    query = "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', '\"spans_\"YYYY_MM_DD')"
    return str(connection.execute(text(query)).scalar_one())


def create_range(connection: Connection, part: SpanRange) -> None:
    connection.execute(text(f"CREATE TABLE {part.name} PARTITION OF spans {limits_of(part)}"))


def limits_of(part: SpanRange) -> str:
    low = "MINVALUE" if part.first is None else part.first
    high = "MAXVALUE" if part.end is None else part.end
    return f"FOR VALUES FROM ({low}) TO ({high})"


def begin_anew(connection: Connection) -> None:
    """Put the partitions of a new database in place of those of `spans`, which is empty."""
    ranges = span_ranges(connection)
    for part in ranges:
        connection.execute(text(f"DROP TABLE {part.name}"))
    if ranges:
        _create_first(connection)


def _create_first(connection: Connection) -> None:
    create_range(connection, SpanRange(KEPT, None, FIRST))
    create_range(connection, SpanRange(todays_name(connection), FIRST, None))


def drawn_number(connection: Connection) -> int:
    """The highest number that a trace was given, by this or any other server."""
    sequence = connection.execute(text("SELECT pg_get_serial_sequence('traces', 'seq')")).scalar_one()
    return int(connection.execute(text(f"SELECT last_value - (NOT is_called)::int FROM {sequence}")).scalar_one())
