"""Cases out of the store: one, a page, a stream, the history of each, and counts of the values that narrow a list."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import BaseModel, BeforeValidator, ValidationError
from sqlalchemy import (
    Boolean,
    ColumnElement,
    CompoundSelect,
    Connection,
    Select,
    Table,
    Text,
    exists,
    false,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
    union_all,
)
from sqlalchemy.engine import RowMapping

from evergold.errors import BadInput, NotFound, describe_unknown
from evergold.model.case import Candidates, Case, CaseKind, CaseStatus, EntryType, ReviewState, TierEvidence
from evergold.model.faults import faults_of
from evergold.store.case.content import AT_ONCE, Contents, add_contents, add_texts, case_of
from evergold.store.conditions import Cutoff, Many, Pairs, as_list, json_text
from evergold.store.database.rows import batches, group_among, loads, read_column, run_sql
from evergold.store.schema import (
    EVIDENCE,
    FAILING_BELOW,
    TIER,
    case_reviews,
    case_revisions,
    eval_dataset,
    eval_dataset_tags,
    trace_scores,
)
from evergold.store.text_index import may_hold
from evergold.store.trace.filter import after_reached
from evergold.store.trace.pages import EXACT_TO, FacetValue, read_cursor, values_of
from evergold.store.trace.search import Search

T = TypeVar("T")
CaseKeys = Sequence[tuple[str, str]]  # by dataset and id
LIMIT = str(FAILING_BELOW)  # written out, because a bound value would hide the index of failing scores


class CaseFilter(BaseModel, frozen=True, extra="forbid"):
    """Which cases: every part that is given must hold. `check` names a check that failed on the case's trace.

    `evidence`: one of several things that a tier rests on. Golden cases that rest on silence (`candidates`) are left out unless
    they are asked for, by themselves or as evidence.
    """

    dataset: str | None = None
    kind: CaseKind | None = None
    entry_type: EntryType | None = None
    confirmed: bool | None = None
    candidates: Candidates = Candidates.EXCLUDE
    evidence: Annotated[tuple[TierEvidence, ...], BeforeValidator(as_list)] = ()
    review: ReviewState | None = None
    status: CaseStatus | None = CaseStatus.ACTIVE
    tag: Many = ()
    source: str | None = None
    check: str | None = None
    metadata: Pairs = ()
    trace_id: str | None = None
    session_id: str | None = None
    policy: str | None = None
    since: Cutoff | None = None
    until: Cutoff | None = None
    search: Search | None = None

    @property
    def leaves_candidates(self) -> bool:
        """Whether candidates are left out because they were not asked for."""
        return self.candidates is Candidates.EXCLUDE and not self.evidence


def case_filter(dataset: str, filters: Mapping[str, Any]) -> CaseFilter:
    """The filter of a build: all states are read, so that the manifest can say why a case is not in it."""
    allowed = tuple(name for name in CaseFilter.model_fields if name not in ("dataset", "status"))
    for name in filters:
        if name not in allowed:
            raise BadInput(describe_unknown("filter", name, allowed))
    try:
        return CaseFilter.model_validate({"dataset": dataset, "status": None, **filters})
    except ValidationError as problem:
        raise BadInput(f"filter {faults_of(problem.errors(), CaseFilter)[0]}") from None


class CaseOrder(StrEnum):
    """How a list of cases is sorted: by when they came, or by when they last changed."""

    NEWEST = "newest"
    OLDEST = "oldest"
    CHANGED = "changed"


class Revision(BaseModel, frozen=True):
    """One change of a case: who, when, why, and each field before and after."""

    version: int
    action: str
    who: str
    why: str
    created_at: str
    rev: str | None
    changes: dict[str, Any]
    evidence: dict[str, Any]


def find_case(connection: Connection, dataset: str, case_id: str) -> Case | None:
    held = held_cases(connection, [(dataset, case_id)])
    return held[dataset, case_id][1] if held else None


def get_case(connection: Connection, dataset: str, case_id: str) -> Case:
    return _require(find_case(connection, dataset, case_id), dataset, case_id)


def entry_id_of(connection: Connection, dataset: str, case_id: str) -> int:
    return _require(entry_ids(connection, [(dataset, case_id)]).get((dataset, case_id)), dataset, case_id)


def _require(held: T | None, dataset: str, case_id: str) -> T:
    if held is None:
        raise NotFound(f"no case {case_id!r} in dataset {dataset!r}; `evergold cases list` shows what there is")
    return held


def with_case(table: Table, dataset: str | None = None, case_id: str | None = None) -> Select[Any]:
    """Select the rows of a table that belong to cases, each with `dataset` and `case_id`; of all, of a dataset, or of one."""
    entry = eval_dataset.c
    query = select(table, entry.dataset, entry.case_id).join(eval_dataset, entry.id == table.c.entry_id)
    given = {entry.dataset: dataset, entry.case_id: case_id}
    return query.where(*(column == value for column, value in given.items() if value is not None))


def entry_ids(connection: Connection, keys: CaseKeys) -> dict[tuple[str, str], int]:
    """The integers of `eval_dataset` under which these cases stand."""
    query = select(eval_dataset.c.dataset, eval_dataset.c.case_id, eval_dataset.c.id)
    entries: dict[tuple[str, str], int] = {}
    # Thousands of keys in one statement would pass the limit of parameters.
    for batch in batches(keys):
        entries |= {(row[0], row[1]): int(row[2]) for row in connection.execute(query.where(_has_key(batch)))}
    return entries


def page_of_cases(
    connection: Connection,
    wanted: CaseFilter,
    *,
    limit: int = 50,
    before: str | None = None,
    order: CaseOrder = CaseOrder.NEWEST,
    preview: int | None = None,
) -> tuple[list[Case], str | None]:
    """A page and the cursor of the next one, None at the end; of previews where a length is given."""
    table = eval_dataset.c
    query = apply_filter(select(eval_dataset), wanted, connection.dialect.name).limit(limit + 1)
    reached = read_cursor(before, str, number_alone=True) if before else None
    # Of the last change both columns: times repeat, so the id decides between rows of the same moment.
    columns = (table.updated_at, table.id) if order is CaseOrder.CHANGED else (table.id,)
    query = after_reached(query, columns, order is not CaseOrder.OLDEST, reached and reached[-len(columns) :])
    rows = connection.execute(query).mappings().all()
    # One row more than the page was read: without it there is no next page, and no cursor to an empty one.
    end = rows[limit - 1] if len(rows) > limit else None
    cursor = f"{end['updated_at']}|{end['id']}" if end else None
    rows = rows[:limit]
    if preview is None:
        return _as_cases(connection, rows), cursor
    return [case.preview(preview) for case in add_texts(connection, rows, _from_rows(connection, rows))], cursor


def iterate_cases(
    connection: Connection, wanted: CaseFilter, *, oldest_first: bool = True, batch: int = 1000
) -> Iterator[Case]:
    """All of them, a batch in memory at a time."""
    matching = apply_filter(select(eval_dataset), wanted, connection.dialect.name).limit(batch)
    query = after_reached(matching, (eval_dataset.c.id,), not oldest_first, None)
    while rows := connection.execute(query).mappings().all():
        yield from _as_cases(connection, rows)
        query = after_reached(matching, (eval_dataset.c.id,), not oldest_first, (rows[-1]["id"],))


class CaseBesideTrace(NamedTuple):
    """A case as it is stored, and as it would be if its trace were read now. `own`: its trace only fills what it lacks."""

    entry: int
    own: bool
    held: Case
    fresh: Case


def iterate_with_traces(connection: Connection) -> Iterator[CaseBesideTrace]:
    """Every active case that cites a stored trace, oldest first."""
    table, last = eval_dataset.c, 0
    citing = (table.status == CaseStatus.ACTIVE, table.trace_id.is_not(None))
    query = select(eval_dataset).where(*citing).order_by(table.id)
    while rows := connection.execute(query.where(table.id > last).limit(AT_ONCE)).mappings().all():
        bare = _from_rows(connection, rows)
        traces = Contents(connection, {row["trace_id"] for row in rows})
        for row, plain, held in zip(rows, bare, add_contents(connection, rows, bare), strict=True):
            own = bool(row["own_content"])
            yield CaseBesideTrace(row["id"], own, held, traces.complete(held if own else plain, row["trace_id"]))
        last = rows[-1]["id"]


def candidates_beside(connection: Connection, wanted: CaseFilter) -> int:
    """Count the candidates that the filter leaves out because they were not asked for."""
    if not wanted.leaves_candidates:
        return 0
    return count_cases(connection, wanted.model_copy(update={"candidates": Candidates.ONLY}))


def count_cases(connection: Connection, wanted: CaseFilter, most: int | None = None) -> int:
    """How many pass; `most` is where counting ends."""
    some = apply_filter(select(eval_dataset.c.id), wanted, connection.dialect.name).limit(most).subquery()
    return int(connection.execute(select(func.count()).select_from(some)).scalar_one())


def dataset_state(connection: Connection, dataset: str) -> tuple[int, str]:
    """How many active cases a dataset has, and when one of its cases changed last: equal as long as nothing changed."""
    query = """SELECT count(*) FILTER (WHERE status = 'active'), coalesce(max(updated_at), '') FROM eval_dataset
        WHERE dataset = :dataset"""
    count, changed = run_sql(connection, query, dataset=dataset).one()
    return int(count), str(changed)


def dataset_names(connection: Connection) -> dict[str, int]:
    """Every dataset that holds active cases, with how many; candidates are not counted."""
    query = f"""SELECT dataset, count(*) FILTER (WHERE NOT {CANDIDATE}) FROM eval_dataset WHERE status = 'active'
        GROUP BY dataset ORDER BY dataset"""
    return {str(name): int(count) for name, count in run_sql(connection, query)}


def revisions_of(connection: Connection, dataset: str, case_id: str) -> list[Revision]:
    entry = entry_id_of(connection, dataset, case_id)
    query = "SELECT * FROM case_revisions WHERE entry_id = :entry ORDER BY version"
    return [
        Revision(**{**row, "changes": loads(row["changes"]), "evidence": loads(row["evidence"])})
        for row in run_sql(connection, query, entry=entry).mappings()
    ]


CANDIDATE = literal_column(f"(eval_dataset.entry_type = 'golden' AND {EVIDENCE} = 'silence')", Boolean)


def apply_filter(query: Select[Any], wanted: CaseFilter, dialect: str) -> Select[Any]:
    """Narrow a query of cases to those that pass the filter."""
    table = eval_dataset.c
    plain = {
        table.dataset: wanted.dataset,
        table.kind: wanted.kind,
        table.entry_type: wanted.entry_type,
        table.review: wanted.review,
        table.status: wanted.status,
        table.trace_id: wanted.trace_id,
        table.session_id: wanted.session_id,
        table.policy: wanted.policy,
        table.confirmed: None if wanted.confirmed is None else int(wanted.confirmed),
    }
    query = query.where(*(column == value for column, value in plain.items() if value is not None))
    if wanted.confirmed is not None:  # failures and corrections are neither confirmed nor candidates
        query = query.where(table.entry_type == "golden")
    if wanted.evidence:
        listed = ", ".join(f"'{one.value}'" for one in wanted.evidence)
        query = query.where(literal_column(f"({EVIDENCE}) IN ({listed})", Boolean))
    elif wanted.candidates is not Candidates.INCLUDE:
        query = query.where(CANDIDATE if wanted.candidates is Candidates.ONLY else ~CANDIDATE)
    if wanted.since is not None:
        query = query.where(table.created_at >= wanted.since)
    if wanted.until is not None:
        query = query.where(table.created_at < wanted.until)
    for tag in wanted.tag:
        tagged = select(eval_dataset_tags.c.dataset_id).where(eval_dataset_tags.c.tag == tag)
        query = query.where(table.id.in_(tagged))
    if wanted.source is not None:
        # A row without the key has NULL there, which equals nothing: such cases are left out.
        query = query.where(json_text(table.body, ("provenance", "source"), dialect) == wanted.source)
    if wanted.check is not None:
        scores = trace_scores.c
        failing = select(scores.trace_id).where(scores.name == wanted.check, scores.value < literal_column(LIMIT))
        query = query.where(table.trace_id.in_(failing))
    for pair in wanted.metadata:
        key, _, value = pair.partition("=")
        query = query.where(json_text(table.metadata, (key,), dialect) == value)
    if wanted.search:
        texts = (table.input_text, table.output_text, table.expected_output, table.case_id)
        query = query.where(or_(*(text.icontains(wanted.search, autoescape=True) for text in texts)))
        if (indexed := may_hold(wanted.search, dialect)) is not None:
            query = query.where(indexed)
    return query


def _as_cases(connection: Connection, rows: Sequence[RowMapping]) -> list[Case]:
    return add_contents(connection, rows, _from_rows(connection, rows))


def _from_rows(connection: Connection, rows: Sequence[RowMapping]) -> list[Case]:
    """Cases without their contents."""
    query = "SELECT dataset_id, tag FROM eval_dataset_tags WHERE dataset_id"
    tags = group_among(connection, query, [row["id"] for row in rows])
    return [case_of(row, tags.get(row["id"], ())) for row in rows]


def case_ids(connection: Connection, dataset: str) -> set[str]:
    return set(read_column(connection, "SELECT case_id FROM eval_dataset WHERE dataset = :dataset", dataset=dataset))


def failed_answers(connection: Connection) -> set[int]:
    """The questions and answers, by their hashes in this process, that are held as failures or were corrected."""
    query = """SELECT input_text, output_text FROM eval_dataset
        WHERE status = 'active' AND entry_type IN ('failure', 'correction')"""
    return {hash((row.input_text, row.output_text)) for row in run_sql(connection, query)}


def find_touched_cases(connection: Connection, keys: CaseKeys, actions: Sequence[str]) -> set[tuple[str, str]]:
    """Of these cases, those that more than these actions have made what they are: validated, reviewed, or changed."""
    entry = eval_dataset.c
    # EXISTS stops at the first revision; a join would give a row for each.
    changed = exists().where(case_revisions.c.entry_id == entry.id, case_revisions.c.action.not_in(actions))
    reviewed = exists().where(case_reviews.c.entry_id == entry.id)
    validated = entry.review != ReviewState.UNVALIDATED.value
    query = select(entry.dataset, entry.case_id).where(_has_key(keys), or_(validated, changed, reviewed))
    return {(dataset, case_id) for dataset, case_id in connection.execute(query)}


def _has_key(keys: CaseKeys) -> ColumnElement[bool]:
    by_dataset: dict[str, list[str]] = {}
    for dataset, case_id in keys:
        by_dataset.setdefault(dataset, []).append(case_id)
    # `false()` gives an empty list of keys no rows; an empty OR would give all.
    entry = eval_dataset.c
    return or_(false(), *((entry.dataset == name) & entry.case_id.in_(ids) for name, ids in by_dataset.items()))


def held_cases(connection: Connection, keys: CaseKeys) -> dict[tuple[str, str], tuple[int, Case]]:
    rows = connection.execute(select(eval_dataset).where(_has_key(keys))).mappings().all()
    cases = _as_cases(connection, rows)
    return {(case.dataset, case.id): (row["id"], case) for row, case in zip(rows, cases, strict=True)}


CASES, TAGS, CHECKS = 0, 1, 2  # what a row of counts is about


class CaseFacets(BaseModel):
    """The values of a list of cases. Without `exact` there are more than `total`, and counts are of the newest of them."""

    total: int
    exact: bool
    datasets: list[FacetValue]
    kinds: list[FacetValue]
    tiers: list[FacetValue]
    evidence: list[FacetValue]
    candidates_left_out: int
    reviews: list[FacetValue]
    sources: list[FacetValue]
    tags: list[FacetValue]
    checks: list[FacetValue]


def case_facets(connection: Connection, wanted: CaseFilter) -> CaseFacets:
    own = ("datasets", "kinds", "reviews", "tiers", "evidence", "sources")
    counters = {name: Counter[str | None]() for name in (*own, "tags", "checks")}
    for topic, first, *values, number in connection.execute(_counts(connection, wanted)):
        if topic == CASES:
            for name, value in zip(own, (first, *values), strict=True):
                counters[name][value] += number
        else:
            counters["tags" if topic == TAGS else "checks"][first] += number
    total = counters["datasets"].total()
    listed = {name: values_of(counter) for name, counter in counters.items()}
    return CaseFacets(
        total=total,
        exact=total < EXACT_TO or count_cases(connection, wanted, EXACT_TO + 1) <= EXACT_TO,
        candidates_left_out=candidates_beside(connection, wanted),
        **listed,
    )


def _counts(connection: Connection, wanted: CaseFilter) -> CompoundSelect[Any]:
    """Count the newest cases by their own values, by tags, and by checks that failed on their traces, in one look at them."""
    table, scores, dialect = eval_dataset.c, trace_scores.c, connection.dialect.name
    source = json_text(table.body, ("provenance", "source"), dialect).label("source")
    own = (table.dataset, table.kind, table.review)
    rests = (literal_column(TIER, Text).label("tier"), literal_column(EVIDENCE, Text).label("rests_on"))
    newest = apply_filter(select(table.id), wanted, dialect).order_by(table.id.desc()).limit(EXACT_TO)
    # The numbers first, which an index gives; sorting whole rows would cost as much as all the rest.
    listed = select(table.id, table.trace_id, *own, *rests, source).where(table.id.in_(newest)).cte("listed")
    values = [*(listed.c[column.name] for column in own), listed.c.tier, listed.c.rests_on, listed.c.source]
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
