"""Opinions and the queue: what reviewers decided, which cases wait for whom, and the views that people saved."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.engine import RowMapping

from evergold.errors import NotFound
from evergold.model.access import LOCAL, Holder, Moderation
from evergold.model.case import Candidates, Case
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
from evergold.store.case.cases import CaseFilter, conditions_of, entry_id_of, rows_of_cases
from evergold.store.database.rows import dumps, loads, now, read_column, read_value, run_sql
from evergold.store.facts import database_time, now_and_later, record_moderation
from evergold.store.schema import (
    EVIDENCE,
    TIER,
    case_reviews,
    list_views,
    review_assignments,
    review_standings,
)

TITLE_LENGTH = 160

# No row, or one of an earlier version, means that nothing is settled yet.
_STANDING = "coalesce(s.standing, 'open')"
_CURRENT = "review_standings s ON s.entry_id = eval_dataset.id AND s.version = eval_dataset.version"
_CASES = f"eval_dataset LEFT JOIN {_CURRENT}"
# An assignment holds its case by name, or by a claim whose lease still runs by the database's clock.
_HELD = "(a.state = 'assigned' OR (a.state = 'claimed' AND a.lease_until > :now))"
_ASSIGNED = "FROM review_assignments a WHERE a.entry_id = eval_dataset.id"
_IN_HANDS = f"EXISTS (SELECT 1 {_ASSIGNED} AND {_HELD} AND {{}})"
_OPINIONS = ", ".join(f"'{one.value}'" for one in OPINIONS)
# Whether this reviewer's last word on the case is a verdict that stands. By id: two may carry the same millisecond.
_DONE_BY_ME = f"""coalesce((SELECT r.verdict FROM case_reviews r WHERE r.entry_id = eval_dataset.id AND r.reviewer = :me
    AND r.verdict <> 'skip' ORDER BY r.id DESC LIMIT 1), '') IN ({_OPINIONS})"""
_ITEMS = f"""SELECT eval_dataset.id, dataset, case_id, kind, entry_type, review, status, eval_dataset.version, updated_at,
    question, {TIER} AS tier, {EVIDENCE} AS evidence, substr(input_text, 1, {TITLE_LENGTH}) AS title, {_STANDING} AS standing,
    (SELECT count(DISTINCT r.reviewer) FROM case_reviews r WHERE r.entry_id = eval_dataset.id AND r.verdict IN ({_OPINIONS}))
    AS opinions, {_DONE_BY_ME} AS done_by_me FROM {_CASES}"""
_PARTS = {
    QueuePart.MINE: _IN_HANDS.format("a.reviewer = :me"),
    QueuePart.OTHERS: _IN_HANDS.format("a.reviewer <> :me"),
    QueuePart.NOBODYS: f"NOT {_IN_HANDS.format('true')}",
    QueuePart.DONE: _DONE_BY_ME,
}


def add_opinion(connection: Connection, opinion: Opinion) -> None:
    row = opinion.model_dump(include={"version", "reviewer", "verdict", "comment"})
    # Opinions on content that has changed since stay in the history and count no more.
    label = dumps({"rev": opinion.rev, "adjudicate": opinion.adjudicate})
    row |= {"entry_id": entry_id_of(connection, opinion.dataset, opinion.id), "label": label, "created_at": now()}
    connection.execute(insert(case_reviews), row)


def opinions_in(connection: Connection, dataset: str | None, case_id: str | None = None) -> list[Opinion]:
    """Every word on the cases of a dataset, or of all, or on one case; oldest first."""
    return [
        Opinion(
            dataset=row["dataset"],
            id=row["case_id"],
            **{name: row[name] for name in ("version", "reviewer", "verdict", "comment", "created_at")},
            **{"rev": ""} | loads(row["label"]),
        )
        for row in rows_of_cases(connection, "case_reviews", "x.id", dataset, case_id)
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
    where, values = _match_query(connection, query, me)
    results: list[RowMapping] = []
    if first:
        # Numbers of ours, written out: databases bind a limited number of values.
        among = f"eval_dataset.id IN ({', '.join(map(str, first))})"
        ids = f"SELECT eval_dataset.id FROM {_CASES} WHERE {where} AND {among}"
        matched = set(read_column(connection, ids, **values))
        ranked = [entry for entry in first if entry in matched]
        page = {entry: number for number, entry in enumerate(ranked[offset : offset + limit])}
        shown = f"{_ITEMS} WHERE {where} AND eval_dataset.id IN :page"
        rows = run_sql(connection, shown, **values, page=tuple(page)).mappings()
        results = sorted(rows, key=lambda row: page[row["id"]])
        limit, offset = limit - len(results), max(0, offset - len(ranked))
        where = f"{where} AND NOT {among}"
    rest = f"{_ITEMS} WHERE {where} ORDER BY eval_dataset.id LIMIT :most OFFSET :skipped"
    results += run_sql(connection, rest, **values, most=limit, skipped=offset).mappings()
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


def queue_counts(connection: Connection, query: QueueQuery, me: str) -> dict[str, int]:
    """How many cases the query matches, in all and by what remains to be done."""
    where, values = _match_query(connection, query, me)
    # Few cases have a standing: those are counted apart, rather than one looked for on each of all cases.
    counted = f"""SELECT count(*) AS total, count(*) FILTER (WHERE review = 'validated') AS validated,
          count(*) FILTER (WHERE status = 'dismissed') AS dismissed, count(*) FILTER (WHERE question <> '') AS needs_look
        FROM {"eval_dataset" if query.standing is None else _CASES} WHERE {where}"""
    row = run_sql(connection, counted, **values).mappings().one()
    counts = {name: int(value) for name, value in row.items()} | {"disputed": 0, "second_opinion": 0}
    # The list of entries lets SQLite begin with these.
    standings = f"""SELECT s.standing, count(*) FROM eval_dataset JOIN {_CURRENT}
        WHERE eval_dataset.id IN (SELECT entry_id FROM review_standings) AND {where} GROUP BY s.standing"""
    for standing, number in run_sql(connection, standings, **values):
        if standing in counts:
            counts[standing] = int(number)
    return counts | {"waiting": counts["total"] - counts["validated"] - counts["dismissed"]}


def next_for(
    connection: Connection, query: QueueQuery, reviewer: str, needed: int, first: Mapping[int, str]
) -> tuple[str, str] | None:
    """The first open case that this reviewer has not judged or skipped and that is not in enough hands already.

    The entries of `first` come before others, in their order.
    """
    where, values = _match_query(connection, query, reviewer)
    mine = """EXISTS (SELECT 1 FROM case_reviews r WHERE r.entry_id = eval_dataset.id AND r.reviewer = :me
        AND r.version = eval_dataset.version AND r.verdict <> 'withdraw')"""
    others = f"(SELECT count(*) {_ASSIGNED} AND a.reviewer <> :me AND {_HELD})"
    assigned_to_me = f"EXISTS (SELECT 1 {_ASSIGNED} AND a.reviewer = :me AND a.state IN ('assigned', 'claimed'))"
    # A disputed case needs a further reviewer, also where one verdict is enough otherwise.
    hands = f"CASE WHEN {_STANDING} IN ('disputed', 'second_opinion') THEN {max(needed, 2)} ELSE {needed} END"
    free = f"""SELECT dataset, case_id, eval_dataset.id, {assigned_to_me} AS mine FROM {_CASES} WHERE {where}
        AND review = 'unvalidated' AND status = 'active' AND NOT {mine} AND ({assigned_to_me} OR {others} < {hands})"""
    result = run_sql(connection, f"{free} ORDER BY 4 DESC, eval_dataset.id LIMIT 1", **values).first()
    # What somebody assigned to this reviewer comes before what is free for all.
    if first and result is not None:
        ranks = {entry: number for number, entry in enumerate(first)}
        among = f"AND eval_dataset.id IN ({', '.join(map(str, first))})"
        ranked = run_sql(connection, f"{free} {among}", **values).all()
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


def _match_query(connection: Connection, query: QueueQuery, me: str) -> tuple[str, dict[str, Any]]:
    """Write the conditions by which cases are in a queue as `me` sees it, and the values of their parameters."""
    plain = query.model_dump(exclude={"standing", "reviewer", "text", "needs_look", "part", "order"})
    if query.part is QueuePart.DONE and "status" not in query.model_fields_set:
        plain["status"] = None  # a dismissed case is done as well
    wanted = CaseFilter(candidates=Candidates.INCLUDE, **plain, search=query.text or None)
    # The queue narrows like the list of cases, and then by what only reviewers know.
    where, values = conditions_of(wanted, connection.dialect.name)
    parts = [where]
    if query.needs_look is not None:
        parts.append("question <> ''" if query.needs_look else "question = ''")
    if query.standing is not None:
        parts.append(f"{_STANDING} = :standing")
    if query.reviewer is not None:
        parts.append(_IN_HANDS.format("a.reviewer = :reviewer"))
    if query.part is not None:
        parts.append(_PARTS[query.part])
    standing = None if query.standing is None else query.standing.value
    own = {"me": me, "now": database_time(connection), "standing": standing, "reviewer": query.reviewer}
    return " AND ".join(parts), values | own


def _holders(connection: Connection, entry_ids: list[int]) -> dict[int, tuple[str, ...]]:
    query = (
        f"SELECT entry_id, reviewer FROM review_assignments a WHERE {_HELD} AND entry_id IN :entries ORDER BY reviewer"
    )
    held: dict[int, tuple[str, ...]] = {}
    for entry_id, reviewer in run_sql(connection, query, now=database_time(connection), entries=tuple(entry_ids)):
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
    return _assignments(connection, "x.reviewer", key.dataset, key.id)


def assignments_to(connection: Connection, reviewer: str | None = None) -> list[Assignment]:
    """Everything in hand, of one reviewer or of all."""
    listed = _assignments(connection, "x.created_at, x.entry_id")
    return [one for one in listed if reviewer in (None, one.reviewer)]


def _assignments(
    connection: Connection, order: str, dataset: str | None = None, case_id: str | None = None
) -> list[Assignment]:
    rows = rows_of_cases(connection, "review_assignments", order, dataset, case_id)
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
