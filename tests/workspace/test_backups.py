"""Backup and restore of a live workspace, on both databases and across them."""

import json
import os
import resource
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from evergold.errors import BadInput, Conflict, EvergoldError, NotFound, Refused, Unavailable
from evergold.formats.archive import ArchiveList
from evergold.machine import lock
from evergold.model.access import Role
from evergold.model.values import content_hash
from evergold.settings import Settings
from evergold.store.schema import metadata, traces
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace
from tests.cli.running import evergold
from tests.conftest import empty_database

LARGE = "A rather long answer. " * 200


@pytest.fixture
def other(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> Settings:
    """Another, empty workspace on the same kind of database."""
    url = ""
    if settings.database_url:
        opened = empty_database(request.getfixturevalue("postgres_server"))
        url = opened.__enter__()
        request.addfinalizer(lambda: opened.__exit__(None, None, None))
    return Settings(home=tmp_path / "other", database_url=url)


def fill(workspace: Workspace, out: Path | None = None) -> None:
    """Traces, cases, two builds (one outside the workspace), a token."""
    scored = [a_trace(f"t{number}", scores=[a_score()], session_id="s") for number in range(20)]
    workspace.intake.accept(scored)
    workspace.live.curate()
    workspace.builds.freeze_as("live")
    workspace.builds.freeze_as("live", out=out)
    workspace.access.add("ada", Role.READER)


def rows(settings: Settings) -> dict[str, list[Any]]:
    """Every row of every table, but for where builds lie."""
    with Workspace.open(settings) as workspace, workspace.store.db.read() as connection:
        found: dict[str, list[Any]] = {}
        for table in metadata.sorted_tables:
            columns = [column for column in table.c if column.name != "location"]
            found[table.name] = sorted(repr(tuple(row)) for row in connection.execute(select(*columns)))
    return found


def filled(settings: Settings, tmp_path: Path) -> Path:
    with Workspace.open(settings) as workspace:
        fill(workspace, tmp_path / "elsewhere")
        workspace.backups.write(tmp_path / "b.backup")
    return tmp_path / "b.backup"


def test_a_restored_workspace_has_every_row_and_every_build(
    settings: Settings, other: Settings, tmp_path: Path
) -> None:
    file = filled(settings, tmp_path)
    report = Workspace(other).backups.restore(file)
    assert (report.rows["traces"], report.builds, report.missing) == (20, ["live v1", "live v2"], [])
    assert rows(other) == rows(settings)
    with Workspace.open(other) as workspace:
        for version in ("v1", "v2"):
            assert workspace.rag.verify(workspace.builds.files("live", version)["manifest.json"]).failed == []
            assert all(
                path.is_relative_to(other.home.resolve()) for path in workspace.builds.files("live", version).values()
            )
        workspace.intake.accept([a_trace("later")])
        assert workspace.builds.next_version("live") == "v3"


def test_what_was_acknowledged_before_the_start_is_in_a_backup_made_during_intake(
    settings: Settings, other: Settings, tmp_path: Path
) -> None:
    acknowledged: list[str] = []
    stop, many = threading.Event(), threading.Event()
    with Workspace.open(settings) as workspace:

        def send() -> None:
            number = 0
            while not stop.is_set():
                ids = [f"t{number + at}" for at in range(20)]
                workspace.intake.accept([a_trace(one, output=LARGE) for one in ids])
                acknowledged.extend(ids)
                number += 20
                if number >= 200:
                    many.set()

        sender = threading.Thread(target=send)
        sender.start()
        many.wait(60)
        before = set(acknowledged)
        workspace.backups.write(tmp_path / "b.backup")
        stop.set()
        sender.join()
    Workspace(other).backups.restore(tmp_path / "b.backup")
    with Workspace.open(other) as workspace, workspace.store.db.read() as connection:
        stored = list(connection.execute(select(traces.c.id)).scalars())
        assert connection.execute(select(func.count()).select_from(traces)).scalar_one() == len(set(stored))
    assert before <= set(stored)


@pytest.mark.parametrize("direction", ["sqlite to postgres", "postgres to sqlite"])
def test_each_database_takes_the_backup_of_the_other(direction: str, postgres_url: str, tmp_path: Path) -> None:
    first, second = Settings(home=tmp_path / "a"), Settings(home=tmp_path / "b", database_url=postgres_url)
    if direction.startswith("postgres"):
        first, second = second, first
    file = filled(first, tmp_path)
    Workspace(second).backups.restore(file)
    assert rows(second) == rows(first)
    with Workspace.open(second) as workspace:
        workspace.intake.accept([a_trace("later")])  # numbers go on after the highest


def test_a_workspace_with_data_is_left_alone_or_replaced(settings: Settings, other: Settings, tmp_path: Path) -> None:
    file = filled(settings, tmp_path)
    with Workspace.open(other) as workspace:
        workspace.intake.accept([a_trace("mine", scores=[a_score()])])
        workspace.live.curate()
        workspace.builds.freeze_as("live")
        held = workspace.builds.folder_of("live", "v1")
    before = rows(other)
    with pytest.raises(Refused, match=r"holds data .*--replace"):
        Workspace(other).backups.restore(file)
    assert rows(other) == before and held.is_dir()
    Workspace(other).backups.restore(file, replace=True)
    assert rows(other) == rows(settings)
    with Workspace.open(other) as workspace:
        assert workspace.rag.verify(workspace.builds.files("live", "v1")["manifest.json"]).failed == []
    assert len(list((other.home / "builds" / "live").iterdir())) == 2, "the build of the replaced workspace is gone"


def test_a_workspace_in_use_is_left_alone(settings: Settings, tmp_path: Path) -> None:
    """Used by another process: PostgreSQL tells sessions apart by it."""
    file = filled(settings, tmp_path)
    environment = {"EVERGOLD_HOME": str(settings.home), "EVERGOLD_DATABASE_URL": settings.database_url}
    with Workspace.open(settings) as workspace, workspace.store.db.read() as connection:
        connection.execute(select(func.count()).select_from(traces))
        ran = evergold("restore", str(file), "--replace", cwd=tmp_path, **environment)
    assert ran.code == 2 and "in use" in ran.err and "stop the server" in ran.err, ran


def damaged(file: Path) -> Iterator[tuple[str, bytes]]:
    raw = file.read_bytes()
    yield "cut off", raw[: len(raw) // 2]
    yield "empty", b""
    yield "other bytes in the middle", raw[:5000] + bytes(64) + raw[5064:]
    yield "no zip", b"traces\n" * 1000


def test_a_damaged_backup_changes_nothing(tmp_path: Path) -> None:
    file = filled(Settings(home=tmp_path / "home"), tmp_path)
    other = Settings(home=tmp_path / "other")
    for what, content in damaged(file):
        (tmp_path / "bad.backup").write_bytes(content)
        for call in (Workspace(other).backups.restore, Workspace(other).backups.check):
            with pytest.raises(BadInput, match="another copy"):
                call(tmp_path / "bad.backup")
                pytest.fail(what)
    assert not (other.home / "evergold.db").exists() and not (other.home / "builds").exists()


def rewritten(file: Path, change: dict[str, Any]) -> Path:
    """A copy whose list says something else, with a hash that fits."""
    target = file.with_name("changed.backup")
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(target, "w") as copy:
        listed = json.loads(source.read("backup.json"))
        for name in source.namelist():
            if name != "backup.json":
                copy.writestr(name, source.read(name))
        whole = ArchiveList.of([], {**listed["about"], **change.pop("about", {})}).model_dump(by_alias=True)
        whole["parts"] = listed["parts"]
        whole |= change
        content = {key: value for key, value in whole.items() if key != "hash"}
        copy.writestr("backup.json", json.dumps({**content, "hash": content_hash(content)}))
    return target


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": 2}, "has format 2, this program reads format 1"),
        ({"about": {"schema": "9999"}}, "has schema 9999, newer than this program knows"),
        ({"about": {"schema": "0013"}}, r"has schema 0013, older than .* \(0018\); open or restore it once with"),
        ({"parts": [{"name": "../x", "bytes": 1, "sha256": "0"}]}, "lies outside"),
        ({"parts": [{"name": "gone", "bytes": 1, "sha256": "0"}]}, "'gone' is missing"),
        (
            {"about": {"builds": [{"dataset": "d", "version": "v", "path": "../../x", "location": "."}]}},
            "outside the workspace",
        ),
    ],
)
def test_a_backup_of_another_version_or_hand_is_refused(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    file = rewritten(filled(Settings(home=tmp_path / "home"), tmp_path), change)
    with pytest.raises(BadInput, match=says):
        Workspace(Settings(home=tmp_path / "other")).backups.restore(file)
    assert not (tmp_path / "other" / "evergold.db").exists()


def test_a_file_that_is_no_backup_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with Workspace.open(Settings(home=tmp_path / "home")) as workspace, pytest.raises(Refused, match="is no backup"):
        workspace.backups.write(tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_second_backup_takes_the_place_of_the_first(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path / "home")) as workspace:
        first = workspace.backups.write(tmp_path / "b.backup")
        workspace.intake.accept([a_trace("t1")])
        second = workspace.backups.write(tmp_path / "b.backup")
    assert (first.rows["traces"], second.rows["traces"]) == (0, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.backup", "home"]
    assert os.stat(tmp_path / "b.backup").st_mode & 0o777 == 0o600


def test_a_build_whose_files_are_gone_is_named(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path / "home")) as workspace:
        fill(workspace, tmp_path / "elsewhere")
        for path in (tmp_path / "elsewhere").iterdir():
            path.unlink()
        report = workspace.backups.write(tmp_path / "b.backup")
    assert report.builds == ["live v1"] and len(report.missing) == 1 and "live v2" in report.missing[0]


def test_a_damaged_database_is_put_aside_and_replaced(tmp_path: Path) -> None:
    home = tmp_path / "home"
    file = filled(Settings(home=home), tmp_path)
    (home / "evergold.db").write_bytes(b"no database at all" * 500)
    with pytest.raises(Refused, match="damaged; --replace"):
        Workspace(Settings(home=home)).backups.restore(file)
    Workspace(Settings(home=home)).backups.restore(file, replace=True)
    assert len(rows(Settings(home=home))["traces"]) == 20
    assert (home / "evergold.db.damaged").read_bytes().startswith(b"no database")


def test_a_damaged_database_is_not_backed_up(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Workspace.open(Settings(home=home)) as workspace:
        workspace.intake.accept([a_trace(f"t{number}", output=LARGE) for number in range(200)])
    raw = bytearray((home / "evergold.db").read_bytes())
    raw[len(raw) // 2 : len(raw) // 2 + 50_000] = b"\xff" * 50_000
    (home / "evergold.db").write_bytes(raw)
    with Workspace.open(Settings(home=home)) as workspace, pytest.raises(Unavailable, match="damaged"):
        workspace.backups.write(tmp_path / "b.backup")
    assert not (tmp_path / "b.backup").exists()


def test_settings_and_undelivered_records_travel_along(tmp_path: Path) -> None:
    config = tmp_path / "evergold.toml"
    config.write_text('[curation]\npolicies = ["p.toml"]\n')
    policy = Path(__file__).parents[2] / "examples" / "support-policy.toml"
    settings = Settings(home=tmp_path / "home", file=config, curation_policies=(str(policy),))
    spooled = settings.home / "spool" / "app" / "1.jsonl"
    spooled.parent.mkdir(parents=True)
    spooled.write_text('{"id": "t1"}\n')
    with Workspace.open(settings) as workspace:
        workspace.backups.write(tmp_path / "b.backup")
    other = Settings(home=tmp_path / "other")
    Workspace(other).backups.restore(tmp_path / "b.backup")
    assert (other.home / "restored-settings" / "evergold.toml").read_text() == config.read_text()
    assert (other.home / "restored-settings" / policy.name).read_text() == policy.read_text()
    assert (other.home / "spool" / "app" / "1.jsonl").read_text() == '{"id": "t1"}\n'


def test_the_commands_print_what_they_did(tmp_path: Path) -> None:
    assert evergold("backup", "b.backup", "--json", cwd=tmp_path).json["rows"]["traces"] == 0
    assert evergold("restore", "b.backup", "--check", cwd=tmp_path).out.startswith("whole: b.backup")
    assert evergold("--home", "new", "restore", "b.backup", "--json", cwd=tmp_path).json["database"] == "sqlite"
    ran = evergold("restore", "nothing", cwd=tmp_path)
    assert (ran.code, ran.err) == (2, "evergold: no backup at 'nothing'\n")


def test_a_full_disk_is_one_line_and_leaves_no_file(tmp_path: Path) -> None:
    """A limit on the size of files is what a full disk looks like."""
    with Workspace.open(Settings(home=tmp_path / "home")) as workspace:
        workspace.intake.accept([a_trace(f"t{number}", output=LARGE * 5) for number in range(100)])
    command = [str(Path(sys.executable).parent / "evergold"), "--home", "home", "backup", "b.backup"]
    limit = 300_000
    ran = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert ran.returncode == 2 and len(ran.stderr.splitlines()) == 1, ran.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home"]


def test_a_name_that_is_a_folder_or_missing_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no backup at"):
        Workspace(Settings(home=tmp_path / "home")).backups.restore(tmp_path / "nothing")
    with pytest.raises(EvergoldError):
        Workspace(Settings(home=tmp_path / "home")).backups.check(tmp_path)


def test_two_restores_at_once_are_refused(tmp_path: Path) -> None:
    file = filled(Settings(home=tmp_path / "home"), tmp_path)
    (tmp_path / "other").mkdir()
    with (tmp_path / "other" / ".restoring").open("wb") as held, pytest.raises(Conflict, match="another restore"):
        lock(held)
        Workspace(Settings(home=tmp_path / "other")).backups.restore(file)
