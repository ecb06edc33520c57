"""Put a database in place of another, in one transaction: whoever reads meanwhile or after a crash finds the old or the new one.

The new one comes as an SQLite file of today's schema (`store/backup.py`). An SQLite database is replaced page by page under
SQLite's own exclusive lock, so no log of the old one can be left beside the new; PostgreSQL is emptied and filled row by row.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Connection, func, select, text, update

from evergold.errors import Conflict, Refused
from evergold.store.backup import PAGES, Share, copy_rows, read_copy
from evergold.store.db import Database
from evergold.store.engines import SESSIONS, session_name, sqlite_file
from evergold.store.failures import explained, shown
from evergold.store.migrate import bring_up_to_date, require_own_schema
from evergold.store.schema import builds, metadata

UPKEEP = (
    "alembic_version",
    "workspace_facts",
    "counters",
    "policies",
)  # tables that a workspace without data has rows in
DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
LOCK_SECONDS = 2.0


def move_builds(copy: Path, locations: Mapping[tuple[str, str], str | None]) -> None:
    """Note where the files of each build, by dataset and version, are from now on; bring an older copy up to date first."""
    db = Database(f"sqlite:///{copy}")
    try:
        bring_up_to_date(db)

        def change(connection: Connection) -> None:
            for (dataset, version), location in locations.items():
                chosen = (builds.c.dataset == dataset, builds.c.version == version)
                connection.execute(update(builds).where(*chosen).values(location=location))

        db.write(change)
    finally:
        db.close()


def require_free(url: str, replace: bool) -> None:
    """Refuse to restore over a database that is in use, or that holds data unless it is to be replaced."""
    file = sqlite_file(url)
    if file is None:
        _on_postgres(url, lambda connection: _require_free(connection, url, replace))
    elif file.exists():
        with explained(url), _alone(file, url, replace):
            pass


def replace_database(url: str, copy: Path, replace: bool, share: Share) -> None:
    file = sqlite_file(url)
    if file is None:

        def swap(connection: Connection) -> None:
            _require_free(connection, url, replace)
            _replace_rows(connection, copy, share)

        _on_postgres(url, swap)
        return
    with explained(url), _alone(file, url, replace) as target, closing(sqlite3.connect(copy)) as source:
        done = 0

        def step(_: int, left: int, total: int) -> None:
            nonlocal done
            share((total - left - done) / max(total, 1))
            done = total - left

        source.backup(target, pages=PAGES, progress=step)
        # `_require_alone` took the log away, and the mode is part of the file.
        target.execute("PRAGMA journal_mode=WAL")


@contextmanager
def _alone(file: Path, url: str, replace: bool) -> Iterator[sqlite3.Connection]:
    """The database, which nobody else has open; a damaged one is put aside."""
    connection = sqlite3.connect(file, timeout=LOCK_SECONDS, isolation_level=None)
    try:
        _require_alone(connection, url)
        held = _tables_with_rows(connection)
    except sqlite3.DatabaseError as problem:
        connection.close()
        if getattr(problem, "sqlite_errorcode", 0) & 0xFF not in DAMAGED:
            raise
        _put_aside(file, url, replace)
        connection = sqlite3.connect(file, isolation_level=None)
        held = []
    except BaseException:
        connection.close()
        raise
    with closing(connection):
        _require_empty(url, held, replace)
        yield connection


def _require_alone(connection: sqlite3.Connection, url: str) -> None:
    """A connection to a database with a log keeps a lock while it is open: who can take the log away is alone."""
    try:
        mode = connection.execute("PRAGMA journal_mode=DELETE").fetchone()[0]
    except sqlite3.OperationalError as problem:
        if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        mode = "wal"
    if mode != "delete":
        raise Conflict(f"database {shown(url)} is in use; stop the server and every other evergold on it, then restore")


def _tables_with_rows(connection: sqlite3.Connection) -> list[str]:
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    ours = [table.name for table in metadata.sorted_tables if table.name in names and table.name not in UPKEEP]
    return [name for name in ours if connection.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone()]


def _put_aside(file: Path, url: str, replace: bool) -> None:
    if not replace:
        raise Refused(f"database {shown(url)} is damaged; --replace puts it aside as {file.name}.damaged and restores")
    for suffix in ("-wal", "-shm", ""):  # the log first: it must never meet another database
        part = file.with_name(f"{file.name}{suffix}")
        if part.exists():
            os.replace(part, file.with_name(f"{file.name}.damaged{suffix}"))


def _require_empty(url: str, held: list[str], replace: bool) -> None:
    if held and not replace:
        raise Refused(
            f"database {shown(url)} holds data ({', '.join(held[:3])}); --replace puts the backup in its place, "
            "or name another workspace with --home or --db"
        )


def _on_postgres(url: str, work: Callable[[Connection], None]) -> None:
    db = Database(url)
    try:
        bring_up_to_date(db)
        with explained(url):
            db.submit(work, alone=True).result()
    finally:
        db.close()


def _require_free(connection: Connection, url: str, replace: bool) -> None:
    require_own_schema(connection, url)
    # Sessions of evergold are known by their name; other clients of the server, such as psql, do no harm.
    others = connection.execute(
        text(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND application_name LIKE :ours AND application_name <> :own"
        ),
        {"ours": f"{SESSIONS}%", "own": session_name()},
    ).scalar_one()
    if others:
        raise Conflict(
            f"database {shown(url)} is in use by {others} sessions of evergold; stop the servers, then restore"
        )
    tables = [table for table in metadata.sorted_tables if table.name not in UPKEEP]
    held = [table.name for table in tables if connection.execute(select(1).select_from(table).limit(1)).first()]
    _require_empty(url, held, replace)


def _replace_rows(connection: Connection, copy: Path, share: Share) -> None:
    names = ", ".join(f'"{table.name}"' for table in metadata.sorted_tables)
    # All tables in one statement: otherwise foreign keys between them would forbid it.
    connection.execute(text(f"TRUNCATE {names}"))
    with read_copy(copy) as source:
        copy_rows(source, connection, share)
    _continue_numbers(connection)


def _continue_numbers(connection: Connection) -> None:
    """Let the numbers that PostgreSQL gives itself go on after the highest there is."""
    for table in metadata.sorted_tables:
        column = table.autoincrement_column
        if column is not None:
            highest = connection.execute(select(func.max(column))).scalar()
            sequence = func.pg_get_serial_sequence(table.name, column.name)
            # The third argument says whether the number was used: an empty table begins with 1.
            connection.execute(select(func.setval(sequence, highest or 1, highest is not None)))
