"""Builds that a server makes: large ones hold up neither an answer nor its end, and nothing half-written is seen.

A manifest that is a pipe makes a build as slow as a disk that hangs: it waits there until somebody writes into the pipe.
"""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from evergold.build import served as module
from evergold.build.snapshot import SnapshotSpec
from evergold.errors import Conflict, NotFound, Unavailable
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.builders import a_case
from tests.patience import PATIENCE

AT_ONCE = 0.0


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(Settings(home=tmp_path / "home")) as opened:
        opened.cases.put(a_case(f"c{n}", input=f"Question {n}") for n in range(4))
        yield opened


def held(spec: SnapshotSpec) -> Path:
    """Make the build of this spec wait before it writes; return the pipe."""
    spec.out.mkdir(parents=True)
    os.mkfifo(spec.manifest)
    return spec.manifest


def let_go(pipe: Path) -> None:
    """Let the build see a manifest that is none; with `force` it goes on and replaces it."""
    pipe.write_bytes(b"{}")


def forced(workspace: Workspace, **options: Any) -> SnapshotSpec:
    return workspace.builds.spec_of("live", "v1", force=True, **options)


def test_a_quick_build_is_answered_whole(workspace: Workspace) -> None:
    build = workspace.served_builds.freeze(workspace.builds.spec_of("live"), PATIENCE)
    assert build is not None
    assert workspace.served_builds.get("live", "v1") == build == workspace.builds.get("live", "v1")


def test_a_slow_build_goes_on_after_the_answer_and_the_same_request_waits_for_it(workspace: Workspace) -> None:
    spec = forced(workspace)
    pipe = held(spec)
    assert workspace.served_builds.freeze(spec, AT_ONCE) is None
    assert workspace.served_builds.freeze(spec, AT_ONCE) is None
    with pytest.raises(NotFound, match="is being built"):
        workspace.served_builds.get("live", "v1")
    assert workspace.builds.versions("live") == []
    assert [path.name for path in spec.out.iterdir()] == ["manifest.json"]
    with pytest.raises(Conflict, match="with other options"):
        workspace.served_builds.freeze(forced(workspace, seed=9), AT_ONCE)
    let_go(pipe)
    build = workspace.served_builds.freeze(spec, PATIENCE)
    assert build is not None
    assert workspace.builds.versions("live") == [build]


def test_why_a_build_failed_after_the_answer_is_kept(workspace: Workspace) -> None:
    spec = workspace.builds.spec_of("live", "v1")
    pipe = held(spec)
    assert workspace.served_builds.freeze(spec, AT_ONCE) is None
    let_go(pipe)
    with pytest.raises(Conflict, match="holds another build"):
        workspace.served_builds.freeze(spec, PATIENCE)
    with pytest.raises(NotFound, match="v1"):
        workspace.served_builds.get("live", "v1")


def test_no_more_than_some_builds_run_at_once(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_AT_ONCE", 1)
    spec = forced(workspace)
    pipe = held(spec)
    assert workspace.served_builds.freeze(spec, AT_ONCE) is None
    with pytest.raises(Unavailable, match="1 builds are under way"):
        workspace.served_builds.freeze(workspace.builds.spec_of("live", "v2"), AT_ONCE)
    let_go(pipe)
    assert workspace.served_builds.freeze(spec, PATIENCE) is not None
    assert workspace.served_builds.freeze(workspace.builds.spec_of("live", "v2"), PATIENCE) is not None


def test_requests_for_the_same_build_share_it(workspace: Workspace) -> None:
    spec = workspace.builds.spec_of("live")
    with ThreadPoolExecutor(8) as callers:
        made = list(callers.map(lambda _: workspace.served_builds.freeze(spec, PATIENCE), range(8)))
    assert {build.version for build in made if build} == {"v1"}
    assert len(made) == 8 and None not in made


def test_a_stopped_server_leaves_a_build_out_whole(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STOP_SECONDS", 0.0)
    spec = forced(workspace)
    pipe = held(spec)
    assert workspace.served_builds.freeze(spec, AT_ONCE) is None
    with pipe.open("wb") as end:  # opens once the build reads
        workspace.served_builds.stop()
        end.write(b"{}")
    with pytest.raises(Unavailable, match="the server is ending"):
        workspace.served_builds.freeze(spec, PATIENCE)
    assert workspace.builds.versions("live") == []
    assert [path.name for path in spec.out.iterdir()] == ["manifest.json"]


def test_a_stop_is_seen_between_two_cases(workspace: Workspace) -> None:
    seen = threading.Event()

    def stop_at_the_second_case() -> None:
        if seen.is_set():
            raise Unavailable("ending")
        seen.set()

    with pytest.raises(Unavailable, match="ending"):
        workspace.builds.freeze(workspace.builds.spec_of("live"), stop_at_the_second_case)
    assert workspace.builds.versions("live") == []
    assert not workspace.builds.folder_of("live", "v1").exists()
