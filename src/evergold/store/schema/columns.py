"""Parts of the tables: kinds of columns, the database's clock, constraints."""

from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Index,
    Integer,
    MetaData,
    Text,
    text,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.expression import FunctionElement

metadata = MetaData()


class utc_now(FunctionElement[str]):
    """The database's own clock as our text."""

    type = Text()
    inherit_cache = True


@compiles(utc_now, "sqlite")
def _sqlite_now(element: Any, compiler: Any, **_: Any) -> str:
    # Computed in the database, so rows of hand-written INSERTs and of several servers share one clock.
    return "(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))"


@compiles(utc_now, "postgresql")
def _postgres_now(element: Any, compiler: Any, **_: Any) -> str:
    # `clock_timestamp`, because `now()` stands still for the length of a transaction.
    return "to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"


class random_ident(FunctionElement[str]):
    """An id for a case that somebody inserted by hand."""

    type = Text()
    inherit_cache = True


@compiles(random_ident, "sqlite")
def _sqlite_ident(element: Any, compiler: Any, **_: Any) -> str:
    return "(lower(hex(randomblob(16))))"


@compiles(random_ident, "postgresql")
def _postgres_ident(element: Any, compiler: Any, **_: Any) -> str:
    return "replace(gen_random_uuid()::text, '-', '')"


def auto_id() -> Column[int]:
    return Column("id", Integer, primary_key=True, autoincrement=True)


def time_of(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default=utc_now())


def word(name: str, default: str = "") -> Column[str]:
    return Column(name, Text, nullable=False, server_default=text(f"'{default}'"))


def count_of(name: str, default: int = 0) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default=text(str(default)))


def one_of(column: str, *values: str) -> CheckConstraint:
    """Spelled out, because SQLite builds the list of an `IN` in a constraint anew for every row it checks."""
    listed = " OR ".join(f"{column} = '{value}'" for value in values)
    return CheckConstraint(listed, name=f"{column}_known")


def where_known(name: str, column: str) -> Index:
    """An index of those that say it: a trace without a session or a user costs nothing there."""
    known = text(f"{column} IS NOT NULL")
    return Index(name, column, "started_at", sqlite_where=known, postgresql_where=known)


def by_figure(name: str, column: str) -> Index:
    """An index in the order of a figure, with what such a list is narrowed by most: it is read without its rows.

    A trace without the figure costs nothing there.
    """
    known = text(f"{column} IS NOT NULL")
    return Index(name, column, "seq", "model", "name", "status", sqlite_where=known, postgresql_where=known)
