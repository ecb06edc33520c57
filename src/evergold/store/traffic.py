"""Read the counted traffic of a stretch of time by model or by name: traces, failures, tokens, cost, latencies and scores.

The values it is grouped by are those most frequent among the newest traces; all others are one group.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from evergold.model.operations import Grouping
from evergold.store.overview import Bucket
from evergold.store.rollup.tables import traffic_figures, traffic_scores
from evergold.store.schema import traces

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
        table.start, table.value, table.traces, table.failed, table.tokens, table.cost, table.latencies
    ).where(table.bucket == bucket, table.kind == by, table.start >= since[: bucket.letters])
    return [
        TrafficCell(
            start,
            value if value in known else OTHERS,
            int(number),
            int(failed),
            int(tokens),
            float(cost),
            bins_of(bins),
        )
        for start, value, number, failed, tokens, cost, bins in connection.execute(query)
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
