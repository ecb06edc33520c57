"""What an operator asks of the database, on both engines."""

from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import text

from evergold.cli.admin import _status_lines
from evergold.model.trace import Span, Trace
from evergold.settings import Settings
from evergold.store.facts import hold_lease
from evergold.workspace import Workspace

FLUSH = "SELECT pg_stat_force_next_flush()"


def test_status_gives_sizes_growth_and_age(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        assert workspace.operations.status().bytes_per_trace is None
        workspace.intake.accept([Trace(id=f"t{n}", input="a question", output="an answer") for n in range(50)])
        with hold_lease(workspace.store.db, "checks.backfill", "a check of all traces"):
            status = workspace.operations.status()
    assert [one.name for one in status.work] == ["checks.backfill"]
    assert (status.connections is None) == (status.engine == "sqlite")
    if status.connections is not None:
        assert 0 < status.connections.active <= status.connections.open <= status.connections.most
    assert status.engine in settings.database_url or status.engine == "sqlite"
    assert (status.traces, status.traces_last_day, status.traces_last_week) == (50, 50, 50)
    assert status.bytes > 10_000
    assert status.bytes_per_trace == round(status.bytes / 50, 1)
    assert "traces" in {table.name for table in status.tables if table.bytes}
    assert (status.newest or "")[:10] == datetime.now(UTC).date().isoformat()


def test_status_counts_the_rows_of_tables_that_were_never_analysed(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        workspace.intake.accept([Trace(id=f"t{n}", input="a question", output="an answer") for n in range(50)])
        if workspace.store.db.dialect == "postgresql":
            # Counts of what a session wrote are given to others a second later, or now.
            workspace.store.db.write(lambda connection: connection.execute(text(FLUSH)).close())
        status = workspace.operations.status()
    assert [one.rows for one in status.tables if one.name == "traces"] == [50]


# What the extension is where its library was not loaded: a view that answers every query with an error.
UNLOADED = """CREATE FUNCTION unloaded() RETURNS TABLE (dbid oid, query text, calls bigint, mean_exec_time float8,
    total_exec_time float8) LANGUAGE plpgsql AS
    $$BEGIN RAISE 'must be loaded via shared_preload_libraries' USING ERRCODE = '55000'; END$$;
    CREATE VIEW pg_stat_statements AS SELECT * FROM unloaded()"""


def test_status_is_given_where_the_extension_for_slow_queries_is_not_loaded(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        workspace.intake.accept([Trace(id="t", input="a question", output="an answer")])
        if workspace.store.db.dialect == "postgresql":
            workspace.store.db.write(lambda connection: connection.execute(text(UNLOADED)).close())
        status = workspace.operations.status()
    assert status.slow_queries is None
    assert any("shared_preload_libraries" in line for line in _status_lines(status)) == (status.engine == "postgresql")


def test_the_backlog_counts_what_waits_and_for_how_long(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        scored = Trace.model_validate({"id": "t", "input": "q", "output": "a", "scores": [{"name": "s", "value": 1.0}]})
        workspace.intake.accept([scored])
        backlog = workspace.operations.backlog()
        assert backlog is not None
        assert backlog.traces == 1
        assert backlog.lag_seconds >= 0
        workspace.live.curate()
        after = workspace.operations.backlog()
    assert after is not None
    assert (after.traces, after.lag_seconds) == (0, 0.0)


def test_status_is_given_while_a_table_is_locked_and_names_the_session(migrated_url: str, tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path, database_url=migrated_url)) as workspace:
        spans = [Span(id=f"{n:016x}", name="step") for n in range(3)]
        workspace.intake.accept([Trace(id="t", input="q", output="a", spans=tuple(spans))])
        workspace.store.db.write(lambda connection: connection.execute(text("ANALYZE")).close())
        with workspace.store.db.read() as holder:
            holder.execute(text("LOCK TABLE spans IN ACCESS EXCLUSIVE MODE"))
            status = workspace.operations.status()
            session = holder.execute(text("SELECT pg_backend_pid()")).scalar_one()
    assert [(one.name, one.session, one.program.split("/")[0]) for one in status.locked] == [
        ("spans", session, "evergold")
    ]
    assert [one.rows for one in status.tables if one.name == "spans"] == [3]
    (line,) = [line for line in _status_lines(status) if "locked" in line]
    assert line.startswith(f"spans is locked by session {session} (evergold/") and "pg_terminate_backend" in line
