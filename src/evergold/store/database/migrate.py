"""Bring a database to today's schema: create a new one at once, migrate an older one.

Either is one transaction, which one process at a time is in: a process that is ended leaves the database as it was.
"""

import time
from functools import partial
from pathlib import Path
from typing import cast
from urllib.parse import quote

from sqlalchemy import Connection, create_engine, inspect
from sqlalchemy.exc import DBAPIError, OperationalError

from evergold.errors import Refused, Unavailable
from evergold.model.operations import DatabaseHealth
from evergold.store.database.db import Database
from evergold.store.database.engines import (
    CONNECT_SECONDS,
    WRITE_LOCK_SECONDS,
    DatabaseLimits,
    open_engines,
    sqlite_file,
)
from evergold.store.database.failures import show_url
from evergold.store.database.migrations import BEFORE_BASELINE, HEAD, MIGRATIONS
from evergold.store.database.rows import read_value, run_sql
from evergold.store.schema import metadata

LAST_BEFORE_BASELINE = "84eb32e"  # the last commit whose schema is 0018; it migrates all earlier ones
BEGINS_WITH_CHECKS = "on"  # a new workspace has the built-in checks on


def bring_up_to_date(db: Database) -> None:
    with db.read() as connection:
        current = _revision(connection)
    if current != HEAD:
        db.write(partial(_migrate, url=db.url))


def explain_unknown(schema: str) -> str | None:
    """Say why a schema cannot be brought to today's; None for one that can."""
    if schema in (BEFORE_BASELINE, *MIGRATIONS):
        return None
    if schema > BEFORE_BASELINE:
        return f"has schema {schema}, newer than this program knows ({HEAD}); upgrade evergold"
    return (
        f"has schema {schema}, older than this program migrates from ({BEFORE_BASELINE}); open or restore it once with "
        f"evergold of commit {LAST_BEFORE_BASELINE}, then back it up there or open it here"
    )


def look_at_database(url: str, seconds: float) -> DatabaseHealth:
    """Read a database's schema, size and health, changing nothing; the quick check of SQLite ends after so many seconds."""
    file = sqlite_file(url)
    read_only = f"sqlite:///file:{quote(str(file))}?mode=ro&uri=true"
    engine = (
        create_engine(read_only, connect_args={"timeout": CONNECT_SECONDS})
        if file
        else open_engines(url, DatabaseLimits())[1]
    )
    try:
        with engine.connect() as connection:
            number = _revision(connection)
            refused = None if number is None else explain_unknown(number)
            held = {"engine": connection.dialect.name, "schema_number": number, "current": HEAD, "refused": refused}
            return DatabaseHealth.model_validate(held | (_look_at_file(connection, file, seconds) if file else {}))
    except DBAPIError as problem:
        raise Unavailable(f"database {show_url(url)} cannot be read: {problem.orig}") from None
    finally:
        engine.dispose()


def _look_at_file(connection: Connection, file: Path, seconds: float) -> dict[str, object]:
    pragmas = ("page_size", "page_count", "freelist_count")
    size, pages, free = (read_value(connection, f"PRAGMA {name}") for name in pragmas)
    log = file.with_name(f"{file.name}-wal")
    held: dict[str, object] = {"bytes": size * pages, "free_bytes": size * free}
    held["log_bytes"] = log.stat().st_size if log.exists() else 0
    until = time.monotonic() + seconds
    driver = connection.connection.driver_connection
    assert driver is not None
    driver.set_progress_handler(lambda: time.monotonic() > until, 100_000)
    try:
        answer = read_value(connection, "PRAGMA quick_check(1)")
    except OperationalError as problem:
        if "interrupted" not in str(problem):
            raise
        return held | {"checked": False}
    return held | {"damage": None if answer == "ok" else str(answer)}


def require_own_schema(connection: Connection, url: str) -> None:
    """Refuse work on all tables at once where a newer program has migrated the database since it was opened."""
    current = _revision(connection)
    if current != HEAD:
        raise Refused(
            f"database {show_url(url)} has schema {current} and this program knows {HEAD}: parts of it would be left out; "
            "use the evergold of the newer version"
        )


def create_tables(connection: Connection) -> None:
    """Create today's tables, all of them empty, and note their number."""
    metadata.create_all(connection)
    run_sql(connection, "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
    run_sql(connection, "INSERT INTO alembic_version VALUES (:head)", head=HEAD)


def _revision(connection: Connection) -> str | None:
    """The schema's number; None for an empty database. The first databases carry none and are known by their tables."""
    tables = inspect(connection)
    if tables.has_table("alembic_version"):
        return cast("str | None", read_value(connection, "SELECT version_num FROM alembic_version"))
    return "0001" if tables.has_table("eval_dataset") or tables.has_table("traces") else None


def _migrate(connection: Connection, url: str) -> None:
    """Create or migrate the tables, unless another process has done it meanwhile."""
    if connection.dialect.name == "postgresql":
        # A process that migrates is waited for as long as that takes; everybody else's locks are not.
        run_sql(connection, "SET LOCAL lock_timeout = 0")
        run_sql(connection, "SELECT pg_advisory_xact_lock(8321)")
        run_sql(connection, f"SET LOCAL lock_timeout = '{WRITE_LOCK_SECONDS}s'")
    current = _revision(connection)
    if current is None:
        create_tables(connection)
        run_sql(connection, "INSERT INTO workspace_facts VALUES ('checks.builtin', :word)", word=BEGINS_WITH_CHECKS)
    elif current != HEAD:
        if reason := explain_unknown(current):
            raise Refused(f"database {show_url(url)} {reason}")
        for number in sorted(MIGRATIONS):
            if number > current:
                MIGRATIONS[number](connection)
        run_sql(connection, "UPDATE alembic_version SET version_num = :head", head=HEAD)
