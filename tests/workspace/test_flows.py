"""Extraction into a folder, again and again: incremental, atomic, locked."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from evergold.errors import BadInput, Conflict, NotFound
from evergold.extract.run import Extraction, Summary, extract_sidekick
from evergold.formats.dataset_pair import lock_pair
from evergold.sources.sidekick import SidekickSource
from tests.repos import GitRepo, numbered
from tests.sidekick_db import SidekickDb

A = "dataset_a_file_paths.unvalidated.jsonl"
B = "dataset_b_line_ranges.unvalidated.jsonl"


class World:
    """A repository with a merged branch, and the database that recorded the work."""

    def __init__(self, folder: Path) -> None:
        self.out = folder / "out"
        self.repo = GitRepo(folder / "repo")
        self.repo.commit({"f.py": numbered(30)})
        self.base = self.repo.git("rev-parse", "HEAD").strip()
        self.repo.branch("side/feat")
        self.repo.commit({"f.py": numbered(30, l10="ten")})
        self.diff = self.repo.diff(self.base, "HEAD")
        self.repo.switch("main")
        self.repo.merge("side/feat", "--no-ff")
        self.db = SidekickDb(folder / "db", repo_dir=str(self.repo.path))
        self.db.task()
        self.db.flow()

    def case(self, flow: str = "flow", query: str = "Add it") -> str:
        self.db.action("ranked_repo_summary", {"rankQuery": query}, flow_id=flow)
        return self.db.approval(self.diff, flow_id=flow)

    def extract(self, repo_dir: Path | None = None, full: bool = False) -> Summary:
        return extract_sidekick(SidekickSource("ws", self.db.path), Extraction(self.out, full), repo_dir)

    def rows(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.out / name).read_text().splitlines()]

    def state(self) -> dict[str, bytes]:
        return {name: (self.out / name).read_bytes() for name in (A, B)}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_case_from_database_and_repository(world: World) -> None:
    case_id = world.case()
    summary = world.extract()
    assert (summary.counts["new"], summary.needs_query, summary.needs_base_commit, summary.remarks) == (1, {}, {}, [])
    (a,), (b,) = world.rows(A), world.rows(B)
    assert a["caseId"] == b["caseId"] == case_id
    assert a["baseCommit"] == b["baseCommit"] == world.base
    assert a["filePaths"] == [{"path": "f.py", "sources": ["review_merge_diff"], "changeType": "modified"}]
    (found,) = b["lineRanges"]
    assert (found["path"], found["startLine"], found["endLine"]) == ("f.py", 10, 10)
    assert found["blobSha"] == world.repo.git("rev-parse", f"{world.base}:f.py").strip()
    assert list(a)[:9] == [
        "workspaceId",
        "taskId",
        "flowId",
        "caseId",
        "caseIndex",
        "query",
        "baseCommit",
        "needsQuery",
        "needsBaseCommit",
    ]


def test_a_second_run_skips_what_is_known_and_touches_nothing(world: World) -> None:
    world.case()
    world.extract()
    before = world.state()
    times = [os.stat(world.out / name).st_mtime_ns for name in (A, B)]
    summary = world.extract()
    assert (summary.counts["known"], summary.counts["new"]) == (1, 0)
    assert world.state() == before and [os.stat(world.out / name).st_mtime_ns for name in (A, B)] == times


def test_new_cases_are_added_after_the_old_lines(world: World) -> None:
    world.case()
    world.extract()
    before = world.state()
    world.db.flow("next")
    world.case("next")
    assert world.extract().counts["new"] == 1
    assert all(after.startswith(before[name]) for name, after in world.state().items())
    assert [row["flowId"] for row in world.rows(B)] == ["flow", "next"]


def test_a_case_in_one_file_only_is_completed_in_the_other(world: World) -> None:
    world.case()
    world.extract()
    before = world.state()
    (world.out / B).write_bytes(b"")
    assert world.extract().counts["completed"] == 1
    assert world.state() == before
    (world.out / A).unlink()
    assert world.extract().counts["completed"] == 1
    assert world.state() == before


def test_an_open_row_is_replaced_once_it_can_be_closed_unless_edited(world: World) -> None:
    world.case()
    world.db.connection.execute("UPDATE workspaces SET local_repo_dir = ''")
    world.db.connection.commit()
    summary = world.extract()
    assert list(summary.needs_base_commit.values()) == ["no repository was given"]
    assert "--repo-dir" in summary.remarks[0]
    opened = world.state()
    assert world.extract().counts["unchanged"] == 1
    assert world.state() == opened
    assert world.extract(world.repo.path).counts["resolved"] == 1
    assert world.rows(A)[0]["baseCommit"] == world.rows(B)[0]["baseCommit"] == world.base

    edited = json.loads(opened[A]) | {"query": "My own words"}
    (world.out / A).write_text(json.dumps(edited) + "\n")
    (world.out / B).write_bytes(opened[B])
    assert world.extract(world.repo.path).counts["known"] == 1
    assert world.rows(A)[0]["query"] == "My own words"


def test_full_starts_over(world: World) -> None:
    world.case()
    world.extract()
    (world.out / A).write_bytes(b"{broken\n")
    assert world.extract(full=True).counts["new"] == 1
    assert len(world.rows(A)) == len(world.rows(B)) == 1


@pytest.mark.parametrize("line", [b"{broken\n", b'{"caseId": "x"}\n{"caseId": "x"}\n'])
def test_a_corrupt_file_stops_the_run_and_is_not_overwritten(world: World, line: bytes) -> None:
    world.case()
    world.extract()
    (world.out / A).write_bytes(line)
    before = world.state()
    with pytest.raises(BadInput, match=rf"{A}:\d: "):
        world.extract()
    assert world.state() == before


def test_two_extractions_into_one_folder(world: World) -> None:
    world.case()
    with lock_pair(world.out), pytest.raises(Conflict, match="another extraction"):
        world.extract()
    world.extract()


def test_long_lines_are_no_trouble(world: World) -> None:
    world.case(query="word " * 400_000)
    world.extract()
    assert world.extract().counts["known"] == 1


def test_a_repository_that_was_named_must_exist(world: World, tmp_path: Path) -> None:
    world.case()
    with pytest.raises(NotFound, match="no folder"):
        world.extract(tmp_path / "none")
    assert not (world.out / A).exists()


@pytest.mark.parametrize(
    ("options", "proved"), [(("--bare",), True), (("--depth=1",), False), (("--depth=1", "--bare"), False)]
)
def test_a_bare_repository_proves_and_a_shallow_one_leaves_the_base_open(
    world: World, tmp_path: Path, options: tuple[str, ...], proved: bool
) -> None:
    case_id = world.case()
    world.repo.git("clone", "-q", *options, f"file://{world.repo.path}", str(tmp_path / "clone"))
    summary = world.extract(tmp_path / "clone")
    (row,) = world.rows(B)
    assert (row["baseCommit"], row["needsBaseCommit"]) == ((world.base, False) if proved else ("", True))
    assert list(summary.needs_base_commit) == ([] if proved else [case_id])
    assert row["lineRanges"][0]["startLine"] == 10


def test_a_failure_in_the_middle_leaves_the_old_pair(world: World) -> None:
    world.case()
    world.extract()
    before = world.state()
    world.db.flow("next")
    world.case("next")
    world.db.action("x", flow_id="next", created="never")
    with pytest.raises(BadInput, match="is not a time"):
        world.extract()
    assert world.state() == before
