"""Lists of traces in their order, and counts of the values by which a list can be narrowed.

A page begins where the last one ended (keyset), never "after so many", so it costs the same at the first and at the millionth.
Counts are exact for lists of up to 5,000 traces. Of longer lists the newest 5,000 are looked at, and the answer says so.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from pydantic import BaseModel
from sqlalchemy import (
    Column,
    CompoundSelect,
    Connection,
    Text,
    case,
    func,
    literal,
    literal_column,
    null,
    select,
    union_all,
)

from evergold.errors import BadInput
from evergold.model.trace import Trace, TraceStatus
from evergold.store.conditions import APP
from evergold.store.database.rows import loads
from evergold.store.schema import FAILING_BELOW, trace_scores, trace_tags, traces
from evergold.store.trace.filter import (
    TraceFilter,
    TraceOrder,
    after_reached,
    choose_traces,
    is_among,
    narrows_to_few,
    select_newest,
)
from evergold.store.trace.scores import scores_of_many
from evergold.store.trace.search import SearchTerms, best_first
from evergold.store.trace.traces import trace_of, with_tags

TEXTS = ("input_text", "output_text")
BEST_OF = 1_000  # the newest hits among which the best matches are chosen
LARGEST = 2**60  # stands for a missing figure in a cursor, above all that are stored


class SortKey(NamedTuple):
    """The column of an order, and whether the greatest comes first."""

    column: Column[Any]
    falling: bool


KEYS = {
    TraceOrder.NEWEST: SortKey(traces.c.started_at, True),
    TraceOrder.OLDEST: SortKey(traces.c.started_at, False),
    TraceOrder.SLOWEST: SortKey(traces.c.duration_ms, True),
    TraceOrder.QUICKEST: SortKey(traces.c.duration_ms, False),
    TraceOrder.MOST_TOKENS: SortKey(traces.c.tokens, True),
    TraceOrder.FEWEST_TOKENS: SortKey(traces.c.tokens, False),
    TraceOrder.DEAREST: SortKey(traces.c.cost, True),
    TraceOrder.CHEAPEST: SortKey(traces.c.cost, False),
}


def page_of_traces(
    connection: Connection,
    wanted: TraceFilter,
    *,
    limit: int,
    before: str | None = None,
    order: TraceOrder = TraceOrder.NEWEST,
    scores: bool = False,
    preview: int | None = None,
) -> tuple[list[Trace], str | None]:
    """A page without spans, with scores where they are asked for, texts cut to `preview` characters; and the next cursor."""
    asked = SearchTerms.of(wanted.search or "")
    if order is TraceOrder.MATCH and any(asked):
        seqs, cursor = _best_matches(connection, wanted, limit, before)
    else:
        seqs, cursor = _page_in_order(connection, wanted, limit, before, order)
    rows = _rows(connection, seqs, preview)
    its_scores = scores_of_many(connection, [row["id"] for row in rows]) if scores else {}
    listed = [trace_of(row, (), its_scores.get(row["id"], ())) for row in rows]
    return with_tags(connection, listed), cursor


def count_traces(connection: Connection, wanted: TraceFilter | None = None, most: int | None = None) -> int:
    """How many pass; `most` is where counting ends."""
    query = choose_traces(connection, select(traces.c.seq), wanted or TraceFilter())
    if most is not None:
        query = query.limit(most)
    return int(connection.execute(select(func.count()).select_from(query.subquery())).scalar_one())


def _page_in_order(
    connection: Connection, wanted: TraceFilter, limit: int, before: str | None, order: TraceOrder
) -> tuple[Sequence[int], str | None]:
    key = KEYS.get(order, KEYS[TraceOrder.NEWEST])
    by_time = key.column is traces.c.started_at
    cursor = read_cursor(before, str if by_time else float) if before is not None else None
    query = select(traces.c.seq, key.column.label("key"))
    if by_time and key.falling:
        rows = connection.execute(select_newest(connection, query, wanted, limit + 1, cursor)).all()
    elif by_time:
        chosen = choose_traces(connection, query, wanted).limit(limit + 1)
        rows = connection.execute(after_reached(chosen, (key.column, traces.c.seq), key.falling, cursor)).all()
    else:
        rows = _by_figure(connection, wanted, key, limit + 1, cursor)
    last = rows[limit - 1] if len(rows) > limit else None
    return [row[0] for row in rows[:limit]], f"{LARGEST if last[1] is None else last[1]}|{last[0]}" if last else None


def _by_figure(
    connection: Connection, wanted: TraceFilter, key: SortKey, limit: int, cursor: tuple[Any, int] | None
) -> list[Any]:
    """Traces in the order of a figure; those without it come last in either direction."""
    figures = select(traces.c.seq, key.column.label("key"))
    rows: list[Any] = []
    among_unknown = cursor is not None and cursor[0] == LARGEST
    if not among_unknown:
        walked = not narrows_to_few(connection, wanted)
        # Only this condition lets the database use the index of the figure, which holds the known ones.
        known = choose_traces(connection, figures, wanted, walked=walked).where(key.column.is_not(None))
        rows += connection.execute(after_reached(known, (key.column, traces.c.seq), key.falling, cursor).limit(limit))
    if len(rows) < limit:
        reached = (cursor[1],) if cursor is not None and among_unknown else None
        unknown = choose_traces(connection, figures, wanted).where(key.column.is_(None))
        rest = after_reached(unknown, (traces.c.seq,), key.falling, reached)
        rows += connection.execute(rest.limit(limit - len(rows)))
    return rows


def _best_matches(
    connection: Connection, wanted: TraceFilter, limit: int, before: str | None
) -> tuple[Sequence[int], str | None]:
    seqs = connection.execute(select_newest(connection, select(traces.c.seq), wanted, BEST_OF)).scalars().all()
    texts = (func.substr(traces.c[name], 1, 2000) for name in TEXTS)
    query = select(traces.c.seq, traces.c.name, *texts).where(is_among(seqs, connection.dialect.name))
    rows = [(row[0], (row[1], row[2] or "", row[3] or "")) for row in connection.execute(query)]
    ranked = best_first(rows, SearchTerms.of(wanted.search or ""), seqs)
    start = read_cursor(before, str)[1] if before else 0
    end = start + limit
    return ranked[start:end], f"match|{end}" if end < len(ranked) else None


def read_cursor(text: str, of: type[str] | type[float], *, number_alone: bool = False) -> tuple[str | float, int]:
    """What a list is sorted by and a number, where the last page ended; of older clients the number alone."""
    key, _, number = text.rpartition("|")
    with suppress(ValueError):
        if (key or number_alone) and number.isascii() and number.isdecimal() and len(number) <= 18:
            return of(key), int(number)
    raise BadInput(f"cursor {text!r} is not one of ours; send the `next` of the page before, or none")


def _rows(connection: Connection, seqs: Sequence[int], preview: int | None) -> list[Any]:
    """Rows in the order given, whole or with the beginning of their texts."""
    cut = {name: func.substr(traces.c[name], 1, preview).label(name) for name in TEXTS if preview is not None}
    columns = [cut.get(column.name, column) for column in traces.c]
    query = select(*columns).where(is_among(seqs, connection.dialect.name))
    rows = {row["seq"]: dict(row) for row in connection.execute(query).mappings()}
    return [rows[seq] for seq in seqs if seq in rows]


EXACT_TO = 5_000
NEWEST_APPS = 1_000
SHOWN = 100
TRACES, TAGS, SCORES, TIMES = 0, 1, 2, 3  # what a row of counts is about
MOST_HOURS = 72  # more of them are counted by day
DAY = 10  # characters of a moment that name its day; three more name its hour


class FacetValue(BaseModel):
    """A value, and how many traces or cases of the list have it."""

    value: str
    count: int


class ScoreFacet(BaseModel):
    """A score: how many traces of the list have it, and of how many it is below the failure threshold."""

    name: str
    source: str
    count: int
    failing: int


class TimeCount(BaseModel):
    """How many traces of the list began in an hour (`2026-01-31T09`) or on a day (`2026-01-31`), and how many of them failed."""

    start: str
    traces: int
    failed: int


class TraceFacets(BaseModel):
    """The values of a list of traces. Without `exact` there are more than `total`, and counts are of the newest of them."""

    total: int
    exact: bool
    statuses: list[FacetValue]
    names: list[FacetValue]
    apps: list[FacetValue]
    models: list[FacetValue]
    tags: list[FacetValue]
    scores: list[ScoreFacet]
    times: list[TimeCount]


def trace_facets(connection: Connection, wanted: TraceFilter) -> TraceFacets:
    own = ("statuses", "names", "models")
    counters = {name: Counter[str | None]() for name in (*own, "tags")}
    scores: list[ScoreFacet] = []
    hours: dict[str, tuple[int, int]] = {}
    for kind, *values, number, failing in connection.execute(_counts(connection, wanted)):
        if kind == TRACES:
            for name, value in zip(own, values[:-1], strict=True):
                counters[name][value] += number
            # A set: a tag that the app sent twice counts once for its trace.
            counters["tags"].update(dict.fromkeys(loads(values[-1]) or () if values[-1] != "[]" else (), number))
        elif kind == TAGS:
            counters["tags"][values[0]] += number
        elif kind == TIMES:
            hours[values[0]] = (number, int(failing))
        else:
            scores.append(ScoreFacet(name=values[0], source=values[1], count=number, failing=int(failing)))
    total = counters["statuses"].total()
    return TraceFacets(
        total=total,
        exact=total < EXACT_TO or count_traces(connection, wanted, EXACT_TO + 1) <= EXACT_TO,
        **{name: values_of(counter) for name, counter in counters.items()},
        apps=_count_apps(connection, wanted),
        scores=sorted(scores, key=lambda one: (-one.failing, -one.count, one.name, one.source))[:SHOWN],
        times=_times(hours),
    )


def _times(hours: dict[str, tuple[int, int]]) -> list[TimeCount]:
    """Give counts by hour, or by day where there are many hours, the oldest first."""
    counted: dict[str, list[int]] = {}
    for hour, numbers in hours.items():
        held = counted.setdefault(hour if len(hours) <= MOST_HOURS else hour[:DAY], [0, 0])
        held[:] = [old + new for old, new in zip(held, numbers, strict=True)]
    return [TimeCount(start=start, traces=all_, failed=failed) for start, (all_, failed) in sorted(counted.items())]


def _counts(connection: Connection, wanted: TraceFilter) -> CompoundSelect[Any]:
    """Count the newest traces by their own values, by tags of people and by scores, in one look at them."""
    own = (traces.c.status, traces.c.name, traces.c.model, traces.c.tags)
    listed = select_newest(connection, select(traces.c.id, traces.c.started_at, *own), wanted, EXACT_TO).cte("listed")
    none, table = null(), trace_scores.c
    values = [listed.c[column.name] for column in own]
    failing = func.sum(case((table.value < FAILING_BELOW, 1), else_=0))
    hour = func.substr(listed.c.started_at, 1, DAY + 3)
    failed = func.sum(case((listed.c.status == TraceStatus.FAILED, 1), else_=0))
    # A list of ids rather than a join, by which SQLite might begin with all scores there are.
    ids = select(listed.c.id)
    return union_all(
        select(literal(TRACES), *values, func.count(), literal(0)).group_by(*values),
        select(literal(TIMES), hour, none, none, none, func.count(), failed).group_by(hour),
        select(literal(TAGS), trace_tags.c.tag, none, none, none, func.count(), literal(0))
        .where(trace_tags.c.trace_id.in_(ids))
        .group_by(trace_tags.c.tag),
        select(literal(SCORES), table.name, table.source, none, none, func.count(), failing)
        .where(table.trace_id.in_(ids))
        .group_by(table.name, table.source),
    )


def _count_apps(connection: Connection, wanted: TraceFilter) -> list[FacetValue]:
    """Count the newest traces by app; fewer of them than for the other facets, because each row has to be read."""
    app = literal_column(APP[connection.dialect.name].format("traces"), Text).label("app")
    listed = select_newest(connection, select(app).select_from(traces), wanted, NEWEST_APPS).subquery()
    counted = connection.execute(select(listed.c.app, func.count()).group_by(listed.c.app))
    return values_of(Counter({name: int(number) for name, number in counted}))


def values_of(counts: Counter[str | None]) -> list[FacetValue]:
    """The most frequent values first; what is not set is no value."""
    ranked = sorted(((value, number) for value, number in counts.items() if value), key=lambda one: (-one[1], one[0]))
    return [FacetValue(value=value, count=number) for value, number in ranked[:SHOWN]]
