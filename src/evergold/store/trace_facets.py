"""Count the values by which a list of traces can be narrowed.

Counts are exact for lists of up to 10,000 traces. Of longer lists the newest 10,000 are looked at, and the answer says so.
"""

from collections import Counter
from typing import Any

from pydantic import BaseModel
from sqlalchemy import Connection, Select, case, func, select

from evergold.store.schema import trace_scores, trace_tags, traces
from evergold.store.schema.traces import FAILING_BELOW
from evergold.store.trace_filter import TraceFilter
from evergold.store.trace_pages import chosen
from evergold.store.values import loads

EXACT_TO = 10_000
SHOWN = 100


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


class TraceFacets(BaseModel):
    """The values of a list of traces. Without `exact` there are more than `total`, and counts are of the newest of them."""

    total: int
    exact: bool
    statuses: list[FacetValue]
    names: list[FacetValue]
    models: list[FacetValue]
    tags: list[FacetValue]
    scores: list[ScoreFacet]


def trace_facets(connection: Connection, wanted: TraceFilter) -> TraceFacets:
    columns = (traces.c.seq, traces.c.status, traces.c.name, traces.c.model, traces.c.tags)
    newest = chosen(connection, select(*columns), wanted).order_by(traces.c.started_at.desc(), traces.c.seq.desc())
    rows = connection.execute(newest.limit(EXACT_TO + 1)).all()
    exact, rows = len(rows) <= EXACT_TO, rows[:EXACT_TO]
    listed = chosen(connection, select(traces.c.id), wanted)
    # The same newest traces as above, as a subquery: their tags and scores lie in other tables.
    listed = listed.order_by(traces.c.started_at.desc(), traces.c.seq.desc()).limit(EXACT_TO)
    # A set: a tag that the app sent twice counts once for its trace.
    tags = Counter(tag for row in rows if row[4] != "[]" for tag in set(loads(row[4]) or ()))
    by_people = (
        select(trace_tags.c.tag, func.count()).where(trace_tags.c.trace_id.in_(listed)).group_by(trace_tags.c.tag)
    )
    tags.update({row[0]: row[1] for row in connection.execute(by_people)})
    return TraceFacets(
        total=len(rows),
        exact=exact,
        statuses=values_of(Counter(row[1] for row in rows)),
        names=values_of(Counter(row[2] for row in rows)),
        models=values_of(Counter(row[3] for row in rows)),
        tags=values_of(tags),
        scores=_scores(connection, listed),
    )


def values_of(counts: Counter[str | None]) -> list[FacetValue]:
    """The most frequent values first; what is not set is no value."""
    ranked = sorted(((value, number) for value, number in counts.items() if value), key=lambda one: (-one[1], one[0]))
    return [FacetValue(value=value, count=number) for value, number in ranked[:SHOWN]]


def _scores(connection: Connection, listed: Select[Any]) -> list[ScoreFacet]:
    table = trace_scores.c
    failing = func.sum(case((table.value < FAILING_BELOW, 1), else_=0))
    query = (
        select(table.name, table.source, func.count(), failing)
        .where(table.trace_id.in_(listed))
        .group_by(table.name, table.source)
        .order_by(failing.desc(), func.count().desc(), table.name)
        .limit(SHOWN)
    )
    rows = connection.execute(query)
    return [ScoreFacet(name=row[0], source=row[1], count=row[2], failing=int(row[3])) for row in rows]
