"""Bring a database to today's schema: create a new one at once, migrate an old one, refuse one from the future."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from evergold.errors import Refused
from evergold.store.db import Database
from evergold.store.failures import shown
from evergold.store.migrations import HEAD, REVISIONS
from evergold.store.schema import metadata

BEGINS_WITH_CHECKS = "on"  # a new workspace has the built-in checks on; one from before they existed has not


def bring_up_to_date(db: Database) -> None:
    with db.read() as connection:
        current = _revision(connection)
    if current == HEAD:
        return
    if current is not None and current not in REVISIONS:
        raise Refused(
            f"database {shown(db.url)} has schema {current}, newer than this program knows ({HEAD}); "
            "upgrade evergold, or name another database with --db"
        )
    db.write(_create if current is None else _upgrade)


def _revision(connection: Connection) -> str | None:
    """The schema's number; the first one is known by its tables, because its databases carry no number."""
    tables = inspect(connection)
    if tables.has_table("alembic_version"):
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return REVISIONS[0] if tables.has_table("eval_dataset") or tables.has_table("traces") else None


def _create(connection: Connection) -> None:
    """A new database needs no history: today's tables, stamped with today's number. Loading Alembic would cost more."""
    if connection.dialect.name == "postgresql":  # two servers may start on one empty database
        connection.execute(text("SELECT pg_advisory_xact_lock(8321)"))
    if _revision(connection) is not None:
        return
    create_tables(connection)
    connection.execute(
        text("INSERT INTO workspace_facts VALUES ('checks.builtin', :word)"), {"word": BEGINS_WITH_CHECKS}
    )


def create_tables(connection: Connection) -> None:
    """Create today's tables, all of them empty, and note their number."""
    metadata.create_all(connection)
    connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
    connection.execute(text("INSERT INTO alembic_version VALUES (:head)"), {"head": HEAD})


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    if not inspect(connection).has_table("alembic_version"):
        command.stamp(config, REVISIONS[0])
    command.upgrade(config, "head")
