"""Cases out of the store: one, a page, a stream, the history of each, and counts of the values that narrow a list."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import BaseModel, BeforeValidator, ValidationError
from sqlalchemy import Connection
from sqlalchemy.engine import RowMapping

from evergold.errors import BadInput, NotFound, describe_unknown
from evergold.model.case import Candidates, Case, CaseKind, CaseStatus, EntryType, ReviewState, TierEvidence
from evergold.model.faults import faults_of
from evergold.store.case.content import AT_ONCE, Contents, add_contents, add_texts, case_of
from evergold.store.conditions import Cutoff, Many, Pairs, as_list, json_text, json_value
from evergold.store.database.rows import batches, group_among, loads, read_column, read_value, run_sql
from evergold.store.schema import EVIDENCE, FAILING, TIER
from evergold.store.text_index import HOLDERS, triples_in
from evergold.store.trace.pages import EXACT_TO, FacetValue, read_cursor, values_of
from evergold.store.trace.search import Search

T = TypeVar("T")
CaseKeys = Sequence[tuple[str, str]]  # by dataset and id
EQUAL = {"dataset", "kind", "entry_type", "review", "status", "trace_id", "session_id", "policy", "confirmed"}
SEARCHED = ("input_text", "output_text", "expected_output", "case_id")
CANDIDATE = f"(eval_dataset.entry_type = 'golden' AND {EVIDENCE} = 'silence')"


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


# What stands behind the row that a page ended with, and the order. Of the last change both columns: times repeat, so the id
# decides between rows of the same moment.
ORDERS = {
    CaseOrder.NEWEST: ("id < :id", "id DESC"),
    CaseOrder.OLDEST: ("id > :id", "id"),
    CaseOrder.CHANGED: ("(updated_at, id) < (:moment, :id)", "updated_at DESC, id DESC"),
}


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


def rows_of_cases(
    connection: Connection,
    table: str,
    order: str,
    dataset: str | None = None,
    case_id: str | None = None,
    entries: Sequence[int] | None = None,
) -> Sequence[RowMapping]:
    """Read the rows of a table that belong to cases, each with `dataset` and `case_id`; of all, a dataset, a case or some."""
    named = {"e.dataset": dataset, "e.case_id": case_id, "e.id": None if entries is None else tuple(entries)}
    given = {name: value for name, value in named.items() if value is not None}
    where = [f"{name} {'IN' if isinstance(value, tuple) else '='} :{name[2:]}" for name, value in given.items()]
    query = f"""SELECT x.*, e.dataset, e.case_id FROM {table} x JOIN eval_dataset e ON e.id = x.entry_id
        WHERE {" AND ".join(where) or "true"} ORDER BY {order}"""
    return run_sql(connection, query, **{name[2:]: value for name, value in given.items()}).mappings().all()


def entry_ids(connection: Connection, keys: CaseKeys) -> dict[tuple[str, str], int]:
    """The integers of `eval_dataset` under which these cases stand."""
    entries: dict[tuple[str, str], int] = {}
    # Thousands of keys in one statement would pass the limit of parameters.
    for batch in batches(keys):
        among, values = _has_key(batch)
        rows = run_sql(connection, f"SELECT dataset, case_id, id FROM eval_dataset WHERE {among}", **values)
        entries |= {(row[0], row[1]): int(row[2]) for row in rows}
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
    where, values = conditions_of(wanted, connection.dialect.name)
    behind, order_by = ORDERS[order]
    if before:
        values["moment"], values["id"] = read_cursor(before, str, number_alone=True)
        where = f"{where} AND {behind}"
    query = f"SELECT * FROM eval_dataset WHERE {where} ORDER BY {order_by} LIMIT :most"
    rows = run_sql(connection, query, **values, most=limit + 1).mappings().all()
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
    where, values = conditions_of(wanted, connection.dialect.name)
    behind, order_by = ORDERS[CaseOrder.OLDEST if oldest_first else CaseOrder.NEWEST]
    query = f"SELECT * FROM eval_dataset WHERE {where} AND {behind} ORDER BY {order_by} LIMIT :most"
    values |= {"most": batch, "id": 0 if oldest_first else 2**62}
    while rows := run_sql(connection, query, **values).mappings().all():
        yield from _as_cases(connection, rows)
        values["id"] = rows[-1]["id"]


class CaseBesideTrace(NamedTuple):
    """A case as it is stored, and as it would be if its trace were read now. `own`: its trace only fills what it lacks."""

    entry: int
    own: bool
    held: Case
    fresh: Case


def iterate_with_traces(connection: Connection) -> Iterator[CaseBesideTrace]:
    """Every active case that cites a stored trace, oldest first."""
    last = 0
    query = f"""SELECT * FROM eval_dataset WHERE status = 'active' AND trace_id IS NOT NULL AND id > :last
        ORDER BY id LIMIT {AT_ONCE}"""
    while rows := run_sql(connection, query, last=last).mappings().all():
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
    where, values = conditions_of(wanted, connection.dialect.name)
    some = f"SELECT id FROM eval_dataset WHERE {where}{'' if most is None else f' LIMIT {most}'}"
    return int(read_value(connection, f"SELECT count(*) FROM ({some}) AS counted", **values))


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


def conditions_of(wanted: CaseFilter, dialect: str) -> tuple[str, dict[str, Any]]:
    """Write the conditions on `eval_dataset` by which cases pass the filter, and the values of their parameters."""
    values = wanted.model_dump(mode="json", include=EQUAL, exclude_none=True)
    parts = ["true", *(f"eval_dataset.{name} = :{name}" for name in values)]
    if wanted.confirmed is not None:  # failures and corrections are neither confirmed nor candidates
        values["confirmed"] = int(wanted.confirmed)
        parts.append("eval_dataset.entry_type = 'golden'")
    if wanted.evidence:
        values["evidence"] = tuple(one.value for one in wanted.evidence)
        parts.append(f"{EVIDENCE} IN :evidence")
    elif wanted.candidates is not Candidates.INCLUDE:
        parts.append(CANDIDATE if wanted.candidates is Candidates.ONLY else f"NOT {CANDIDATE}")
    if wanted.since is not None:
        parts.append("eval_dataset.created_at >= :since")
    if wanted.until is not None:
        parts.append("eval_dataset.created_at < :until")
    for number, tag in enumerate(wanted.tag):
        values[f"tag_{number}"] = tag
        parts.append(f"eval_dataset.id IN (SELECT dataset_id FROM eval_dataset_tags WHERE tag = :tag_{number})")
    if wanted.source is not None:
        # A row without the key has NULL there, which equals nothing: such cases are left out.
        parts.append(f"{json_value(dialect, 'eval_dataset.body', 'provenance', 'source')} = :source")
    if wanted.check is not None:
        # The limit is written out, because a bound value would hide the index of failing scores.
        parts.append(f"eval_dataset.trace_id IN (SELECT trace_id FROM trace_scores WHERE name = :check AND {FAILING})")
    for number, pair in enumerate(wanted.metadata):
        values[f"key_{number}"], _, values[f"value_{number}"] = pair.partition("=")
        parts.append(f"{json_text('eval_dataset.metadata', f':key_{number}', dialect)} = :value_{number}")
    if wanted.search:
        values["pattern"] = re.sub(r"([/%_])", r"/\1", wanted.search)
        holds = "lower(eval_dataset.{}) LIKE '%' || lower(CAST(:pattern AS text)) || '%' ESCAPE '/'"
        parts.append(f"({' OR '.join(map(holds.format, SEARCHED))})")
        if (triples := triples_in(wanted.search, dialect)) is not None:
            values["triples"] = triples
            parts.append(HOLDERS)
    values |= {name: getattr(wanted, name) for name in ("since", "until", "source", "check")}
    return " AND ".join(parts), values


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
    among, values = _has_key(keys)
    # EXISTS stops at the first revision; a join would give a row for each.
    query = f"""SELECT dataset, case_id FROM eval_dataset e WHERE {among} AND (review <> 'unvalidated'
        OR EXISTS (SELECT 1 FROM case_revisions r WHERE r.entry_id = e.id AND r.action NOT IN :actions)
        OR EXISTS (SELECT 1 FROM case_reviews r WHERE r.entry_id = e.id))"""
    rows = run_sql(connection, query, **values, actions=tuple(actions))
    return {(dataset, case_id) for dataset, case_id in rows}


def _has_key(keys: CaseKeys) -> tuple[str, dict[str, Any]]:
    """Write the condition by which a case is one of these, and its values."""
    by_dataset: dict[str, list[str]] = {}
    for dataset, case_id in keys:
        by_dataset.setdefault(dataset, []).append(case_id)
    parts, values = ["false"], dict[str, Any]()
    for number, (name, ids) in enumerate(by_dataset.items()):
        parts.append(f"(dataset = :dataset_{number} AND case_id IN :ids_{number})")
        values |= {f"dataset_{number}": name, f"ids_{number}": tuple(ids)}
    return f"({' OR '.join(parts)})", values


def held_cases(connection: Connection, keys: CaseKeys) -> dict[tuple[str, str], tuple[int, Case]]:
    among, values = _has_key(keys)
    rows = run_sql(connection, f"SELECT * FROM eval_dataset WHERE {among}", **values).mappings().all()
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
    for topic, first, *values, number in _counts(connection, wanted):
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


def _counts(connection: Connection, wanted: CaseFilter) -> Iterable[Any]:
    """Count the newest cases by their own values, by tags, and by checks that failed on their traces, in one look at them."""
    where, values = conditions_of(wanted, connection.dialect.name)
    source = json_value(connection.dialect.name, "body", "provenance", "source")
    own = "dataset, kind, review, tier, rests_on, source"
    none = ", ".join(["NULL"] * own.count(","))
    # The numbers first, which an index gives; sorting whole rows would cost as much as all the rest.
    query = f"""WITH listed AS (SELECT id, trace_id, dataset, kind, review, {TIER} AS tier, {EVIDENCE} AS rests_on,
          {source} AS source FROM eval_dataset
          WHERE id IN (SELECT id FROM eval_dataset WHERE {where} ORDER BY id DESC LIMIT {EXACT_TO})),
        traced AS (SELECT id, trace_id FROM listed WHERE trace_id IS NOT NULL)
        SELECT {CASES}, {own}, count(*) FROM listed GROUP BY {own}
        UNION ALL SELECT {TAGS}, tag, {none}, count(*) FROM eval_dataset_tags
          WHERE dataset_id IN (SELECT id FROM listed) GROUP BY tag
        UNION ALL SELECT {CHECKS}, s.name, {none}, count(DISTINCT t.id) FROM trace_scores s
          JOIN traced t ON t.trace_id = s.trace_id WHERE s.{FAILING} GROUP BY s.name"""
    return run_sql(connection, query, **values)
