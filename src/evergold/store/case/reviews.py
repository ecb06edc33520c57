"""Opinions and the queue: what reviewers decided, which cases wait for whom, and the views that people saved."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Text,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    literal_column,
    select,
)
from sqlalchemy.engine import RowMapping

from evergold.errors import NotFound
from evergold.model.access import LOCAL, Holder, Moderation
from evergold.model.case import Candidates, Case, CaseStatus, ReviewState
from evergold.model.case_actions import QUERY, ListPage, ListView
from evergold.model.policy import Policy, Reason
from evergold.model.review import (
    OPINIONS,
    Assignment,
    AssignmentState,
    CaseKey,
    DatasetProgress,
    Opinion,
    QueueItem,
    QueuePart,
    QueueQuery,
    ReviewVerdict,
    Standing,
)
from evergold.store.case.cases import CaseFilter, apply_filter, entry_id_of, with_case
from evergold.store.database.rows import dumps, loads, now, read_value, run_sql
from evergold.store.facts import database_time, now_and_later, record_moderation
from evergold.store.schema import (
    EVIDENCE,
    TIER,
    case_reviews,
    eval_dataset,
    list_views,
    review_assignments,
    review_standings,
    utc_now,
)

TITLE_LENGTH = 160

_entry = eval_dataset.c
# No row, or one of an earlier version, means that nothing is settled yet.
_standing: ColumnElement[str] = func.coalesce(review_standings.c.standing, Standing.OPEN.value)
_CURRENT = (review_standings.c.entry_id == _entry.id) & (review_standings.c.version == _entry.version)


def add_opinion(connection: Connection, opinion: Opinion) -> None:
    row = opinion.model_dump(include={"version", "reviewer", "verdict", "comment"})
    # Opinions on content that has changed since stay in the history and count no more.
    label = dumps({"rev": opinion.rev, "adjudicate": opinion.adjudicate})
    row |= {"entry_id": entry_id_of(connection, opinion.dataset, opinion.id), "label": label, "created_at": now()}
    connection.execute(insert(case_reviews), row)


def opinions_in(connection: Connection, dataset: str | None, case_id: str | None = None) -> list[Opinion]:
    """Every word on the cases of a dataset, or of all, or on one case; oldest first."""
    query = with_case(case_reviews, dataset, case_id).order_by(case_reviews.c.id)
    return [
        Opinion(
            dataset=row["dataset"],
            id=row["case_id"],
            **{name: row[name] for name in ("version", "reviewer", "verdict", "comment", "created_at")},
            **{"rev": ""} | loads(row["label"]),
        )
        for row in connection.execute(query).mappings()
    ]


def set_standing(connection: Connection, held: Case, standing: Standing) -> None:
    """Record where the opinions leave this version of the case."""
    entry = entry_id_of(connection, held.dataset, held.id)
    run_sql(connection, "DELETE FROM review_standings WHERE entry_id = :entry", entry=entry)
    row = {"entry_id": entry, "version": held.version, "standing": standing.value}
    connection.execute(insert(review_standings), row)


def queue_page(
    connection: Connection, query: QueueQuery, me: str, first: Mapping[int, str], *, limit: int, offset: int
) -> tuple[list[QueueItem], dict[str, int]]:
    """A page of the queue as reviewer `me` sees it, and the counts of everything the query matches.

    `first` are entries that come before all others, in their order, each with the reason.
    """
    counts = queue_counts(connection, query, me)
    dialect = connection.dialect.name
    matching = _match_query(_item_query(me), query, me, dialect)
    results: list[RowMapping] = []
    if first:
        ids = _match_query(select(_entry.id).select_from(_with_standings()), query, me, dialect)
        matched = set(connection.execute(ids.where(_is_among(first))).scalars())
        ranked = [entry for entry in first if entry in matched]
        page = {entry: number for number, entry in enumerate(ranked[offset : offset + limit])}
        rows = connection.execute(matching.where(_is_among(page))).mappings()
        results = sorted(rows, key=lambda row: page[row["id"]])
        limit, offset = limit - len(results), max(0, offset - len(ranked))
        matching = matching.where(~_is_among(first))
    results += connection.execute(matching.order_by(_entry.id).limit(limit).offset(offset)).mappings()
    holders = _holders(connection, [row["id"] for row in results])
    same = [name for name in QueueItem.model_fields if name not in ("id", "held_by", "needs_look", "why")]
    items = [
        QueueItem(
            **{name: row[name] for name in same},
            id=row["case_id"],
            held_by=holders.get(row["id"], ()),
            needs_look=question_text(row["question"]),
            why=first.get(row["id"]),
        )
        for row in results
    ]
    return items, counts


def _is_among(entries: Iterable[int]) -> ColumnElement[bool]:
    # Numbers of ours, written out: databases bind a limited number of values.
    return _entry.id.in_(bindparam("entries", list(entries), expanding=True, literal_execute=True, unique=True))


def queue_counts(connection: Connection, query: QueueQuery, me: str) -> dict[str, int]:
    """How many cases the query matches, in all and by what remains to be done."""
    validated = _entry.review == ReviewState.VALIDATED.value
    parts: list[ColumnElement[int]] = [
        func.count().label("total"),
        func.count(case((validated, 1))).label("validated"),
        func.count(case((_entry.status == CaseStatus.DISMISSED.value, 1))).label("dismissed"),
        func.count(case((_entry.question != "", 1))).label("needs_look"),
    ]
    dialect = connection.dialect.name
    # Few cases have a standing: those are counted apart, rather than one looked for on each of all cases.
    counted = select(*parts).select_from(eval_dataset if query.standing is None else _with_standings())
    row = connection.execute(_match_query(counted, query, me, dialect)).one()
    counts = {name: int(value) for name, value in row._mapping.items()} | {"disputed": 0, "second_opinion": 0}
    word = review_standings.c.standing
    standings = select(word, func.count()).select_from(eval_dataset.join(review_standings, _CURRENT))
    standings = standings.where(_entry.id.in_(select(review_standings.c.entry_id)))  # lets SQLite begin with these
    for standing, number in connection.execute(_match_query(standings, query, me, dialect).group_by(word)):
        if standing in counts:
            counts[standing] = int(number)
    return counts | {"waiting": counts["total"] - counts["validated"] - counts["dismissed"]}


def next_for(
    connection: Connection, query: QueueQuery, reviewer: str, needed: int, first: Mapping[int, str]
) -> tuple[str, str] | None:
    """The first open case that this reviewer has not judged or skipped and that is not in enough hands already.

    The entries of `first` come before others, in their order.
    """
    word, held = case_reviews.c, review_assignments.c
    judged = exists().where(word.entry_id == _entry.id, word.reviewer == reviewer, word.version == _entry.version)
    mine = judged.where(word.verdict != ReviewVerdict.WITHDRAW.value)
    others = select(func.count()).where(held.entry_id == _entry.id, held.reviewer != reviewer, _is_held())
    in_my_hands = exists().where(held.entry_id == _entry.id, held.reviewer == reviewer)
    assigned_to_me = in_my_hands.where(held.state.in_(("assigned", "claimed")))
    # A disputed case needs a further reviewer, also where one verdict is enough otherwise.
    disputed = _standing.in_((Standing.DISPUTED.value, Standing.SECOND_OPINION.value))
    hands = case((disputed, max(needed, 2)), else_=needed)
    cases = select(_entry.dataset, _entry.case_id, _entry.id, assigned_to_me.label("mine"))
    free = _match_query(cases.select_from(_with_standings()), query, reviewer, connection.dialect.name).where(
        _entry.review == ReviewState.UNVALIDATED.value,
        _entry.status == CaseStatus.ACTIVE.value,
        ~mine,
        assigned_to_me | (others.scalar_subquery() < hands),
    )
    result = connection.execute(free.order_by(assigned_to_me.desc(), _entry.id).limit(1)).first()
    # What somebody assigned to this reviewer comes before what is free for all.
    if first and result is not None:
        ranks = {entry: number for number, entry in enumerate(first)}
        ranked = connection.execute(free.where(_is_among(first))).all()
        result = min([*ranked, result], key=lambda row: (not row.mine, ranks.get(row.id, len(ranks))))
    return None if result is None else (result.dataset, result.case_id)


def progress_of_datasets(connection: Connection) -> list[DatasetProgress]:
    """How much of each dataset is done."""
    query = f"""SELECT dataset, count(*) FILTER (WHERE status = 'active') AS total,
          count(*) FILTER (WHERE status = 'active' AND {TIER} = 'candidate') AS candidates,
          count(*) FILTER (WHERE review = 'validated') AS validated,
          count(*) FILTER (WHERE status = 'dismissed') AS dismissed
        FROM eval_dataset WHERE status IN ('active', 'dismissed') GROUP BY dataset ORDER BY dataset"""
    return [DatasetProgress(**row) for row in run_sql(connection, query).mappings()]  # type: ignore[typeddict-item]


def verdict_counts(connection: Connection) -> dict[str, dict[str, Any]]:
    """Reviewer → how many verdicts of each kind they gave, and `last_at`."""
    counts = ", ".join(f"count(*) FILTER (WHERE verdict = '{one.value}') AS \"{one.value}\"" for one in ReviewVerdict)
    query = f"SELECT reviewer, {counts}, max(created_at) AS last_at FROM case_reviews GROUP BY reviewer ORDER BY 1"
    return {row["reviewer"]: dict(row) for row in run_sql(connection, query).mappings()}


def _is_held() -> ColumnElement[bool]:
    """Whether an assignment holds its case: by name, or by a claim whose lease still runs by the database's clock."""
    table = review_assignments.c
    # A subquery is computed once; the bare function would be called for every row.
    moment = select(utc_now()).scalar_subquery()
    return (table.state == "assigned") | ((table.state == "claimed") & (table.lease_until > moment))


def _with_standings() -> Any:
    return eval_dataset.outerjoin(review_standings, _CURRENT)


def _item_query(me: str) -> Select[Any]:
    opinions = (
        select(func.count(func.distinct(case_reviews.c.reviewer)))
        .where(case_reviews.c.entry_id == _entry.id, case_reviews.c.verdict.in_(OPINIONS))
        .scalar_subquery()
    )
    return select(
        *(_entry[name] for name in ("id", "dataset", "case_id", "kind", "entry_type", "review", "status", "version")),
        literal_column(TIER, Text).label("tier"),
        literal_column(EVIDENCE, Text).label("evidence"),
        _entry.updated_at,
        _entry.question,
        func.substr(_entry.input_text, 1, TITLE_LENGTH).label("title"),
        _standing.label("standing"),
        opinions.label("opinions"),
        _judged_by(me).label("done_by_me"),
    ).select_from(_with_standings())


def _match_query(selected: Any, query: QueueQuery, me: str, dialect: str) -> Any:
    plain = query.model_dump(exclude={"standing", "reviewer", "text", "needs_look", "part", "order"})
    if query.part is QueuePart.DONE and "status" not in query.model_fields_set:
        plain["status"] = None  # a dismissed case is done as well
    wanted = CaseFilter(candidates=Candidates.INCLUDE, **plain, search=query.text or None)
    # The queue narrows like the list of cases, and then by what only reviewers know.
    selected = apply_filter(selected, wanted, dialect)
    if query.needs_look is not None:
        selected = selected.where(_entry.question != "" if query.needs_look else _entry.question == "")
    if query.standing is not None:
        selected = selected.where(_standing == query.standing.value)
    if query.reviewer is not None:
        selected = selected.where(_is_in_hands(review_assignments.c.reviewer == query.reviewer))
    if query.part is QueuePart.DONE:
        return selected.where(_judged_by(me))
    if query.part is QueuePart.NOBODYS:
        return selected.where(~_is_in_hands())
    mine = review_assignments.c.reviewer == me
    return (
        selected
        if query.part is None
        else selected.where(_is_in_hands(mine if query.part is QueuePart.MINE else ~mine))
    )


def _is_in_hands(*of: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether the case is in somebody's hands."""
    return exists().where(review_assignments.c.entry_id == _entry.id, _is_held(), *of)


def _judged_by(me: str) -> ColumnElement[bool]:
    """Whether this reviewer's last word on the case is a verdict that stands."""
    table = case_reviews.c
    mine = (table.entry_id == _entry.id, table.reviewer == me, table.verdict != ReviewVerdict.SKIP.value)
    # By id: two verdicts may carry the same millisecond.
    last = select(table.verdict).where(*mine).order_by(table.id.desc()).limit(1).scalar_subquery()
    return func.coalesce(last, "").in_(OPINIONS)


def _holders(connection: Connection, entry_ids: list[int]) -> dict[int, tuple[str, ...]]:
    moment = database_time(connection)
    query = """SELECT entry_id, reviewer FROM review_assignments WHERE (state = 'assigned' OR
        (state = 'claimed' AND lease_until > :now)) AND entry_id IN :entries ORDER BY reviewer"""
    held: dict[int, tuple[str, ...]] = {}
    for entry_id, reviewer in run_sql(connection, query, now=moment, entries=tuple(entry_ids)):
        held[entry_id] = (*held.get(entry_id, ()), reviewer)
    return held


def open_question(connection: Connection, dataset: str, case_id: str) -> str | None:
    """What came after a reviewer's word and speaks against it, in a sentence."""
    query = "SELECT question FROM eval_dataset WHERE dataset = :dataset AND case_id = :case"
    return question_text(read_value(connection, query, dataset=dataset, case=case_id) or "")


def question_text(question: str) -> str | None:
    """Put a stored question (`reason:count`) into a sentence."""
    if question.startswith("grew:"):
        return "since then: more of its trace arrived"
    if question.startswith("stale:"):
        return f"stale? {question.removeprefix('stale:')}"
    name = question.partition(":")[0].upper()
    return f"since then: {Policy().explain(Reason[name])}" if name in Reason.__members__ else None


_OF = "entry_id = :entry AND reviewer = :reviewer"


def hold(
    connection: Connection, key: CaseKey, reviewer: str, state: AssignmentState, seconds: float | None = None
) -> None:
    """Put a case into somebody's hands, or record that they are done with it; the last word of each reviewer stands.

    A claim ends after so many seconds, by the database's clock.
    """
    # Delete and insert instead of an upsert: the time of assignment begins anew.
    release(connection, key, reviewer)
    until = None if seconds is None else now_and_later(connection, seconds)[1]
    row = {"reviewer": reviewer, "state": state.value, "lease_until": until, "created_at": now()}
    connection.execute(insert(review_assignments), row | {"entry_id": entry_id_of(connection, key.dataset, key.id)})


def release(connection: Connection, key: CaseKey, reviewer: str) -> bool:
    """Take a case out of somebody's hands; whether it was in them."""
    given = {"entry": entry_id_of(connection, key.dataset, key.id), "reviewer": reviewer}
    return run_sql(connection, f"DELETE FROM review_assignments WHERE {_OF}", **given).rowcount > 0


def renew(connection: Connection, key: CaseKey, reviewer: str, seconds: float) -> bool:
    """Prolong a claim that is still this reviewer's; whether it was."""
    # An assignment has no lease, so there is nothing to prolong; a claim that somebody took over is not this reviewer's.
    change = f"UPDATE review_assignments SET lease_until = :until WHERE {_OF} AND state = 'claimed'"
    given = {"entry": entry_id_of(connection, key.dataset, key.id), "reviewer": reviewer}
    return run_sql(connection, change, until=now_and_later(connection, seconds)[1], **given).rowcount == 1


def assignments_of(connection: Connection, key: CaseKey) -> list[Assignment]:
    entry_id_of(connection, key.dataset, key.id)  # a case that is not there is an error, not one that nobody has
    query = with_case(review_assignments, key.dataset, key.id).order_by(review_assignments.c.reviewer)
    return _assignments(connection, query)


def assignments_to(connection: Connection, reviewer: str | None = None) -> list[Assignment]:
    """Everything in hand, of one reviewer or of all."""
    table, query = review_assignments.c, with_case(review_assignments)
    if reviewer is not None:
        query = query.where(table.reviewer == reviewer)
    return _assignments(connection, query.order_by(table.created_at, table.entry_id))


def _assignments(connection: Connection, query: Select[Any]) -> list[Assignment]:
    rows = connection.execute(query).mappings()
    same = ("dataset", "reviewer", "state", "lease_until")
    return [Assignment(id=row["case_id"], **{name: row[name] for name in same}) for row in rows]


def keep_view(connection: Connection, view: ListView, by: Holder = LOCAL) -> ListView:
    """Store a view, and give it as stored; one of the same name is replaced, and stays its author's."""
    moment = now()
    owner = _remove_view(connection, view.page, view.name, by, "replaced") or by.name or view.owner
    row = {"page": view.page.value, "name": view.name, "body": view.address, "owner": owner, "created_at": moment}
    connection.execute(insert(list_views), row)
    return view.model_copy(update={"owner": owner, "created_at": datetime.fromisoformat(moment)})


def kept_views(connection: Connection, page: ListPage) -> list[ListView]:
    query = select(list_views).where(list_views.c.page == page.value).order_by(list_views.c.name)
    return [
        ListView(page=page, name=row["name"], address=row["body"], owner=row["owner"], created_at=row["created_at"])
        for row in connection.execute(query).mappings()
        if QUERY.fullmatch(row["body"])  # earlier versions kept any text
    ]


def drop_view(connection: Connection, page: ListPage, name: str, by: Holder = LOCAL) -> None:
    if not _remove_view(connection, page, name, by, "deleted"):
        raise NotFound(f"no view {name!r} of {page.value}")


def _remove_view(connection: Connection, page: ListPage, name: str, by: Holder, action: str) -> str | None:
    """Delete a view where there is one; whose it was (somebody's without a name is the caller's), or None."""
    same = (list_views.c.page == page.value) & (list_views.c.name == name)
    owner = connection.execute(select(list_views.c.owner).where(same)).scalar()
    if owner is None:
        return None
    if by.check_author(owner, f"the view {name!r}"):
        record_moderation(connection, by, action, f"view {name} of {page.value}", owner)
    connection.execute(delete(list_views).where(same))
    return owner or by.name or "local"


def list_moderations(connection: Connection, limit: int = 100) -> list[Moderation]:
    """What moderators changed of the work of others, the newest first."""
    query = "SELECT who, action, what, author, created_at AS at FROM moderations ORDER BY id DESC LIMIT :most"
    return [Moderation(**row) for row in run_sql(connection, query, most=limit).mappings()]
