"""Assignments of cases to reviewers, and the views reviewers saved."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select, update

from evergold.errors import NotFound
from evergold.model.review import Assignment, AssignmentState, CaseKey, QueueQuery, SavedView
from evergold.store.cases import entry_id_of
from evergold.store.leases import now_and_later
from evergold.store.schema import eval_dataset, review_assignments, saved_views
from evergold.store.values import dumps, loads, now

_held = review_assignments.c


def hold(
    connection: Connection, key: CaseKey, reviewer: str, state: AssignmentState, seconds: float | None = None
) -> None:
    """Put a case into somebody's hands, or record that they are done with it; the last word of each reviewer stands.

    A claim ends after so many seconds, by the database's clock.
    """
    entry = entry_id_of(connection, key.dataset, key.id)
    # Delete and insert instead of an upsert: the time of assignment begins anew.
    release(connection, key, reviewer)
    until = None if seconds is None else now_and_later(connection, seconds)[1]
    row = {"entry_id": entry, "reviewer": reviewer, "state": state.value, "lease_until": until}
    connection.execute(insert(review_assignments), row | {"created_at": now()})


def release(connection: Connection, key: CaseKey, reviewer: str) -> bool:
    """Take a case out of somebody's hands; whether it was in them."""
    entry = entry_id_of(connection, key.dataset, key.id)
    gone = connection.execute(delete(review_assignments).where(_held.entry_id == entry, _held.reviewer == reviewer))
    return gone.rowcount > 0


def renew(connection: Connection, key: CaseKey, reviewer: str, seconds: float) -> bool:
    """Prolong a claim that is still this reviewer's; whether it was."""
    entry = entry_id_of(connection, key.dataset, key.id)
    # An assignment has no lease, so there is nothing to prolong; a claim that somebody took over is not this
    # reviewer's.
    mine = (_held.entry_id == entry, _held.reviewer == reviewer, _held.state == AssignmentState.CLAIMED.value)
    _, until = now_and_later(connection, seconds)
    return connection.execute(update(review_assignments).where(*mine).values(lease_until=until)).rowcount == 1


def assignments_of(connection: Connection, key: CaseKey) -> list[Assignment]:
    entry = entry_id_of(connection, key.dataset, key.id)
    rows = connection.execute(
        select(review_assignments).where(_held.entry_id == entry).order_by(_held.reviewer)
    ).mappings()
    return [
        Assignment(**key.model_dump(), **{name: row[name] for name in ("reviewer", "state", "lease_until")})
        for row in rows
    ]


def assignments_to(connection: Connection, reviewer: str | None) -> list[Assignment]:
    """Everything in hand, of one reviewer or of all."""
    query = select(review_assignments, eval_dataset.c.dataset, eval_dataset.c.case_id).join(
        eval_dataset, eval_dataset.c.id == _held.entry_id
    )
    if reviewer is not None:
        query = query.where(_held.reviewer == reviewer)
    return [
        Assignment(
            dataset=row["dataset"],
            id=row["case_id"],
            **{name: row[name] for name in ("reviewer", "state", "lease_until")},
        )
        for row in connection.execute(query.order_by(_held.created_at, _held.entry_id)).mappings()
    ]


def save_view(connection: Connection, view: SavedView) -> SavedView:
    """Store a view, and give it as stored; one of the same name is replaced."""
    connection.execute(delete(saved_views).where(saved_views.c.name == view.name))
    body, made = dumps(view.query.model_dump(mode="json")), now()
    connection.execute(insert(saved_views), {"name": view.name, "owner": view.owner, "body": body, "created_at": made})
    return view.model_copy(update={"created_at": datetime.fromisoformat(made)})


def views(connection: Connection) -> Iterable[SavedView]:
    for row in connection.execute(select(saved_views).order_by(saved_views.c.name)).mappings():
        query = QueueQuery.model_validate(loads(row["body"]))
        yield SavedView(name=row["name"], owner=row["owner"], query=query, created_at=row["created_at"])


def delete_view(connection: Connection, name: str) -> None:
    if connection.execute(delete(saved_views).where(saved_views.c.name == name)).rowcount == 0:
        raise NotFound(f"no saved view {name!r}")
