"""Count the traffic of hours and days, and read it by model or by name: traces, failures, tokens, cost, latencies, scores.

A day is the sum of its hours. Latencies are counted in bins that are at most 5 % wide, so that counts of several days add up
to percentiles of all of them. The values that traffic is grouped by are those most frequent among the newest traces; all
others are one group.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Table, case, delete, func, select

from evergold.model.overview import Bucket, Grouping
from evergold.store.database.rows import batches, dumps, insert_new, loads
from evergold.store.schema import FAILING_BELOW, trace_scores, traces
from evergold.store.traffic_marks import one_at_a_time, traffic_dirty, traffic_figures, traffic_scores

BINS = ((200, 1), (2_000, 10), (20_000, 100), (200_000, 1_000), (2_000_000, 10_000))
WIDEST = 100_000  # of latencies beyond the last limit
DAY = Bucket.DAY.letters


class TrafficKey(NamedTuple):
    """The group of traces that a row is of: an hour or day, and one model or name."""

    kind: str
    start: str
    value: str


@dataclass
class HourFigures:
    """Sums over the traces of one key."""

    traces: int = 0
    failed: int = 0
    tokens: int = 0
    cost: float = 0.0
    costed: int = 0
    latencies: Counter[int] = field(default_factory=Counter)

    def add(self, traces: int, failed: int, tokens: int, cost: float, costed: int) -> None:
        self.traces += traces
        self.failed += failed
        self.tokens += tokens
        self.cost += cost
        self.costed += costed


class CountedTraffic(NamedTuple):
    """The figures of keys, and how often each score was given there and how often it failed."""

    figures: dict[TrafficKey, HourFigures]
    scores: dict[tuple[TrafficKey, str, str], list[int]]

    @property
    def traces(self) -> int:
        return sum(one.traces for key, one in self.figures.items() if key.kind == Grouping.MODEL)


def count_hours(connection: Connection, hours: Iterable[str]) -> CountedTraffic:
    """Count the traces and scores of these hours."""
    result = CountedTraffic({}, {})
    for hour in hours:
        _count_traces(connection, hour, result)
        _count_scores(connection, hour, result)
    return result


def _count_traces(connection: Connection, hour: str, result: CountedTraffic) -> None:
    values = func.coalesce(traces.c.model, ""), traces.c.name, _bin()
    failed = func.sum(case((traces.c.status == "failed", 1), else_=0))
    tokens, cost = func.coalesce(func.sum(traces.c.tokens), 0), func.coalesce(func.sum(traces.c.cost), 0.0)
    query = (
        select(*values, func.count(), failed, tokens, cost, func.count(traces.c.cost))
        .where(*_within(hour))
        .group_by(*values)
    )
    for model, name, least, *sums in connection.execute(query):
        number, *rest = sums
        for key in (TrafficKey(Grouping.MODEL, hour, model), TrafficKey(Grouping.NAME, hour, name)):
            figures = result.figures.setdefault(key, HourFigures())
            figures.add(int(number), int(rest[0]), int(rest[1]), float(rest[2]), int(rest[3]))
            if least is not None:
                figures.latencies[int(least)] += int(number)


def _count_scores(connection: Connection, hour: str, result: CountedTraffic) -> None:
    scores = trace_scores.c
    values = func.coalesce(traces.c.model, ""), traces.c.name, scores.name, scores.source
    failing = func.sum(case((scores.value < FAILING_BELOW, 1), else_=0))
    query = (
        select(*values, func.count(), failing)
        .select_from(traces.join(trace_scores, scores.trace_id == traces.c.id))
        .where(*_within(hour))
        .group_by(*values)
    )
    for model, name, score, source, scored, below in connection.execute(query):
        for key in (TrafficKey(Grouping.MODEL, hour, model), TrafficKey(Grouping.NAME, hour, name)):
            held = result.scores.setdefault((key, score, source), [0, 0])
            held[0] += int(scored)
            held[1] += int(below)


def _within(hour: str) -> list[ColumnElement[bool]]:
    conditions = [func.substr(traces.c.started_at, 1, Bucket.HOUR.letters) == hour, traces.c.started_at >= hour]
    try:
        end = datetime.fromisoformat(f"{hour}:00") + timedelta(hours=1)
    except ValueError:
        return conditions  # a time that somebody wrote by hand in another form
    return [*conditions, traces.c.started_at < end.isoformat()[: Bucket.HOUR.letters]]


def _bin() -> ColumnElement[Any]:
    """The least latency of a trace's bin; division of whole numbers leaves the rest out on both databases."""
    took = traces.c.duration_ms
    parts = [(took < limit, took - took % width) for limit, width in BINS]
    return case(*parts, else_=took - took % WIDEST)


def keep_hours(connection: Connection, counted: CountedTraffic, taken: Mapping[str, Sequence[int]]) -> bool:
    """Keep what was counted of the hours that were taken; False where another process counted one of them meanwhile."""
    marks = [mark for of_hour in taken.values() for mark in of_hour]
    mine = [traffic_dirty.c.id.in_(batch) for batch in batches(marks)]
    # Of two processes that counted the same hour the second sees here that its marks are gone.
    one_at_a_time(connection)
    held = sum(len(connection.execute(select(traffic_dirty.c.id).where(one)).all()) for one in mine)
    if held < len(marks):
        return False
    for one in mine:
        connection.execute(delete(traffic_dirty).where(one))
    for batch in batches(taken):
        _replace(connection, Bucket.HOUR, batch, counted)
    for day in sorted({hour[:DAY] for hour in taken}):
        _replace(connection, Bucket.DAY, [day], _of_day(connection, day))
    return True


def _replace(connection: Connection, bucket: Bucket, starts: Sequence[str], counted: CountedTraffic) -> None:
    wanted = set(starts)
    for table in (traffic_figures, traffic_scores):
        connection.execute(delete(table).where(table.c.bucket == bucket, table.c.start.in_(starts)))
    insert_new(
        connection,
        traffic_figures,
        [
            {"bucket": bucket, **key._asdict()}
            | {name: getattr(one, name) for name in ("traces", "failed", "tokens", "cost", "costed")}
            | {"latencies": dumps(sorted(one.latencies.items()))}
            for key, one in counted.figures.items()
            if key.start in wanted
        ],
    )
    insert_new(
        connection,
        traffic_scores,
        [
            {"bucket": bucket, **key._asdict(), "name": name, "source": source, "scored": scored, "failing": failing}
            for (key, name, source), (scored, failing) in counted.scores.items()
            if key.start in wanted
        ],
    )


def _of_day(connection: Connection, day: str) -> CountedTraffic:
    """Add the hours of a day up."""
    result = CountedTraffic({}, {})
    for row in connection.execute(_hours_of(traffic_figures, day)):
        figures = result.figures.setdefault(TrafficKey(row.kind, day, row.value), HourFigures())
        figures.add(row.traces, row.failed, row.tokens, row.cost, row.costed)
        for least, number in loads(row.latencies):
            figures.latencies[least] += number
    for row in connection.execute(_hours_of(traffic_scores, day)):
        held = result.scores.setdefault((TrafficKey(row.kind, day, row.value), row.name, row.source), [0, 0])
        held[0] += row.scored
        held[1] += row.failing
    return result


def _hours_of(table: Table, day: str) -> Any:
    of_day = func.substr(table.c.start, 1, DAY) == day
    # The kinds named and a range of starts: so the primary key is read, not the whole table.
    kinds, within = table.c.kind.in_([kind.value for kind in Grouping]), table.c.start.between(day, f"{day}T99")
    return select(table).where(table.c.bucket == Bucket.HOUR, kinds, within, of_day)


RECENT = 10_000  # the newest traces, which decide what values are counted by themselves
MOST_VALUES = 12
OTHERS = None  # the group of all other values


Bins = NDArray[np.int64]
"""Rows of the least latency of a bin and how many traces are in it."""


class TrafficCell(NamedTuple):
    """Traces of one bucket and value; of each bin of latency, the least latency in it and how many there are."""

    start: str
    group: str | None
    traces: int
    failed: int
    tokens: int
    cost: float
    costed: int
    latencies: Bins


class CheckCell(NamedTuple):
    """Scores of one name and source on the traces of one bucket and value."""

    start: str
    group: str | None
    name: str
    source: str
    scored: int
    failing: int


def frequent_values(connection: Connection, by: Grouping) -> list[str]:
    """The values that the newest traces have most; an empty text where nothing was recorded."""
    by_time = traces.c.started_at.desc(), traces.c.seq.desc()
    value = func.coalesce(traces.c[by.value], "").label("value")
    newest = select(value).order_by(*by_time).limit(RECENT).subquery()
    ranked = select(newest.c.value).group_by(newest.c.value).order_by(func.count().desc(), newest.c.value)
    return list(connection.execute(ranked.limit(MOST_VALUES)).scalars())


def bins_of(text: str) -> Bins:
    """Read `[[65,1],[72,4]]`, as bins are stored, without making an object of each pair."""
    return np.fromstring(text.strip("[]").replace("],[", ","), dtype=np.int64, sep=",").reshape(-1, 2)


def traffic_cells(
    connection: Connection, since: str, by: Grouping, bucket: Bucket, values: Iterable[str]
) -> list[TrafficCell]:
    """Read the figures since the bucket in which that moment lies."""
    table, known = traffic_figures.c, set(values)
    query = select(
        table.start, table.value, table.traces, table.failed, table.tokens, table.cost, table.costed, table.latencies
    ).where(table.bucket == bucket, table.kind == by, table.start >= since[: bucket.letters])
    return [
        TrafficCell(
            start,
            value if value in known else OTHERS,
            int(number),
            int(failed),
            int(tokens),
            float(cost),
            int(costed),
            bins_of(bins),
        )
        for start, value, number, failed, tokens, cost, costed, bins in connection.execute(query)
    ]


def check_cells(
    connection: Connection, since: str, by: Grouping, bucket: Bucket, values: Iterable[str]
) -> list[CheckCell]:
    """Read how often scores were given and failed since the bucket in which that moment lies."""
    table, known = traffic_scores.c, set(values)
    query = select(table.start, table.value, table.name, table.source, table.scored, table.failing).where(
        table.bucket == bucket, table.kind == by, table.start >= since[: bucket.letters]
    )
    return [
        CheckCell(start, value if value in known else OTHERS, *rest)
        for start, value, *rest in connection.execute(query)
    ]
