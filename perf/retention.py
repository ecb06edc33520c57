"""Delete old traces from SQLite and from PostgreSQL: processor time for a trace, and what PostgreSQL writes and leaves behind.

    python -m perf.retention                 # a PostgreSQL started for it
    python -m perf.retention --requests 300

Ten traces of ten spans a request. The write-ahead log is counted from a checkpoint on.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psycopg

from evergold.settings import Settings
from evergold.workspace import Workspace
from perf.otlp_load import bodies
from perf.postgres_intake import intake_of, postgres_seconds
from tests.faults.postgres import own_database

LOG = "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"
LEFT = "SELECT pg_total_relation_size('spans')"


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m perf.retention", description=__doc__)
    parser.add_argument("--requests", type=int, default=300)
    load = bodies(parser.parse_args(arguments).requests, 10, seed=3)
    with tempfile.TemporaryDirectory(prefix="evergold-pg-", ignore_cleanup_errors=True) as name:
        with Workspace.open(Settings(home=Path(name) / "sqlite")) as workspace:
            intake_of(workspace)(load)
            print(f"sqlite      {_delete(workspace, lambda: 0.0)}")
        with (
            own_database(Path(name)) as url,
            psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection,
            Workspace.open(Settings(home=Path(name) / "home", database_url=url)) as workspace,
        ):
            intake_of(workspace)(load)
            connection.execute("CHECKPOINT")
            before = _value(connection, LOG)
            deleted = _delete(workspace, postgres_seconds)
            written, left = _value(connection, LOG) - before, _value(connection, LEFT)
            print(f"postgresql  {deleted}, {written / 1e6:.1f} MB of log, {left / 1e6:.1f} MB of spans left to VACUUM")


def _delete(workspace: Workspace, in_postgres: Callable[[], float]) -> str:
    here, there = time.process_time(), in_postgres()
    deleted = workspace.retention.prune("1s").deleted
    spent = time.process_time() - here + in_postgres() - there
    return f"{deleted:,} traces, {spent / deleted * 1e6:,.0f} µs each"


def _value(connection: psycopg.Connection, query: str) -> float:
    row = connection.execute(query).fetchone()
    return float(row[0]) if row else 0.0


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
