"""Count the values by which a list of cases can be narrowed."""

from collections import Counter

from pydantic import BaseModel
from sqlalchemy import Connection, func, select

from evergold.store.case_rows import tier_of
from evergold.store.cases import CaseFilter, filtered
from evergold.store.conditions import json_text
from evergold.store.schema import eval_dataset, eval_dataset_tags, trace_scores
from evergold.store.schema.traces import FAILING_BELOW
from evergold.store.trace_facets import EXACT_TO, FacetValue, values_of


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
    table, dialect = eval_dataset.c, connection.dialect.name
    source = json_text(table.body, ("provenance", "source"), dialect)
    columns = (table.dataset, table.kind, table.entry_type, table.confirmed, table.review, source)
    newest = filtered(select(*columns), wanted, dialect).order_by(table.id.desc())
    # One row more than is counted tells whether the counts are exact.
    rows = connection.execute(newest.limit(EXACT_TO + 1)).all()
    exact, rows = len(rows) <= EXACT_TO, rows[:EXACT_TO]
    listed = filtered(select(table.id), wanted, dialect).order_by(table.id.desc()).limit(EXACT_TO)
    tags = select(eval_dataset_tags.c.tag, func.count()).where(eval_dataset_tags.c.dataset_id.in_(listed))
    return CaseFacets(
        total=len(rows),
        exact=exact,
        datasets=values_of(Counter(row[0] for row in rows)),
        kinds=values_of(Counter(row[1] for row in rows)),
        tiers=values_of(Counter(tier_of(row[2], row[3]) for row in rows)),
        reviews=values_of(Counter(row[4] for row in rows)),
        sources=values_of(Counter(row[5] for row in rows)),
        tags=values_of(Counter({row[0]: row[1] for row in connection.execute(tags.group_by(eval_dataset_tags.c.tag))})),
        checks=values_of(_failed_checks(connection, wanted)),
    )


def _failed_checks(connection: Connection, wanted: CaseFilter) -> Counter[str | None]:
    """Name of a score → how many of the listed cases have a trace on which it failed."""
    table, scores = eval_dataset.c, trace_scores.c
    listed = filtered(select(table.id, table.trace_id), wanted, connection.dialect.name)
    newest = listed.where(table.trace_id.is_not(None)).order_by(table.id.desc()).limit(EXACT_TO).subquery()
    failed = select(scores.name, func.count(func.distinct(newest.c.id))).join(
        newest, newest.c.trace_id == scores.trace_id
    )
    rows = connection.execute(failed.where(scores.value < FAILING_BELOW).group_by(scores.name))
    return Counter({str(name): int(number) for name, number in rows})
