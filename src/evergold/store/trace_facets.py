"""Count the values by which a list of traces can be narrowed.

Counts are exact for lists of up to 10,000 traces. Of longer lists the newest 10,000 are looked at, and the answer says so.
"""

from collections import Counter
from typing import Any

from pydantic import BaseModel
from sqlalchemy import CompoundSelect, Connection, case, func, literal, null, select, union_all

from evergold.store.schema import trace_scores, trace_tags, traces
from evergold.store.schema.traces import FAILING_BELOW
from evergold.store.trace_choice import newest
from evergold.store.trace_filter import TraceFilter
from evergold.store.values import loads

EXACT_TO = 10_000
SHOWN = 100
TRACES, TAGS, SCORES = 0, 1, 2  # what a row of counts is about


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
    statuses, names, models, tags = Counter[str | None](), Counter[str | None](), Counter[str | None](), Counter[str]()
    scores: list[ScoreFacet] = []
    for kind, *values, number, failing in connection.execute(_counts(connection, wanted)):
        if kind == TRACES:
            status, name, model, listed = values
            statuses[status] += number
            names[name] += number
            models[model] += number
            # A set: a tag that the app sent twice counts once for its trace.
            tags.update(dict.fromkeys(loads(listed) or () if listed != "[]" else (), number))
        elif kind == TAGS:
            tags[values[0]] += number
        else:
            scores.append(ScoreFacet(name=values[0], source=values[1], count=number, failing=int(failing)))
    total = statuses.total()
    return TraceFacets(
        total=total,
        exact=total < EXACT_TO or not _has_more(connection, wanted),
        statuses=values_of(statuses),
        names=values_of(names),
        models=values_of(models),
        tags=values_of(Counter[str | None](tags)),
        scores=sorted(scores, key=lambda one: (-one.failing, -one.count, one.name, one.source))[:SHOWN],
    )


def _counts(connection: Connection, wanted: TraceFilter) -> CompoundSelect[Any]:
    """Count the newest traces by their own values, by tags of people and by scores, in one look at them."""
    own = (traces.c.status, traces.c.name, traces.c.model, traces.c.tags)
    listed = newest(connection, select(traces.c.id, *own), wanted, EXACT_TO).cte("listed")
    none, table = null(), trace_scores.c
    values = [listed.c[column.name] for column in own]
    failing = func.sum(case((table.value < FAILING_BELOW, 1), else_=0))
    # A list of ids rather than a join, by which SQLite might begin with all scores there are.
    ids = select(listed.c.id)
    return union_all(
        select(literal(TRACES), *values, func.count(), literal(0)).group_by(*values),
        select(literal(TAGS), trace_tags.c.tag, none, none, none, func.count(), literal(0))
        .where(trace_tags.c.trace_id.in_(ids))
        .group_by(trace_tags.c.tag),
        select(literal(SCORES), table.name, table.source, none, none, func.count(), failing)
        .where(table.trace_id.in_(ids))
        .group_by(table.name, table.source),
    )


def _has_more(connection: Connection, wanted: TraceFilter) -> bool:
    one_more = newest(connection, select(traces.c.seq), wanted, EXACT_TO + 1).limit(1).offset(EXACT_TO)
    return connection.execute(one_more).first() is not None


def values_of(counts: Counter[str | None]) -> list[FacetValue]:
    """The most frequent values first; what is not set is no value."""
    ranked = sorted(((value, number) for value, number in counts.items() if value), key=lambda one: (-one[1], one[0]))
    return [FacetValue(value=value, count=number) for value, number in ranked[:SHOWN]]
