"""Count the traffic of a stretch of time by model or by name: traces, failures, tokens, cost, latencies and scores.

Latencies are counted in bins that are at most 5 % wide, so that counts of several days add up to percentiles of all of them.
A stretch is read from an index by time; the values it is grouped by are those most frequent among the newest traces.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, case, func, select

from evergold.model.traffic import Grouping
from evergold.store.overview import Bucket
from evergold.store.schema import trace_scores, traces
from evergold.store.schema.traces import FAILING_BELOW

RECENT = 10_000  # the newest traces, which decide what values are counted by themselves
MOST_VALUES = 12
OTHERS = None  # the group of all other values
BINS = ((200, 1), (2_000, 10), (20_000, 100), (200_000, 1_000), (2_000_000, 10_000))
WIDEST = 100_000  # of latencies beyond the last limit


class Stretch(NamedTuple):
    """Times from and up to, and the buckets into which they are divided."""

    since: str
    until: str
    bucket: Bucket


class TrafficCell(NamedTuple):
    """Traces of one bucket, group and bin of latency; `bin` is the least latency in it, None where none is known."""

    start: str
    group: str | None
    bin: int | None
    traces: int
    failed: int
    tokens: int
    cost: float


class CheckCell(NamedTuple):
    """Scores of one name and source on the traces of one bucket and group."""

    start: str
    group: str | None
    name: str
    source: str
    scored: int
    failing: int


def frequent_values(connection: Connection, by: Grouping) -> list[str]:
    """The values that the newest traces have most; an empty text where nothing was recorded."""
    by_time = traces.c.started_at.desc(), traces.c.seq.desc()
    newest = select(_value(by).label("value")).order_by(*by_time).limit(RECENT).subquery()
    ranked = select(newest.c.value).group_by(newest.c.value).order_by(func.count().desc(), newest.c.value)
    query = ranked.limit(MOST_VALUES)
    return list(connection.execute(query).scalars())


def first_trace(connection: Connection) -> str | None:
    """When the oldest trace began."""
    return connection.execute(select(func.min(traces.c.started_at))).scalar()


def traffic_cells(
    connection: Connection, stretch: Stretch, by: Grouping, values: Sequence[str]
) -> tuple[TrafficCell, ...]:
    parts = _start(stretch), _group(by, values), _bin().label("bin")
    query = (
        select(
            *parts,
            func.count(),
            func.sum(case((traces.c.status == "failed", 1), else_=0)),
            func.coalesce(func.sum(traces.c.tokens), 0),
            func.coalesce(func.sum(traces.c.cost), 0.0),
        )
        .where(*_within(stretch))
        .group_by(*parts)
    )
    return tuple(
        TrafficCell(start, group, least, int(number), int(failed), int(tokens), float(cost))
        for start, group, least, number, failed, tokens, cost in connection.execute(query)
    )


def check_cells(connection: Connection, stretch: Stretch, by: Grouping, values: Sequence[str]) -> tuple[CheckCell, ...]:
    scores = trace_scores.c
    parts = _start(stretch), _group(by, values), scores.name, scores.source
    below = func.sum(case((scores.value < FAILING_BELOW, 1), else_=0))
    query = (
        select(*parts, func.count(), below)
        .select_from(traces.join(trace_scores, scores.trace_id == traces.c.id))
        .where(*_within(stretch))
        .group_by(*parts)
    )
    return tuple(
        CheckCell(start, group, name, source, int(scored), int(failing))
        for start, group, name, source, scored, failing in connection.execute(query)
    )


def _within(stretch: Stretch) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return traces.c.started_at >= stretch.since, traces.c.started_at < stretch.until


def _start(stretch: Stretch) -> ColumnElement[str]:
    return func.substr(traces.c.started_at, 1, stretch.bucket.letters).label("start")


def _value(by: Grouping) -> ColumnElement[Any]:
    return func.coalesce(traces.c[by.value], "")


def _group(by: Grouping, values: Sequence[str]) -> ColumnElement[Any]:
    value = _value(by)
    return case((value.in_(values), value), else_=OTHERS).label("group")


def _bin() -> ColumnElement[Any]:
    """The least latency of a trace's bin; division of whole numbers leaves the rest out on both databases."""
    took = traces.c.duration_ms
    parts = [(took < limit, took - took % width) for limit, width in BINS]
    return case(*parts, else_=took - took % WIDEST)
