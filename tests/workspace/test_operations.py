"""What an operator asks of the database, on both engines."""

from datetime import UTC, datetime

from evergold.model.trace import Trace
from evergold.settings import Settings
from evergold.store.leases import leased
from evergold.workspace import Workspace


def test_status_gives_sizes_growth_and_age(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        assert workspace.operations.status().bytes_per_trace is None
        workspace.intake.accept([Trace(id=f"t{n}", input="a question", output="an answer") for n in range(50)])
        with leased(workspace.store.db, "checks.backfill", "a check of all traces"):
            status = workspace.operations.status()
    assert [one.name for one in status.work] == ["checks.backfill"]
    assert (status.connections is None) == (status.engine == "sqlite")
    if status.connections is not None:
        assert 0 < status.connections.active <= status.connections.open <= status.connections.most
        kept, today = status.partitions
        assert kept.day is None and today.day == datetime.now(UTC).date().isoformat() and today.bytes > 0
        assert sum(one.bytes for one in status.tables if one.name == "spans") == kept.bytes + today.bytes
    assert status.engine in settings.database_url or status.engine == "sqlite"
    assert (status.traces, status.traces_last_day, status.traces_last_week) == (50, 50, 50)
    assert status.bytes > 10_000
    assert status.bytes_per_trace == round(status.bytes / 50, 1)
    assert "traces" in {table.name for table in status.tables if table.bytes}
    assert (status.newest or "")[:10] == datetime.now(UTC).date().isoformat()


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
