"""Figures for operators of a database: queues, size and growth of each table, slow queries."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from evergold.model.operations import (
    Backlog,
    DatabaseStatus,
    LockedTable,
    OpenConnections,
    SlowQuery,
    TableSize,
)
from evergold.store.database.rows import read_value, run_sql, stamp
from evergold.store.facts import database_time, held_leases
from evergold.store.schema import metadata

SLOWEST = 5
DAY = timedelta(days=1)
WEEK = timedelta(days=7)
KEPT_OUT = "l.granted AND l.mode = 'AccessExclusiveLock' AND l.pid <> pg_backend_pid()"


def require_answer(connection: Connection) -> None:
    """Read one row from a table; raises `Unavailable` with the reason while the database does not answer."""
    run_sql(connection, "SELECT id FROM runs LIMIT 1").all()


def backlog_of(connection: Connection) -> Backlog:
    waiting, oldest = run_sql(connection, "SELECT count(*), min(queued_at) FROM curation_queue").one()
    by_status = run_sql(connection, "SELECT status, count(*) FROM runs GROUP BY status").all()
    moment = database_time(connection)
    lag = 0.0
    if oldest is not None:
        lag = max(0.0, (datetime.fromisoformat(moment) - datetime.fromisoformat(oldest)).total_seconds())
    return Backlog(traces=waiting, lag_seconds=lag, runs={str(status): int(count) for status, count in by_status})


def status_of(connection: Connection, file: Path | None) -> DatabaseStatus:
    """Look at every table once. `file` is the database file of SQLite."""
    now = datetime.now(UTC)
    query = "SELECT count(*), min(started_at), max(started_at) FROM traces"
    counted, oldest, newest = run_sql(connection, query).one()
    own: dict[str, Any]
    if file is None:
        sizes = _postgres_sizes(connection)
        total = sum(table.bytes for table in sizes)
        own = {"slow_queries": _slow_queries(connection), "connections": _connections(connection)}
        own["locked"] = _locked_tables(connection)
    else:
        sizes = _sqlite_sizes(connection)
        # With what is still in its write-ahead log, which comes and goes with checkpoints.
        total = read_value(connection, "PRAGMA page_count") * read_value(connection, "PRAGMA page_size")
        log = file.with_name(f"{file.name}-wal")
        own = {"log_bytes": log.stat().st_size if log.exists() else None}
    return DatabaseStatus(
        engine=connection.dialect.name,
        bytes=total,
        tables=sorted(sizes, key=lambda table: -table.bytes),
        traces=counted,
        oldest=oldest,
        newest=newest,
        traces_last_day=_count_since(connection, now - DAY),
        traces_last_week=_count_since(connection, now - WEEK),
        bytes_per_trace=round(total / counted, 1) if counted else None,
        work=held_leases(connection, database_time(connection)),
        **own,
    )


def _count_since(connection: Connection, moment: datetime) -> int:
    return int(read_value(connection, "SELECT count(*) FROM traces WHERE started_at >= :moment", moment=stamp(moment)))


def _sqlite_sizes(connection: Connection) -> list[TableSize]:
    """Bytes of each table with its indexes, where this SQLite can tell (`dbstat`); rows in any case."""
    # `dbstat` is a compile-time option that not every Python ships with.
    option = "SELECT 1 FROM pragma_compile_options WHERE compile_options = 'ENABLE_DBSTAT_VTAB'"
    query = "SELECT m.tbl_name, sum(s.pgsize) FROM dbstat s JOIN sqlite_master m ON m.name = s.name GROUP BY 1"
    compiled = read_value(connection, option)
    pages = {str(name): int(size) for name, size in run_sql(connection, query)} if compiled else {}
    return [
        TableSize(
            name=table.name,
            bytes=pages.get(table.name, 0),
            rows=read_value(connection, f"SELECT count(*) FROM {table.name}"),
        )
        for table in metadata.sorted_tables
    ]


def _postgres_sizes(connection: Connection) -> list[TableSize]:
    """Bytes with indexes, and rows by PostgreSQL's own estimate.

    The size of a table that a session keeps others out of is an estimate as well: whoever asks for it would have to wait.
    """
    # A table that was never analysed has no `reltuples`; then what sessions have counted as written stands for it.
    query = f"""SELECT relname AS name, CASE WHEN oid IN (SELECT relation FROM pg_locks l WHERE {KEPT_OUT})
        THEN relpages * current_setting('block_size')::bigint ELSE pg_total_relation_size(oid) END AS bytes,
        CASE WHEN reltuples > 0 THEN reltuples ELSE pg_stat_get_live_tuples(oid) END::bigint AS rows
        FROM pg_class WHERE relkind = 'r' AND relname = ANY(:names) AND relnamespace = current_schema()::regnamespace"""
    names = [table.name for table in metadata.sorted_tables]
    return [TableSize.model_validate(dict(row)) for row in run_sql(connection, query, names=names).mappings()]


def _locked_tables(connection: Connection) -> list[LockedTable]:
    """Tables of ours that a session keeps everybody else out of, longest first."""
    query = f"""SELECT c.relname AS name, l.pid AS session, a.application_name AS program,
        extract(epoch FROM clock_timestamp() - a.xact_start)::float AS seconds
        FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_stat_activity a ON a.pid = l.pid
        WHERE {KEPT_OUT} AND c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace ORDER BY 4 DESC, 1"""
    return [LockedTable.model_validate(dict(row)) for row in run_sql(connection, query).mappings()]


def _connections(connection: Connection) -> OpenConnections:
    """Every connection to this database that this user may see, of all servers and programs."""
    query = """SELECT count(*) AS open, current_setting('max_connections')::int AS most,
        count(*) FILTER (WHERE state = 'active') AS active,
        count(*) FILTER (WHERE wait_event_type = 'Lock') AS waiting_for_locks,
        count(*) FILTER (WHERE state LIKE 'idle in transaction%') AS idle_in_transaction,
        coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::float AS longest_transaction_seconds
        FROM pg_stat_activity WHERE datname = current_database()"""
    return OpenConnections.model_validate(dict(run_sql(connection, query).mappings().one()))


def _slow_queries(connection: Connection) -> list[SlowQuery] | None:
    """The statements that cost most in all; None where the extension `pg_stat_statements` is not there, or not loaded."""
    if not read_value(connection, "SELECT to_regclass('pg_stat_statements') IS NOT NULL"):
        return None
    query = f"""SELECT calls, mean_exec_time, left(query, 200) FROM pg_stat_statements
        WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
        ORDER BY total_exec_time DESC LIMIT {SLOWEST}"""
    try:
        # Apart: its failure must not end the transaction in which the rest is read.
        with connection.begin_nested():
            rows = run_sql(connection, query).all()
    except DBAPIError:  # created, but not in `shared_preload_libraries`
        return None
    return [SlowQuery(calls=calls, mean_ms=round(mean, 3), query=" ".join(line.split())) for calls, mean, line in rows]
