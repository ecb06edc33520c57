"""Upgrade a filled PostgreSQL while servers of the version before read and write.

Each revision is a transaction of its own that waits for no lock for long. Indexes are built before it, by PostgreSQL's way of
building one beside writers: inside a revision the table would take no rows until the index is complete.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Connection, Index, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.schema import CreateIndex

from evergold.errors import Unavailable
from evergold.store.partitions.locking import patiently
from evergold.store.schema import metadata

if TYPE_CHECKING:
    from evergold.store.db import Database

LOCK = 8323  # the number of the lock that whoever migrates holds
LOOK_SECONDS = 0.2
MOST_SECONDS = 600.0  # to wait for another process that migrates
BUILDS = "CREATE INDEX CONCURRENTLY IF NOT EXISTS"
OF_OURS = "c.relnamespace = current_schema()::regnamespace"


class MigrationStep(Protocol):
    """Brings the database to one further revision."""

    def __call__(self, connection: Connection, revision: str) -> None: ...


def upgrade_online(db: "Database", revisions: Callable[[], list[str]], step: MigrationStep) -> None:
    """Take the steps that `revisions` names, asked again when no other process migrates; each by `step`."""
    with _alone(db):
        for revision in revisions():
            build_indexes(db)
            patiently(db, partial(step, revision=revision))


@contextmanager
def _alone(db: "Database") -> Iterator[None]:
    """Hold the lock of whoever migrates."""
    with db.read() as connection:
        session = connection.execution_options(isolation_level="AUTOCOMMIT")
        until = time.monotonic() + MOST_SECONDS
        # Asked for again and again: a session that waits in PostgreSQL would itself be waited for by an index that is built.
        while not session.execute(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": LOCK}).scalar_one():
            if time.monotonic() > until:
                raise Unavailable("another process has been migrating the database for ten minutes; try again later")
            time.sleep(LOOK_SECONDS)
        try:
            yield
        finally:
            session.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": LOCK})


def build_indexes(db: "Database") -> None:
    """Build the indexes of today's schema that can be built now; the others are left to the revisions that add their columns."""
    with db.read() as connection:
        session = connection.execution_options(isolation_level="AUTOCOMMIT")
        before = {
            name: session.execute(text(f"SHOW {name}")).scalar_one() for name in ("lock_timeout", "statement_timeout")
        }
        # An index that is built beside writers waits for every transaction that began before.
        for name in before:
            session.execute(text(f"SET {name} = 0"))
        try:
            for index in _missing(session):
                _build(session, index)
        finally:
            for name, limit in before.items():
                session.execute(text(f"SET {name} = '{limit}'"))


def _missing(session: Connection) -> list[Index]:
    """Indexes that are not there or were left half-built, of plain tables that are: a partitioned one has none of its own."""
    # Other schemas of the database may hold workspaces of their own, with tables and indexes of the same names.
    plain = f"SELECT relname FROM pg_class c WHERE relkind = 'r' AND {OF_OURS}"
    tables = set(session.execute(text(plain)).scalars())
    query = (
        "SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        f"WHERE c.relkind = 'i' AND {OF_OURS}"
    )
    held = {str(name): bool(valid) for name, valid in session.execute(text(query))}
    known = {str(index.name) for table in metadata.sorted_tables for index in table.indexes}
    for name in known & {name for name, valid in held.items() if not valid}:
        session.execute(text(f"DROP INDEX CONCURRENTLY IF EXISTS {name}"))
    return [
        index
        for table in metadata.sorted_tables
        for index in sorted(table.indexes, key=lambda one: str(one.name))
        if table.name in tables and not index.unique and not held.get(str(index.name), False)
    ]


def _build(session: Connection, index: Index) -> None:
    statement = str(CreateIndex(index).compile(dialect=session.dialect)).strip()
    try:
        session.execute(text(statement.replace("CREATE INDEX", BUILDS, 1)))
    except ProgrammingError as problem:
        # It needs a column that a revision still has to add.
        if getattr(problem.orig, "sqlstate", None) != "42703":
            raise
