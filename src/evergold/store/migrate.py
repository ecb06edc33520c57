"""Bring a database to today's schema: create a new one at once, migrate an old one.

One that a newer version has migrated is used as it is while nothing was removed that this version needs, and refused otherwise.
The database itself says which: the newer version left a fact that names its revision and the oldest one that can work on it.
"""

from functools import partial
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from evergold.errors import Refused
from evergold.store.db import Database
from evergold.store.failures import shown
from evergold.store.migrations import HEAD, REVISIONS, compatible_since
from evergold.store.schema import metadata

ONLINE_SINCE = "0013"  # databases from before are upgraded in one transaction, while writers wait
COMPATIBLE = "schema.compatible"  # the fact: a revision, and the oldest one whose programs can work on it
BEGINS_WITH_CHECKS = "on"  # a new workspace has the built-in checks on; one from before they existed has not


def bring_up_to_date(db: Database) -> None:
    with db.read() as connection:
        current = _revision(connection)
        ahead = current is not None and current not in REVISIONS
        since = _oldest_program(connection, current) if ahead else None
    if current == HEAD or (since is not None and since <= HEAD):
        return
    if ahead:
        needed = f", and needs one of {since} or later" if since else ""
        raise Refused(
            f"database {shown(db.url)} has schema {current}, newer than this program knows ({HEAD}){needed}; "
            "upgrade evergold, or name another database with --db"
        )
    if current is not None and current >= ONLINE_SINCE and db.dialect == "postgresql":
        from evergold.store.online_upgrade import upgrade_online

        upgrade_online(db, partial(_revisions_left, db), _step)
    else:
        db.write(_create if current is None else _upgrade)


def _revisions_left(db: Database) -> list[str]:
    with db.read() as connection:
        current = _revision(connection)
    return [revision for revision in REVISIONS if current is not None and revision > current]


def _revision(connection: Connection) -> str | None:
    """The schema's number; the first one is known by its tables, because its databases carry no number."""
    tables = inspect(connection)
    if tables.has_table("alembic_version"):
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return REVISIONS[0] if tables.has_table("eval_dataset") or tables.has_table("traces") else None


def _oldest_program(connection: Connection, current: str | None) -> str | None:
    """The oldest revision whose programs can work on this database, by whoever migrated it; None where nobody noted it."""
    if not inspect(connection).has_table("workspace_facts"):
        return None
    query = text("SELECT value FROM workspace_facts WHERE name = :name")
    noted = str(connection.execute(query, {"name": COMPATIBLE}).scalar() or "").split()
    # A fact of another revision says nothing of this one.
    return noted[1] if len(noted) == 2 and noted[0] == current else None


def require_own_schema(connection: Connection, url: str) -> None:
    """Refuse work on all tables at once while the database has tables or columns that this program does not know."""
    current = _revision(connection)
    if current != HEAD:
        raise Refused(
            f"database {shown(url)} has schema {current} and this program knows {HEAD}: parts of it would be left out; "
            "use the evergold of the newer version"
        )


def _create(connection: Connection) -> None:
    """A new database needs no history: today's tables, stamped with today's number. Loading Alembic would cost more."""
    if connection.dialect.name == "postgresql":  # two servers may start on one empty database
        connection.execute(text("SELECT pg_advisory_xact_lock(8321)"))
    if _revision(connection) is not None:
        return
    create_tables(connection)
    _note_compatible(connection)
    connection.execute(
        text("INSERT INTO workspace_facts VALUES ('checks.builtin', :word)"), {"word": BEGINS_WITH_CHECKS}
    )


def create_tables(connection: Connection) -> None:
    """Create today's tables, all of them empty, and note their number."""
    metadata.create_all(connection)
    connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
    connection.execute(text("INSERT INTO alembic_version VALUES (:head)"), {"head": HEAD})


def _note_compatible(connection: Connection, revision: str = HEAD) -> None:
    """Leave word for programs of earlier versions, which may open this database during an upgrade."""
    connection.execute(text("DELETE FROM workspace_facts WHERE name = :name"), {"name": COMPATIBLE})
    fact = {"name": COMPATIBLE, "value": f"{revision} {compatible_since(revision)}"}
    connection.execute(text("INSERT INTO workspace_facts (name, value) VALUES (:name, :value)"), fact)


def _upgrade(connection: Connection) -> None:
    """Take every revision in one transaction."""
    _step(connection, HEAD)


def _step(connection: Connection, revision: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    if not inspect(connection).has_table("alembic_version"):
        command.stamp(config, REVISIONS[0])
    command.upgrade(config, revision)
    _note_compatible(connection, revision)
