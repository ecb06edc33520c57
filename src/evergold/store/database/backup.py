"""Copy a live database into one SQLite file, and put such a file in the place of a database.

A backup of either database can be restored into either. Whoever writes goes on while it is copied: SQLite's pages while one
read transaction is open, PostgreSQL's rows in one REPEATABLE READ transaction. Restoring is one transaction: whoever reads
meanwhile or after a crash finds the old or the new database. SQLite is replaced page by page under its own exclusive lock, so no
log of the old one is left beside the new; PostgreSQL is emptied and filled row by row.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Connection, Table, create_engine, func, insert, select, update

from evergold.errors import BadInput, Conflict, Refused, Unavailable
from evergold.model.build import Build
from evergold.store.case.builds import list_builds
from evergold.store.database.db import Database
from evergold.store.database.engines import READ_LOCK_SECONDS, SESSIONS, create_private, session_name, sqlite_file
from evergold.store.database.failures import explain_errors, show_url, sqlite_code
from evergold.store.database.migrate import bring_up_to_date, create_tables, require_own_schema
from evergold.store.database.rows import read_value, run_sql
from evergold.store.schema import builds, metadata

PAGES = 2_000
ROWS = 1_000

Share = Callable[[float], None]
"""Is given how much more is done; all shares together are 1."""


def copy_database(db: Database, target: Path, share: Share) -> None:
    """Write the database as it is now into a new SQLite file."""
    create_private(target)
    with explain_errors(db.url):
        if db.dialect == "sqlite":
            _copy_file(db, target, share)
        else:
            with explain_errors(f"sqlite:///{target}"):
                _copy_rows(db, target, share)


def rows_of(copy: Path) -> dict[str, int]:
    """Count the rows of each table of a copy."""
    with open_copy(copy) as connection:
        return {table.name: _count(connection, table) for table in metadata.sorted_tables}


def builds_of(copy: Path) -> list[Build]:
    with open_copy(copy) as connection:
        return list_builds(connection)


def _copy_file(db: Database, target: Path, share: Share) -> None:
    path = sqlite_file(db.url)
    if path is None:
        raise BadInput("a database in memory cannot be backed up; name a file with --db or EVERGOLD_HOME")
    with (
        closing(sqlite3.connect(path, timeout=READ_LOCK_SECONDS, isolation_level=None)) as source,
        closing(sqlite3.connect(target, isolation_level=None)) as copy,
    ):
        copy.execute("PRAGMA synchronous=OFF")  # a copy that a crash cuts short is thrown away
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()  # BEGIN alone does not yet fix the moment
        source.backup(copy, pages=PAGES, progress=_report_pages(share))
        copy.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
        state = copy.execute("PRAGMA quick_check(1)").fetchone()[0]
    if state != "ok":
        raise Unavailable(f"database {show_url(db.url)} is damaged: {state}; restore an earlier backup")


def _report_pages(share: Share) -> Callable[[int, int, int], None]:
    """Make what SQLite calls after each part of a copy."""
    done = 0

    def step(_: int, left: int, total: int) -> None:
        nonlocal done
        share((total - left - done) / max(total, 1))
        done = total - left

    return step


def _copy_rows(db: Database, target: Path, share: Share) -> None:
    with db.snapshot() as source, open_copy(target) as copy, copy.begin():
        require_own_schema(source, db.url)
        create_tables(copy)
        copy_rows(source, copy, share)


def copy_rows(source: Connection, target: Connection, share: Share) -> None:
    """Copy every row of every table into tables that are empty, in an order that keeps foreign keys whole."""
    total = sum(_count(source, table) for table in metadata.sorted_tables)
    for table in metadata.sorted_tables:
        rows = source.execution_options(yield_per=ROWS).execute(select(table))
        # Streamed: neither the driver nor SQLAlchemy holds a whole table.
        for batch in rows.mappings().partitions():
            target.execute(insert(table), [dict(row) for row in batch])
            share(len(batch) / max(total, 1))


def _count(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


@contextmanager
def open_copy(copy: Path) -> Iterator[Connection]:
    """Open a copy, with none of the settings of a database in use."""
    engine = create_engine(f"sqlite:///{copy}")
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


# Tables that a workspace without data has rows in.
UPKEEP = ("alembic_version", "workspace_facts", "counters", "policies")
DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
LOCK_SECONDS = 2.0


def move_builds(copy: Path, locations: Mapping[tuple[str, str], str | None]) -> None:
    """Note where the files of each build, by dataset and version, are from now on; bring an older copy up to date first."""

    def change(connection: Connection) -> None:
        for (dataset, version), location in locations.items():
            chosen = (builds.c.dataset == dataset, builds.c.version == version)
            connection.execute(update(builds).where(*chosen).values(location=location))

    with closing(Database(f"sqlite:///{copy}")) as db:
        bring_up_to_date(db)
        db.write(change)


def require_free(url: str, replace: bool) -> None:
    """Refuse to restore over a database that is in use, or that holds data unless it is to be replaced."""
    file = sqlite_file(url)
    if file is None:
        _on_postgres(url, lambda connection: _require_free(connection, url, replace))
    elif file.exists():
        with explain_errors(url), _open_alone(file, url, replace):
            pass


def replace_database(url: str, copy: Path, replace: bool, share: Share) -> None:
    file = sqlite_file(url)
    if file is None:

        def swap(connection: Connection) -> None:
            _require_free(connection, url, replace)
            _replace_rows(connection, copy, share)

        _on_postgres(url, swap)
        return
    with explain_errors(url), _open_alone(file, url, replace) as target, closing(sqlite3.connect(copy)) as source:
        source.backup(target, pages=PAGES, progress=_report_pages(share))
        # `_require_alone` took the log away, and the mode is part of the file.
        target.execute("PRAGMA journal_mode=WAL")


@contextmanager
def _open_alone(file: Path, url: str, replace: bool) -> Iterator[sqlite3.Connection]:
    """The database, which nobody else has open; a damaged one is put aside."""
    create_private(file)
    connection = sqlite3.connect(file, timeout=LOCK_SECONDS, isolation_level=None)
    try:
        _require_alone(connection, url)
        held = _tables_with_rows(connection)
    except sqlite3.DatabaseError as problem:
        connection.close()
        if sqlite_code(problem) not in DAMAGED:
            raise
        _put_aside(file, url, replace)
        create_private(file)
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
        if sqlite_code(problem) != sqlite3.SQLITE_BUSY:
            raise
        mode = "wal"
    if mode != "delete":
        raise Conflict(
            f"database {show_url(url)} is in use; stop the server and every other evergold on it, then restore"
        )


def _tables_with_rows(connection: sqlite3.Connection) -> list[str]:
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    ours = [table.name for table in metadata.sorted_tables if table.name in names and table.name not in UPKEEP]
    return [name for name in ours if connection.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone()]


def _put_aside(file: Path, url: str, replace: bool) -> None:
    if not replace:
        raise Refused(
            f"database {show_url(url)} is damaged; --replace puts it aside as {file.name}.damaged and restores"
        )
    for suffix in ("-wal", "-shm", ""):  # the log first: it must never meet another database
        part = file.with_name(f"{file.name}{suffix}")
        if part.exists():
            os.replace(part, file.with_name(f"{file.name}.damaged{suffix}"))


def _require_empty(url: str, held: list[str], replace: bool) -> None:
    if held and not replace:
        raise Refused(
            f"database {show_url(url)} holds data ({', '.join(held[:3])}); --replace puts the backup in its place, "
            "or name another workspace with --home or --db"
        )


def _on_postgres(url: str, work: Callable[[Connection], None]) -> None:
    with closing(Database(url)) as db:
        bring_up_to_date(db)
        with explain_errors(url):
            db.submit(work, alone=True).result()


def _require_free(connection: Connection, url: str, replace: bool) -> None:
    require_own_schema(connection, url)
    # Sessions of evergold are known by their name; other clients of the server, such as psql, do no harm.
    sessions = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND application_name LIKE :ours AND application_name <> :own"""
    others = read_value(connection, sessions, ours=f"{SESSIONS}%", own=session_name())
    if others:
        raise Conflict(
            f"database {show_url(url)} is in use by {others} sessions of evergold; stop the servers, then restore"
        )
    tables = [table for table in metadata.sorted_tables if table.name not in UPKEEP]
    held = [table.name for table in tables if connection.execute(select(1).select_from(table).limit(1)).first()]
    _require_empty(url, held, replace)


def _replace_rows(connection: Connection, copy: Path, share: Share) -> None:
    names = ", ".join(f'"{table.name}"' for table in metadata.sorted_tables)
    # All tables in one statement: otherwise foreign keys between them would forbid it.
    run_sql(connection, f"TRUNCATE {names}")
    with open_copy(copy) as source:
        copy_rows(source, connection, share)
    # The numbers that PostgreSQL gives itself go on after the highest there is.
    for table in metadata.sorted_tables:
        column = table.autoincrement_column
        if column is not None:
            highest = connection.execute(select(func.max(column))).scalar()
            sequence = func.pg_get_serial_sequence(table.name, column.name)
            # The third argument says whether the number was used: an empty table begins with 1.
            connection.execute(select(func.setval(sequence, highest or 1, highest is not None)))
