"""Who may read the files of a workspace: its owner, whatever the umask says; its group where it is shared."""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import evergold as eg
from evergold.errors import BadInput
from evergold.settings import Settings, load_settings
from evergold.workspace import Workspace
from tests.api.serving import calling, served
from tests.builders import a_score, a_trace
from tests.cli.running import evergold

pytestmark = pytest.mark.skipif(os.name != "posix", reason="this system has no file modes")


@pytest.fixture(autouse=True)
def no_umask(tmp_path: Path) -> Iterator[int]:
    """Nothing is taken away from the mode that a program asks for, and the folder is open to everybody."""
    tmp_path.chmod(0o755)
    before = os.umask(0)
    yield before
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    """Each file below a folder, and the folder, whose mode is not that of a private workspace."""
    paths = {path: stat.S_IMODE(path.lstat().st_mode) for path in (folder, *folder.rglob("*"))}
    return {str(path): oct(mode) for path, mode in paths.items() if mode != (0o700 if path.is_dir() else 0o600)}


def a_workspace(home: Path, mode: str = "private") -> Workspace:
    """A workspace with a trace, a case and a build."""
    workspace = Workspace.open(Settings(home=home, files_mode=mode))
    workspace.intake.accept([a_trace("t1", scores=[a_score()])])
    workspace.live.curate()
    workspace.builds.freeze_as("live")
    return workspace


def open_to_all(home: Path) -> None:
    """Give a workspace the modes that earlier versions gave it."""
    for path in (home, *home.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_what_commands_make_is_for_the_owner_alone(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"type": "trace", "id": "t1", "input": "a", "output": "b"}\n')
    assert evergold("ingest", "in.jsonl", cwd=tmp_path).code == 0
    assert evergold("curate", cwd=tmp_path).code == 0
    assert evergold("export", "live", "--out", ".evergold/out/live.jsonl", cwd=tmp_path).code == 0
    assert evergold("backup", "kept/all.backup", cwd=tmp_path).code == 0
    assert modes(tmp_path / ".evergold") == {}
    assert stat.S_IMODE((tmp_path / "kept/all.backup").stat().st_mode) == 0o600


def test_what_a_server_makes_is_for_the_owner_alone(tmp_path: Path) -> None:
    with served(tmp_path) as url, calling(url) as client:
        trace = {"id": "t1", "input": "a", "output": "b"}
        assert client.post("/api/v1/traces", json=[trace]).is_success
        assert {path.name for path in (tmp_path / ".evergold").iterdir()} >= {"evergold.db", "evergold.db-wal"}
        assert modes(tmp_path / ".evergold") == {}


def test_the_open_workspace_of_an_earlier_version_is_closed_and_that_is_said_once(tmp_path: Path) -> None:
    a_workspace(tmp_path / ".evergold").close()
    open_to_all(tmp_path / ".evergold")
    first, second = (evergold("traces", "list", cwd=tmp_path) for _ in range(2))
    assert first.err.count("open to other users") == 1 and len(first.err.splitlines()) == 1
    assert 'files.mode = "shared"' in first.err and second.err == ""
    assert modes(tmp_path / ".evergold") == {}


@pytest.mark.parametrize("name", ["evergold.db", "builds"])
def test_one_open_file_in_a_closed_folder_is_closed(tmp_path: Path, name: str) -> None:
    a_workspace(tmp_path / "home").close()
    (tmp_path / "home" / name).chmod(0o755)
    Workspace.open(Settings(home=tmp_path / "home")).close()
    assert stat.S_IMODE((tmp_path / "home" / name).stat().st_mode) == 0o700


def test_a_database_elsewhere_is_closed_and_its_folder_is_not_ours(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", database_url=str(tmp_path / "mine.db"))
    Workspace.open(settings).close()
    assert stat.S_IMODE((tmp_path / "mine.db").stat().st_mode) == 0o600
    (tmp_path / "mine.db").chmod(0o644)
    with Workspace.open(settings):
        found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("mine.db*")}
    assert set(found.values()) == {0o600} and "mine.db-wal" in found
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_folder_that_people_work_in_stays_open_but_for_what_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "script.sh").touch(0o755)
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    a_workspace(tmp_path).close()
    assert stat.S_IMODE((tmp_path / "script.sh").stat().st_mode) == 0o755
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in (".", "src")] == [0o755, 0o777]
    assert (modes(tmp_path / "builds"), oct((tmp_path / "evergold.db").stat().st_mode)[-3:]) == ({}, "600")


def test_a_link_out_of_the_workspace_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").touch(0o644)
    a_workspace(tmp_path / "home").close()
    (tmp_path / "home/link").symlink_to(outside)
    (tmp_path / "home").chmod(0o755)
    Workspace.open(Settings(home=tmp_path / "home")).close()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (outside, outside / "a.txt")] == [0o777, 0o644]


def test_a_shared_workspace_is_open_to_its_group_and_to_nobody_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    a_workspace(tmp_path / "home").close()  # private so far
    with a_workspace(tmp_path / "home", "shared") as workspace:
        workspace.backups.write(tmp_path / "home/kept/all.backup")
        for path in (tmp_path / "home", *(tmp_path / "home").rglob("*")):
            wanted = 0o2770 if path.is_dir() else 0o660
            assert stat.S_IMODE(path.stat().st_mode) == wanted, path
    assert caplog.text == ""
    Workspace.open(Settings(home=tmp_path / "home")).close()
    assert modes(tmp_path / "home") == {} and "open to other users" in caplog.text


def test_an_unmanaged_workspace_keeps_its_modes(tmp_path: Path) -> None:
    a_workspace(tmp_path / "home").close()
    open_to_all(tmp_path / "home")
    Workspace.open(Settings(home=tmp_path / "home", files_mode="unmanaged")).close()
    assert oct((tmp_path / "home/evergold.db").stat().st_mode)[-3:] == "644"


@pytest.mark.parametrize("mode", ["private", "shared"])
def test_a_restored_workspace_has_the_modes_of_its_setting(tmp_path: Path, mode: str) -> None:
    with a_workspace(tmp_path / "home") as workspace:
        (tmp_path / "home/spool/s").mkdir(parents=True)
        (tmp_path / "home/spool/s/1.jsonl").write_text("{}\n")
        workspace.backups.write(tmp_path / "all.backup")
    (tmp_path / "all.backup").chmod(0o644)
    shutil.copy(tmp_path / "home/evergold.db", tmp_path / "evergold.db")
    settings = Settings(home=tmp_path / "other", files_mode=mode)
    Workspace(settings).backups.restore(tmp_path / "all.backup")
    assert (tmp_path / "other/spool/s/1.jsonl").exists() and (tmp_path / "other/builds/live/v1").is_dir()
    extra = 0 if mode == "private" else 0o2070
    for path in (tmp_path / "other", *(tmp_path / "other").rglob("*")):
        wanted = 0o700 | extra if path.is_dir() else 0o600 | extra & 0o060
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path


def test_a_backup_over_an_open_file_is_closed(tmp_path: Path) -> None:
    with a_workspace(tmp_path / "home") as workspace:
        workspace.backups.write(tmp_path / "all.backup")
        (tmp_path / "all.backup").chmod(0o644)
        workspace.backups.write(tmp_path / "all.backup")
    assert stat.S_IMODE((tmp_path / "all.backup").stat().st_mode) == 0o600


def test_what_the_sdk_spools_is_for_the_owner_alone(tmp_path: Path) -> None:
    client = eg.connect("http://127.0.0.1:9", home=str(tmp_path / "app/home"))
    with client.trace(input="May I return boots?") as trace:
        trace.output = "Yes."
    client.close()
    assert list((tmp_path / "app/home/spool").rglob("*.jsonl")) and modes(tmp_path / "app") == {}


def test_reports_and_logs_of_runs_are_for_the_owner_alone_and_exports_for_whom_the_umask_says(
    tmp_path: Path, no_umask: int
) -> None:
    with a_workspace(tmp_path / ".evergold"):
        pass
    words = ("--model", "recorded", "--metric", "exact_match", "--log", "log.jsonl", "--json")
    ran = evergold("run", "live", *words, cwd=tmp_path)
    assert ran.code in (0, 1), ran.err
    run_id = ran.json["run"]["id"]
    assert evergold("report", run_id, "--out", "seen/report.html", cwd=tmp_path).code == 0
    assert evergold("export", "live", "--out", "live.jsonl", cwd=tmp_path).code == 0
    found = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("log.jsonl", "seen/report.html")}
    assert found == {"log.jsonl": 0o600, "seen/report.html": 0o600}
    # The command may run in a process that was started with the umask of the tests.
    assert stat.S_IMODE((tmp_path / "live.jsonl").stat().st_mode) in (0o666, 0o666 & ~no_umask)


def test_a_mode_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"files.mode = 'open' is not a file mode: use private, shared, unmanaged"):
        load_settings({"files.mode": "open"}, environ={}, folder=tmp_path)
