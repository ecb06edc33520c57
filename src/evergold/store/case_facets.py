"""Count the values by which a list of cases can be narrowed."""

from collections import Counter
from typing import Any

from pydantic import BaseModel
from sqlalchemy import CompoundSelect, Connection, func, literal, null, select, union_all

from evergold.store.case_rows import tier_of
from evergold.store.cases import CaseFilter, filtered
from evergold.store.conditions import json_word
from evergold.store.schema import eval_dataset, eval_dataset_tags, trace_scores
from evergold.store.schema.traces import FAILING_BELOW
from evergold.store.trace_facets import EXACT_TO, FacetValue, values_of

CASES, TAGS, CHECKS = 0, 1, 2  # what a row of counts is about


class CaseFacets(BaseModel):
    """The values of a list of cases. Without `exact` there are more than `total`, and counts are of the newest of them."""

    total: int
    exact: bool
    datasets: list[FacetValue]
    kinds: list[FacetValue]
    tiers: list[FacetValue]
    reviews: list[FacetValue]
    sources: list[FacetValue]
    tags: list[FacetValue]
    checks: list[FacetValue]


def case_facets(connection: Connection, wanted: CaseFilter) -> CaseFacets:
    datasets, kinds, tiers, reviews, sources, tags, checks = (Counter[str | None]() for _ in range(7))
    for topic, first, kind, entry_type, confirmed, review, source, number in connection.execute(
        _counts(connection, wanted)
    ):
        if topic == CASES:
            datasets[first] += number
            kinds[kind] += number
            tiers[tier_of(entry_type, bool(confirmed))] += number
            reviews[review] += number
            sources[source] += number
        else:
            (tags if topic == TAGS else checks)[first] += number
    total = datasets.total()
    return CaseFacets(
        total=total,
        exact=total < EXACT_TO or not _has_more(connection, wanted),
        datasets=values_of(datasets),
        kinds=values_of(kinds),
        tiers=values_of(tiers),
        reviews=values_of(reviews),
        sources=values_of(sources),
        tags=values_of(tags),
        checks=values_of(checks),
    )


def _counts(connection: Connection, wanted: CaseFilter) -> CompoundSelect[Any]:
    """Count the newest cases by their own values, by tags, and by checks that failed on their traces, in one look at them."""
    table, scores, dialect = eval_dataset.c, trace_scores.c, connection.dialect.name
    source = json_word(table.body, ("provenance", "source"), dialect).label("source")
    own = (table.dataset, table.kind, table.entry_type, table.confirmed, table.review)
    newest = filtered(select(table.id), wanted, dialect).order_by(table.id.desc()).limit(EXACT_TO)
    # The numbers first, which an index gives; sorting whole rows would cost as much as all the rest.
    listed = select(table.id, table.trace_id, *own, source).where(table.id.in_(newest)).cte("listed")
    values = [*(listed.c[column.name] for column in own), listed.c.source]
    nothing = [null() for _ in values[1:]]
    traced = select(listed.c.id, listed.c.trace_id).where(listed.c.trace_id.is_not(None)).subquery()
    return union_all(
        select(literal(CASES), *values, func.count()).group_by(*values),
        select(literal(TAGS), eval_dataset_tags.c.tag, *nothing, func.count())
        .where(eval_dataset_tags.c.dataset_id.in_(select(listed.c.id)))
        .group_by(eval_dataset_tags.c.tag),
        select(literal(CHECKS), scores.name, *nothing, func.count(func.distinct(traced.c.id)))
        .join(traced, traced.c.trace_id == scores.trace_id)
        .where(scores.value < FAILING_BELOW)
        .group_by(scores.name),
    )


def _has_more(connection: Connection, wanted: CaseFilter) -> bool:
    some = filtered(select(eval_dataset.c.id), wanted, connection.dialect.name).limit(EXACT_TO + 1).subquery()
    return connection.execute(select(func.count()).select_from(some)).scalar_one() > EXACT_TO
