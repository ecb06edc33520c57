"""Retention by partition: a day whose traces are old is dropped as a whole, and what is kept of it moves first.

Deleting millions of spans one by one writes each into the log and leaves the table as large as it was. So the spans of a day
go with their partition, before their traces are deleted (`store/retention.py`). The partition of what is kept lies before
all others and grows up to the end of the one that was dropped. Partitions go from the oldest on; one of which much stays ends it,
and what is old in it and after it is deleted row by row.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, bindparam, text

from evergold.errors import Unavailable
from evergold.store.case_content import keep_contents
from evergold.store.compact.chains import COLUMNS, make_staying_whole
from evergold.store.partitions.days import add_bound, attach, check_bound
from evergold.store.partitions.locking import exclusively, patiently
from evergold.store.partitions.ranges import SpanRange, span_ranges

if TYPE_CHECKING:
    from evergold.store.db import Database

GOES = "(traces.started_at < :before AND NOT EXISTS (SELECT 1 FROM eval_dataset d WHERE d.trace_id = traces.id))"
INSIDE = "seq >= :first AND seq < :end"
FEW = 1000  # traces that may always move
BATCH = 5000


class _Share(NamedTuple):
    """How many traces of a partition are stored, are not old yet, and stay."""

    traces: int
    recent: int
    staying: int

    @property
    def worth_dropping(self) -> bool:
        # A few traces with times of their own must not hold a day back; moving much would hold everybody up.
        return self.recent <= self.traces // 20 and self.staying <= max(FEW, self.traces // 5)


def drop_old(db: "Database", before: str) -> int:
    """Drop the partitions whose traces began before then, except for what is cited; returns how many."""
    dropped = 0
    while db.dialect == "postgresql" and _drop_oldest(db, before):
        dropped += 1
    return dropped


def _drop_oldest(db: "Database", before: str) -> bool:
    with db.read() as connection:
        # The first holds what is kept, and traces still come into the last.
        ranges = span_ranges(connection)[:2]
        if len(ranges) < 2 or ranges[1].end is None:
            return False
        kept, oldest = ranges
        chosen = {"first": oldest.first, "end": oldest.end, "before": before}
        if not _share(connection, chosen).worth_dropping:
            return False
    _write_down(db, chosen)
    try:
        _replace(db, kept, oldest, chosen)
    except Unavailable as problem:
        raise Unavailable(
            f"partition {oldest.name} was not dropped and is whole: {problem.message}; give the same command again"
        ) from problem
    return True


def _share(connection: Connection, chosen: dict[str, Any]) -> _Share:
    query = f"""SELECT count(*), count(*) FILTER (WHERE started_at >= :before), count(*) FILTER (WHERE NOT {GOES})
        FROM traces WHERE {INSIDE}"""
    return _Share(*connection.execute(text(query), chosen).one())


def _write_down(db: "Database", chosen: dict[str, Any]) -> None:
    """Write down what cases and spans that stay read from what goes, while everybody goes on."""

    def some(connection: Connection, after: int) -> int | None:
        query = f"SELECT seq, id FROM traces WHERE {INSIDE} AND seq > :after AND {GOES} ORDER BY seq LIMIT {BATCH}"
        rows = connection.execute(text(query), chosen | {"after": after}).all()
        keep_contents(connection, [row.id for row in rows])
        return rows[-1].seq if rows else None

    last: int | None = 0
    while last is not None:
        last = db.write_again(partial(some, after=last))
    db.write_again(partial(_make_staying_whole, chosen=chosen))


def _make_staying_whole(connection: Connection, chosen: dict[str, Any]) -> None:
    stays = text(f"NOT {GOES}").bindparams(bindparam("before", chosen["before"]))
    make_staying_whole(connection, chosen["first"], chosen["end"], stays)


def _replace(db: "Database", kept: SpanRange, oldest: SpanRange, chosen: dict[str, Any]) -> None:
    """Move what stays to the partition of what is kept, and drop the other."""
    wider = kept._replace(end=oldest.end)
    columns = ", ".join(("trace_seq", *COLUMNS))
    moved = (
        f"SELECT {columns} FROM {oldest.name} WHERE trace_seq IN (SELECT seq FROM traces WHERE {INSIDE} AND NOT {GOES})"
    )

    def move(connection: Connection) -> None:
        if span_ranges(connection)[:2] != [kept, oldest]:
            return  # another process has dropped it meanwhile
        # What came since `_write_down` is little.
        _make_staying_whole(connection, chosen)
        connection.execute(text(f"ALTER TABLE spans DETACH PARTITION {kept.name}"))
        connection.execute(text(f"INSERT INTO {kept.name} ({columns}) {moved}"), chosen)
        connection.execute(text(f"DROP TABLE {oldest.name}"))
        attach(connection, wider)

    patiently(db, lambda connection: add_bound(connection, wider))
    check_bound(db, kept.name)
    exclusively(db, move)
