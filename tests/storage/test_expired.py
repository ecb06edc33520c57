"""Credentials that expire in the middle of a verb, after each of its requests in turn: one line, nothing half-written is
seen, and the same verb with fresh credentials does the work."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evergold.errors import Unavailable
from evergold.settings import Settings
from evergold.storage import find_matching, location
from evergold.store.case.cases import CaseFilter
from evergold.store.trace.filter import TraceFilter
from evergold.workspace import Workspace
from tests.builders import a_case, a_trace
from tests.storage.conftest import BUCKET, point_at, stored
from tests.storage.expiring_proxy import ExpiringProxy

ROOT = f"s3://{BUCKET}"
MANY = 50  # requests, more than any verb here sends


@pytest.fixture
def expiring(s3: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ExpiringProxy]:
    with ExpiringProxy(int(s3.rsplit(":", 1)[1])) as proxy:
        point_at(monkeypatch, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("FSSPEC_S3_DEFAULT_BLOCK_SIZE", str(5 << 20))
        yield proxy


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(Settings(home=tmp_path / "home")) as opened:
        yield opened


def tries(proxy: ExpiringProxy, verb: Callable[[], Any], check: Callable[[], None]) -> int:
    """Do a verb with credentials for no request, for one, for two, until they are enough; how many tries failed."""
    for requests in range(MANY):
        proxy.expire_after(requests)
        try:
            verb()
        except Unavailable as problem:
            assert f"{ROOT}/" in problem.message and "\n" not in problem.message
            assert "check the credentials" in problem.message, problem.message
        else:
            proxy.renew()
            return requests
        proxy.renew()
        check()
    raise AssertionError("never enough")


def ids(workspace: Workspace) -> set[str]:
    return {trace.id for trace in workspace.intake.page(TraceFilter(), limit=99)[0]}


def test_traces_that_are_read(expiring: ExpiringProxy, workspace: Workspace) -> None:
    lines = [json.dumps({"type": "trace", "id": f"t{number}", "input": "Q"}) + "\n" for number in range(30)]
    for part in range(2):
        location(f"{ROOT}/in/{part}.jsonl").write_text("".join(lines[part::2]))

    def whole_files() -> None:
        assert len(ids(workspace)) % 15 == 0

    assert tries(expiring, lambda: workspace.intake.ingest(find_matching(f"{ROOT}/in/*")), whole_files) > 3
    assert len(ids(workspace)) == 30


def test_an_export_and_a_backup_that_are_written(expiring: ExpiringProxy, workspace: Workspace) -> None:
    workspace.cases.put([a_case(f"c{number}", dataset="mine") for number in range(3)])
    export, backup = location(f"{ROOT}/mine.jsonl"), location(f"{ROOT}/backup.zip")

    def nothing() -> None:
        assert stored() == set()

    assert tries(expiring, lambda: workspace.cases.export(CaseFilter(dataset="mine"), "live-jsonl", export), nothing)
    assert len(export.read_text().splitlines()) == 3
    export.unlink()

    def nothing_or_whole() -> None:
        """Credentials may also expire after the upload is completed, while the file is looked at again."""
        assert not stored() or workspace.backups.check(backup).rows["eval_dataset"] == 3

    assert tries(expiring, lambda: workspace.backups.write(backup), nothing_or_whole)
    assert workspace.backups.check(backup).rows["eval_dataset"] == 3


def test_an_archive_that_is_written(expiring: ExpiringProxy, workspace: Workspace) -> None:
    """Whatever was uploaded, a trace stays in the workspace until its archive is complete; no trace is in neither."""
    old = datetime(2026, 1, 1, tzinfo=UTC)
    workspace.intake.accept(a_trace(f"t{day}", started_at=old + timedelta(days=day)) for day in range(2))

    def all_somewhere() -> None:
        missing = {"t0", "t1"} - ids(workspace)
        days = list(workspace.archives.verify(f"{ROOT}/archive")) if missing else []
        # Each trace has a day of its own.
        assert len(missing) <= len(days) and all(day.traces and not day.problems for day in days)

    assert tries(expiring, lambda: workspace.archives.move("1d", f"{ROOT}/archive"), all_somewhere) > 3
    assert ids(workspace) == set()
    assert workspace.archives.restore("2026-01-01", f"{ROOT}/archive") == 1
