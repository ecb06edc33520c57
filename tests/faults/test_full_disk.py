"""A target on a disk that fills: one line, no half-written file, nothing deleted; the same call works when there is room."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evergold.errors import EvergoldError
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter
from evergold.workspace import Workspace
from tests.builders import a_case, a_trace
from tests.faults.postgres import filled, small_disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", 4) as mounted:
        if not mounted:
            pytest.skip("this user may not mount a small disk")
        yield tmp_path / "disk"


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(Settings(home=tmp_path / "home")) as opened:
        opened.cases.put([a_case(f"c{number}", dataset="mine") for number in range(3)])
        opened.intake.accept([a_trace("t1", started_at=datetime(2026, 1, 1, tzinfo=UTC))])
        yield opened


Write = Callable[[Workspace, Path], object]


def an_export(format_name: str) -> Write:
    return lambda workspace, path: workspace.cases.export(CaseFilter(dataset="mine"), format_name, path)


WRITES: dict[str, Write] = {
    "mine.jsonl": an_export("live-jsonl"),
    "mine.parquet": an_export("parquet"),
    "backup.zip": lambda workspace, path: workspace.backups.write(path),
    "archive": lambda workspace, path: workspace.archives.move("1d", path),
}


@pytest.mark.parametrize("name", WRITES)
def test_nothing_is_half_written(workspace: Workspace, disk: Path, name: str) -> None:
    write, target = WRITES[name], disk / name
    with filled(disk):
        with pytest.raises(EvergoldError, match=r"[Nn]o space left on device|full") as caught:
            write(workspace, target)
        assert "\n" not in caught.value.message
        assert [path.name for path in disk.rglob("*") if path.is_file()] == ["filler"]
        assert workspace.intake.get("t1").id == "t1"
    write(workspace, target)
    assert any(path.is_file() for path in (target, *target.rglob("*")))
