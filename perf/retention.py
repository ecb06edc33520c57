"""Delete a day of traces from PostgreSQL by dropping its partition and row by row: what each writes to the log and leaves behind.

    python -m perf.retention                 # a PostgreSQL started for it
    python -m perf.retention --requests 300

The write-ahead log is counted from a checkpoint on; unlike seconds it does not depend on who else uses the machine.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import psycopg

from evergold.settings import Settings
from evergold.workspace import Workspace
from perf.faults.postgres import own_database
from perf.otlp_load import bodies
from perf.postgres_intake import begin_days, intake_of

SPANS = "SELECT sum(pg_total_relation_size(inhrelid))::bigint FROM pg_inherits WHERE inhparent = 'spans'::regclass"


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m perf.retention", description=__doc__)
    parser.add_argument("--requests", type=int, default=300)
    load = bodies(parser.parse_args(arguments).requests, 10, seed=3)
    for way in ("by partition", "row by row"):
        with tempfile.TemporaryDirectory(prefix="evergold-pg-", ignore_cleanup_errors=True) as name:
            print(f"{way:14} {_deleted(Path(name), load, whole_days=way == 'by partition')}")


def _deleted(folder: Path, load: Sequence[bytes], *, whole_days: bool) -> str:
    with (
        own_database(folder) as url,
        psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection,
        Workspace.open(Settings(home=folder / "home", database_url=url)) as workspace,
    ):
        intake_of(workspace)(load)
        if whole_days:  # otherwise traces still come into the partition, and it is not dropped
            begin_days(workspace, 1)
        connection.execute("CHECKPOINT")
        before = _value(connection, "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")
        pruned = workspace.live.prune("1s")
        written = _value(connection, "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn") - before
        left = _value(connection, SPANS)
    return (
        f"{pruned.deleted:,} traces, {written / 1e6:.1f} MB of log, {left / 1e6:.1f} MB of spans are left on the disk"
    )


def _value(connection: psycopg.Connection, query: str) -> float:
    row = connection.execute(query).fetchone()
    return float(row[0]) if row else 0.0


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
