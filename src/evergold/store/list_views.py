"""Kept views of lists, in and out."""

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, insert, select

from evergold.errors import NotFound
from evergold.model.case_actions import ListPage, ListView
from evergold.store.schema import list_views
from evergold.store.values import now


def keep_view(connection: Connection, view: ListView) -> ListView:
    """Store a view, and give it as stored; one of the same name is replaced."""
    connection.execute(delete(list_views).where(_named(view.page, view.name)))
    row = {"page": view.page.value, "name": view.name, "owner": view.owner, "body": view.address, "created_at": now()}
    connection.execute(insert(list_views), row)
    return view.model_copy(update={"created_at": datetime.fromisoformat(row["created_at"])})


def kept_views(connection: Connection, page: ListPage) -> list[ListView]:
    query = select(list_views).where(list_views.c.page == page.value).order_by(list_views.c.name)
    return [
        ListView(page=page, name=row["name"], address=row["body"], owner=row["owner"], created_at=row["created_at"])
        for row in connection.execute(query).mappings()
    ]


def drop_view(connection: Connection, page: ListPage, name: str) -> None:
    if connection.execute(delete(list_views).where(_named(page, name))).rowcount == 0:
        raise NotFound(f"no view {name!r} of {page.value}")


def _named(page: ListPage, name: str) -> ColumnElement[bool]:
    return (list_views.c.page == page.value) & (list_views.c.name == name)
