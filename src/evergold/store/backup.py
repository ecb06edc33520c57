"""Copy a live database into one SQLite file, as it was at one moment. Whoever writes goes on meanwhile.

SQLite: pages are copied while one read transaction is open; its write-ahead log keeps what is written later apart. PostgreSQL:
rows are read in one REPEATABLE READ transaction and written into an SQLite file of the same schema. So a backup of either
can be restored into either.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Connection, Table, create_engine, func, insert, select

from evergold.errors import BadInput, Unavailable
from evergold.model.build import Build
from evergold.store.builds import list_builds
from evergold.store.db import Database
from evergold.store.engines import READ_LOCK_SECONDS, sqlite_file
from evergold.store.failures import explained, shown
from evergold.store.migrate import create_tables, require_own_schema
from evergold.store.schema import metadata

PAGES = 2_000
ROWS = 1_000

Share = Callable[[float], None]
"""Is given how much more is done; all shares together are 1."""


def copy_database(db: Database, target: Path, share: Share) -> None:
    """Write the database as it is now into a new SQLite file."""
    with explained(db.url):
        if db.dialect == "sqlite":
            _copy_file(db, target, share)
        else:
            with explained(f"sqlite:///{target}"):
                _copy_rows(db, target, share)


def rows_of(copy: Path) -> dict[str, int]:
    """Count the rows of each table of a copy."""
    with read_copy(copy) as connection:
        return {table.name: _count(connection, table) for table in metadata.sorted_tables}


def builds_of(copy: Path) -> list[Build]:
    with read_copy(copy) as connection:
        return list_builds(connection)


def _copy_file(db: Database, target: Path, share: Share) -> None:
    path = sqlite_file(db.url)
    if path is None:
        raise BadInput("a database in memory cannot be backed up; name a file with --db or EVERGOLD_HOME")
    done = 0

    def step(_: int, left: int, total: int) -> None:
        nonlocal done
        share((total - left - done) / max(total, 1))
        done = total - left

    with (
        closing(sqlite3.connect(path, timeout=READ_LOCK_SECONDS, isolation_level=None)) as source,
        closing(sqlite3.connect(target, isolation_level=None)) as copy,
    ):
        copy.execute("PRAGMA synchronous=OFF")  # a copy that a crash cuts short is thrown away
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()  # BEGIN alone does not yet fix the moment
        source.backup(copy, pages=PAGES, progress=step)
        copy.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
        state = copy.execute("PRAGMA quick_check(1)").fetchone()[0]
    if state != "ok":
        raise Unavailable(f"database {shown(db.url)} is damaged: {state}; restore an earlier backup")


def _copy_rows(db: Database, target: Path, share: Share) -> None:
    engine = create_engine(f"sqlite:///{target}")
    try:
        with db.snapshot() as source, engine.begin() as copy:
            require_own_schema(source, db.url)
            create_tables(copy)
            copy_rows(source, copy, share)
    finally:
        engine.dispose()


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
def read_copy(copy: Path) -> Iterator[Connection]:
    """Open a copy, with none of the settings of a database in use."""
    engine = create_engine(f"sqlite:///{copy}")
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()
