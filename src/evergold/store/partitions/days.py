"""Begin a partition for each day, and turn a plain table of spans into the first one; servers go on writing meanwhile.

The last partition has no end. To give it one, PostgreSQL would read all of it under a lock that nobody passes. So a constraint is
added first, which holds for new rows at once, and is checked against the old ones under a lock that lets everybody read
and write. The exchange itself is then a matter of milliseconds. Each step is a transaction of its own, and whoever comes next,
after a crash or beside another server, goes on from what is there.
"""

import re
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import Connection, text
from sqlalchemy.schema import CreateIndex

from evergold.store.partitions.locking import exclusively, patiently
from evergold.store.partitions.ranges import (
    BEFORE,
    BOUND,
    FIRST,
    KEPT,
    SpanRange,
    create_range,
    drawn_number,
    limits_of,
    span_ranges,
    todays_name,
)
from evergold.store.schema import spans

if TYPE_CHECKING:
    from evergold.store.db import Database

AHEAD = 10_000  # numbers left to traces that come while the old rows are checked, or a tenth of the partition if that is more
PLAIN = SpanRange("spans", FIRST, None)


def begin_today(db: "Database") -> bool:
    """Let traces of today begin a partition, if the last one is of an earlier day; False where nothing was to do.

    Raises `Unavailable` while another session holds the tables: the next call does it.
    """
    if db.dialect != "postgresql":
        return False
    with db.read() as connection:
        last, today, drawn = _last(connection), todays_name(connection), drawn_number(connection)
    if last.day is not None and today <= last.name:
        return False
    if last != PLAIN and last.first is not None and drawn < last.first:
        return exclusively(db, partial(_rename, last=last, today=today))
    end = _bounded(db, last)
    return exclusively(db, partial(_exchange, last=last, end=end, today=today))


def _last(connection: Connection) -> SpanRange:
    ranges = span_ranges(connection)
    return ranges[-1] if ranges else PLAIN


def _rename(connection: Connection, last: SpanRange, today: str) -> bool:
    """Let a partition that nothing came into be today's, so that quiet days leave no empty ones."""
    if _last(connection) != last or drawn_number(connection) >= (last.first or 0):
        return False
    connection.execute(text(f"ALTER TABLE {last.name} RENAME TO {today}"))
    return True


def _bounded(db: "Database", last: SpanRange) -> int:
    """Hold the last partition to an end that lies ahead, and check its rows against it; returns the end."""

    def bound(connection: Connection) -> int:
        drawn, end = drawn_number(connection), _end_of_bound(connection, last.name)
        # A bound that a crash left behind may be nearly reached, and rows beyond it would be refused.
        if end is None or end < drawn + AHEAD // 2:
            end = drawn + 1 + max(AHEAD, (drawn - (last.first or 0)) // 10)
            add_bound(connection, last._replace(end=end))
        return end

    end = patiently(db, bound)
    check_bound(db, last.name)
    return end


def _end_of_bound(connection: Connection, name: str) -> int | None:
    query = (
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = :bound AND conrelid = to_regclass(:name)"
    )
    clause = connection.execute(text(query), {"bound": BOUND, "name": name}).scalar()
    return int(re.findall(r"trace_seq < (\d+)", clause)[0]) if clause else None


def add_bound(connection: Connection, part: SpanRange) -> None:
    """Let a table take only rows of this range from now on."""
    drop_bound(connection, part.name)
    low = "" if part.first is None else f"trace_seq >= {part.first} AND "
    connection.execute(
        text(f"ALTER TABLE {part.name} ADD CONSTRAINT {BOUND} CHECK ({low}trace_seq < {part.end}) NOT VALID")
    )


def check_bound(db: "Database", name: str) -> None:
    """Read the table once, beside everybody who reads and writes it."""
    patiently(
        db, lambda connection: connection.execute(text(f"ALTER TABLE {name} VALIDATE CONSTRAINT {BOUND}")).close()
    )


def drop_bound(connection: Connection, name: str) -> None:
    connection.execute(text(f"ALTER TABLE {name} DROP CONSTRAINT IF EXISTS {BOUND}"))


def _exchange(connection: Connection, last: SpanRange, end: int, today: str) -> bool:
    """Give the last partition its end, and begin today's there."""
    if _last(connection) != last or _end_of_bound(connection, last.name) != end:
        return False  # another server has done it meanwhile
    if drawn_number(connection) >= end:  # more came than was foreseen: the next call takes a higher end
        drop_bound(connection, last.name)
        return False
    if last == PLAIN:
        _make_parent(connection)
        last = last._replace(name=BEFORE)
    else:
        connection.execute(text(f"ALTER TABLE spans DETACH PARTITION {last.name}"))
    attach(connection, last._replace(end=end))
    create_range(connection, SpanRange(today, end, None))
    # From here on new traces get numbers of today's partition.
    connection.execute(text(f"SELECT setval(pg_get_serial_sequence('traces', 'seq'), {end}, false)"))
    return True


def attach(connection: Connection, part: SpanRange) -> None:
    """Make a table whose bound was checked a partition; PostgreSQL then does not read it again."""
    connection.execute(text(f"ALTER TABLE spans ATTACH PARTITION {part.name} {limits_of(part)}"))
    drop_bound(connection, part.name)


def _make_parent(connection: Connection) -> None:
    """Put the filled table aside, and make a partitioned one with its columns in its place."""
    for statement in (
        f"ALTER TABLE spans RENAME TO {BEFORE}",
        f"ALTER INDEX spans_pkey RENAME TO {BEFORE}_pkey",
        f"ALTER INDEX spans_by_base RENAME TO {BEFORE}_by_base",
        # From the table and not from today's schema: all columns must be equal for it to be attached.
        f"CREATE TABLE spans (LIKE {BEFORE} INCLUDING DEFAULTS INCLUDING COMMENTS) PARTITION BY RANGE (trace_seq)",
        "ALTER TABLE spans ADD PRIMARY KEY (trace_seq, id), "
        "ADD FOREIGN KEY (trace_seq) REFERENCES traces (seq) ON DELETE CASCADE, "
        "ADD FOREIGN KEY (base_seq) REFERENCES traces (seq)",
    ):
        connection.execute(text(statement))
    for index in spans.indexes:
        connection.execute(CreateIndex(index))
    create_range(connection, SpanRange(KEPT, None, FIRST))
