"""`evergold db`: size and growth of the database."""

import click

from evergold.cli.opening import opened
from evergold.cli.output import echo, emit_json, json_flag, table
from evergold.model.operations import DatabaseStatus

LARGE = 1_000_000  # bytes; a smaller table without rows is left out


@click.group()
def command() -> None:
    """Look at the database: sizes, growth, age."""


@command.command("status")
@json_flag
@click.pass_context
def status_command(ctx: click.Context, as_json: bool) -> None:
    """Show sizes, growth, the oldest trace, work under way; on PostgreSQL connections, locks and slow queries."""
    with opened(ctx) as workspace:
        status = workspace.operations.status()
    if as_json:
        emit_json(status)
        return
    # PostgreSQL only estimates rows, and may not have counted those of a large table yet.
    shown = [one for one in status.tables if one.rows or one.bytes >= LARGE]
    rows = [(one.name, _megabytes(one.bytes) if one.bytes else "", f"{one.rows:,}") for one in shown]
    table(f"{status.engine}, {_megabytes(status.bytes)}", ("table", "size", "rows"), rows)
    for line in _lines(status):
        echo(line)


def _lines(status: DatabaseStatus) -> list[str]:
    return [*_traces(status), *_use(status)]


def _use(status: DatabaseStatus) -> list[str]:
    """Connections, locks and work under way."""
    lines = [f"{one.name} is held by {one.owner} since {one.since}, until {one.until}" for one in status.work]
    lines += [
        f"{one.name} is locked by session {one.session} ({one.program or 'without a name'}), whose transaction is "
        f"{one.seconds:.0f} s old: its rows can be neither read nor written; SELECT pg_terminate_backend({one.session}) ends it"
        for one in status.locked
    ]
    if (now := status.connections) is not None:
        lines.append(
            f"{now.open} of {now.most} connections: {now.active} active, {now.waiting_for_locks} wait for locks, "
            f"{now.idle_in_transaction} idle in a transaction; the longest transaction is "
            f"{now.longest_transaction_seconds:.0f} s old"
        )
    return lines


def _traces(status: DatabaseStatus) -> list[str]:
    # Sizes per trace would divide by zero.
    if not status.traces:
        return ["no traces yet"]
    lines = [
        f"{status.traces:,} traces from {(status.oldest or '')[:10]} to {(status.newest or '')[:10]}; "
        f"{status.traces_last_day:,} in the last day, {status.traces_last_week:,} in the last week",
        f"{status.bytes_per_trace:,.0f} bytes a trace with everything about it; "
        f"grows by {_megabytes(status.bytes_per_day or 0)} a day at last week's rate",
    ]
    lines += [f"{query.mean_ms:.1f} ms × {query.calls:,}: {query.query}" for query in status.slow_queries or ()]
    if status.engine == "postgresql" and status.slow_queries is None:
        lines.append(
            "slow queries are not recorded: that takes pg_stat_statements in shared_preload_libraries, a restart, and "
            "CREATE EXTENSION pg_stat_statements"
        )
    return lines


def _megabytes(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"
