"""Count the traffic of hours and days, and read it by model or by name: traces, failures, tokens, cost, latencies, scores.

A day is the sum of its hours. Latencies are counted in bins that are at most 5 % wide, so that counts of several days add up
to percentiles of all of them. The values that traffic is grouped by are those most frequent among the newest traces; all
others are one group.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection

from evergold.model.overview import Bucket, Grouping
from evergold.store.database.rows import (
    change_among,
    delete_among,
    dumps,
    insert_rows,
    loads,
    read_column,
    rows_among,
    run_sql,
)
from evergold.store.schema import FAILING_BELOW
from evergold.store.traffic_marks import one_at_a_time, traffic_figures, traffic_scores

BINS = ((200, 1), (2_000, 10), (20_000, 100), (200_000, 1_000), (2_000_000, 10_000))
WIDEST = 100_000  # of latencies beyond the last limit
DAY = Bucket.DAY.letters
# The least latency of a trace's bin; division of whole numbers leaves the rest out on both databases.
BIN = " ".join(f"WHEN duration_ms < {limit} THEN duration_ms - duration_ms % {width}" for limit, width in BINS)
TRACES_OF_HOUR = f"""SELECT coalesce(t.model, ''), t.name, CASE {BIN} ELSE duration_ms - duration_ms % {WIDEST} END,
      count(*), sum(CASE WHEN t.status = 'failed' THEN 1 ELSE 0 END), coalesce(sum(t.tokens), 0),
      coalesce(sum(t.cost), 0.0), count(t.cost) FROM traces t WHERE {{}} GROUP BY 1, 2, 3"""
SCORES_OF_HOUR = f"""SELECT coalesce(t.model, ''), t.name, s.name, s.source,
      count(*), sum(CASE WHEN s.value < {FAILING_BELOW} THEN 1 ELSE 0 END)
    FROM traces t JOIN trace_scores s ON s.trace_id = t.id WHERE {{}} GROUP BY 1, 2, 3, 4"""
# The kinds named and a range of starts: so the primary key is read, not the whole table.
OF_DAY = f"""bucket = '{Bucket.HOUR.value}' AND kind IN ({", ".join(f"'{kind.value}'" for kind in Grouping)})
    AND start BETWEEN :day AND :end AND substr(start, 1, {DAY}) = :day"""

SUMS = ("traces", "failed", "tokens", "cost", "costed")  # columns of the figures that add up

TrafficKey = tuple[str, str, str]  # of a row: `model` or `name`, the hour or day, and which model or name


@dataclass
class TrafficSums:
    """Sums over some traces and their scores, to which further ones are added. `latencies`: traces by the least of their bin."""

    latencies: Counter[int] = field(default_factory=Counter)
    traces: int = 0
    failed: int = 0
    tokens: int = 0
    cost: float = 0.0
    costed: int = 0
    scored: int = 0
    failing: int = 0

    def add(self, other: "TrafficSums") -> None:
        for name in (*SUMS, "scored", "failing"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.latencies.update(other.latencies)


class CountedTraffic:
    """The sums of traces by key; and by key, score and source, how often it was given and how often it failed."""

    def __init__(self) -> None:
        self.figures: defaultdict[TrafficKey, TrafficSums] = defaultdict(TrafficSums)
        self.scores: defaultdict[tuple[str, ...], TrafficSums] = defaultdict(TrafficSums)

    @property
    def traces(self) -> int:
        return sum(sums.traces for key, sums in self.figures.items() if key[0] == Grouping.MODEL)


def count_hours(connection: Connection, hours: Iterable[str]) -> CountedTraffic:
    """Count the traces and scores of these hours."""
    result = CountedTraffic()
    for hour in hours:
        within, given = _limit_hour(hour)
        for model, name, least, *counts in run_sql(connection, TRACES_OF_HOUR.format(within), **given):
            number, failed, tokens, cost, costed = counts
            latencies = Counter({} if least is None else {int(least): int(number)})
            sums = TrafficSums(latencies, int(number), int(failed), int(tokens), float(cost), int(costed))
            for kind, value in ((Grouping.MODEL, model), (Grouping.NAME, name)):
                result.figures[kind.value, hour, value].add(sums)
        for model, name, score, source, scored, failing in run_sql(connection, SCORES_OF_HOUR.format(within), **given):
            for kind, value in ((Grouping.MODEL, model), (Grouping.NAME, name)):
                given_of = TrafficSums(scored=int(scored), failing=int(failing))
                result.scores[kind.value, hour, value, score, source].add(given_of)
    return result


def _limit_hour(hour: str) -> tuple[str, dict[str, str]]:
    condition = f"substr(t.started_at, 1, {Bucket.HOUR.letters}) = :hour AND t.started_at >= :hour"
    try:
        end = datetime.fromisoformat(f"{hour}:00") + timedelta(hours=1)
    except ValueError:
        return condition, {"hour": hour}  # a time that somebody wrote by hand in another form
    return f"{condition} AND t.started_at < :end", {"hour": hour, "end": end.isoformat()[: Bucket.HOUR.letters]}


def keep_hours(connection: Connection, counted: CountedTraffic, taken: Mapping[str, Sequence[int]]) -> bool:
    """Keep what was counted of the hours that were taken; False where another process counted one of them meanwhile."""
    marks = [mark for of_hour in taken.values() for mark in of_hour]
    # Of two processes that counted the same hour the second sees here that its marks are gone.
    one_at_a_time(connection)
    if len(list(rows_among(connection, "SELECT id FROM traffic_dirty WHERE id", marks))) < len(marks):
        return False
    delete_among(connection, "traffic_dirty", "id", marks)
    _replace(connection, Bucket.HOUR, taken, counted)
    for day in sorted({hour[:DAY] for hour in taken}):
        _replace(connection, Bucket.DAY, [day], _of_day(connection, day))
    return True


def _replace(connection: Connection, bucket: Bucket, starts: Iterable[str], counted: CountedTraffic) -> None:
    wanted = set(starts)
    for table in ("traffic_figures", "traffic_scores"):
        change_among(connection, f"DELETE FROM {table} WHERE bucket = '{bucket.value}' AND start", wanted)
    figures = [
        (bucket.value, *key, *(getattr(one, name) for name in SUMS), dumps(sorted(one.latencies.items())))
        for key, one in counted.figures.items()
        if key[1] in wanted
    ]
    scores = [(bucket.value, *key, one.scored, one.failing) for key, one in counted.scores.items() if key[1] in wanted]
    for of, rows in ((traffic_figures, figures), (traffic_scores, scores)):
        insert_rows(connection, of, [column.name for column in of.columns], rows, new_only=True)


def _of_day(connection: Connection, day: str) -> CountedTraffic:
    """Add the hours of a day up."""
    result, given = CountedTraffic(), {"day": day, "end": f"{day}T99"}
    figures = f"SELECT kind, value, {', '.join(SUMS)}, latencies FROM traffic_figures WHERE {OF_DAY}"
    for kind, value, *sums, bins in run_sql(connection, figures, **given):
        result.figures[kind, day, value].add(TrafficSums(read_bins(bins), *sums))
    scores = f"SELECT kind, value, name, source, scored, failing FROM traffic_scores WHERE {OF_DAY}"
    for kind, *key, scored, failing in run_sql(connection, scores, **given):
        result.scores[(kind, day, *key)].add(TrafficSums(scored=scored, failing=failing))
    return result


def read_bins(written: str) -> Counter[int]:
    """Read how many traces each bin of latency has: `[[65,1],[72,4]]`."""
    return Counter(dict(loads(written)))


RECENT = 10_000  # the newest traces, which decide what values are counted by themselves
MOST_VALUES = 12
OTHERS = None  # the group of all other values


class CheckCell(NamedTuple):
    """Scores of one name and source on the traces of one hour or day and group."""

    start: str
    group: str | None
    name: str
    source: str
    scored: int
    failing: int


def frequent_values(connection: Connection, by: Grouping) -> list[str]:
    """The values that the newest traces have most; an empty text where nothing was recorded."""
    newest = f"SELECT coalesce({by.value}, '') AS value FROM traces ORDER BY started_at DESC, seq DESC LIMIT {RECENT}"
    query = f"SELECT value FROM ({newest}) AS n GROUP BY value ORDER BY count(*) DESC, value LIMIT {MOST_VALUES}"
    return read_column(connection, query)


def traffic_cells(
    connection: Connection, since: str, by: Grouping, bucket: Bucket, values: Iterable[str]
) -> Iterator[tuple[str, str | None, TrafficSums]]:
    """Read the figures since the bucket in which that moment lies: start, group, sums."""
    figures = f"start, value, {', '.join(SUMS)}, latencies FROM traffic_figures"
    for start, group, *sums, bins in _cells(connection, figures, since, by, bucket, values):
        yield start, group, TrafficSums(read_bins(bins), *sums)


def check_cells(
    connection: Connection, since: str, by: Grouping, bucket: Bucket, values: Iterable[str]
) -> list[CheckCell]:
    """Read how often scores were given and failed since the bucket in which that moment lies."""
    scores = "start, value, name, source, scored, failing FROM traffic_scores"
    return list(map(CheckCell._make, _cells(connection, scores, since, by, bucket, values)))


def _cells(
    connection: Connection, columns: str, since: str, by: Grouping, bucket: Bucket, values: Iterable[str]
) -> Iterator[Sequence[Any]]:
    """Read rows of a start and a value; a value that is none of these becomes that of all others."""
    given, known = {"bucket": bucket.value, "kind": by.value, "start": since[: bucket.letters]}, set(values)
    query = f"SELECT {columns} WHERE bucket = :bucket AND kind = :kind AND start >= :start"
    for start, value, *rest in run_sql(connection, query, **given):
        yield start, value if value in known else OTHERS, *rest
