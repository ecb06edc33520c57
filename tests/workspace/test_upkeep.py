"""A server's upkeep of PostgreSQL: the partition of the day is begun beside everything else, and a failure ends nothing."""

import logging
from pathlib import Path

import pytest

from evergold.errors import Unavailable
from evergold.settings import Settings
from evergold.store.partitions import days
from evergold.store.partitions.ranges import span_ranges
from evergold.workspace import Workspace, upkeep
from tests.patience import PATIENCE


def looked(workspace: Workspace) -> None:
    """Let the thread look until it is told to stop."""
    watching = upkeep.Upkeep(workspace.store)
    watching.start()
    watching._stopping.set()
    watching._thread.join(PATIENCE)


def test_a_server_begins_the_day(migrated_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Workspace.open(Settings(home=tmp_path, database_url=migrated_url)) as workspace:
        monkeypatch.setattr(days, "todays_name", lambda _: "spans_2999_01_01")
        looked(workspace)
        with workspace.store.db.read() as connection:
            assert span_ranges(connection)[-1].day == "2999-01-01"


def test_a_lasting_fault_is_logged_once(
    migrated_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tried = []

    def fails(_: object) -> bool:
        tried.append(1)
        if len(tried) == 8:
            watching._stopping.set()
        raise Unavailable("the tables are locked")

    monkeypatch.setattr(days, "begin_today", fails)
    monkeypatch.setattr(upkeep, "AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(upkeep, "LOOK_SECONDS", 0.0)
    with Workspace.open(Settings(home=tmp_path, database_url=migrated_url)) as workspace:
        watching = upkeep.Upkeep(workspace.store)
        with caplog.at_level(logging.WARNING, "evergold.upkeep"):
            watching.start()
            watching._thread.join(PATIENCE)
    assert [record.getMessage() for record in caplog.records if record.name == "evergold.upkeep"] == [
        "no partition could be begun for today's spans; it is tried every minute: the tables are locked"
    ]
