"""Extraction into the store, again and again: no duplicates, no decision lost, what was open is closed."""

import json
from pathlib import Path
from typing import Any

import pytest

from evergold.cli import invoke as run
from evergold.model.review import CaseKey, Decision, Edit, ReviewVerdict
from evergold.settings import load_settings
from evergold.workspace import Workspace
from tests.repos import GitRepo, numbered
from tests.sidekick_db import SidekickDb

DATASET = "context"
B = "dataset_b_line_ranges.unvalidated.jsonl"


class World:
    """A repository, a database of the work in it, and a workspace that cases go into."""

    def __init__(self, folder: Path) -> None:
        self.home, self.out = folder / "home", folder / "out"
        self.repo = GitRepo(folder / "repo")
        base = self.repo.commit({"f.py": numbered(20)}, "Start")
        self.repo.branch("side/feat")
        self.repo.commit({"f.py": numbered(20, l7="seven")}, "Seven is a word")
        self.diff = self.repo.diff(base, "HEAD")
        self.repo.switch("main")
        self.db = SidekickDb(folder / "db")
        self.db.task()
        self.db.flow()
        self.db.action("ranked_repo_summary", {"rankQuery": "Write seven"})
        self.case_id = self.db.approval(self.diff)
        self.key = CaseKey(dataset=DATASET, id=self.case_id)

    def extract(self, *more: str) -> None:
        args = ["extract", "sidekick", "--workspace-id", "ws", "--sidekick-db", str(self.db.path)]
        assert run(["--home", str(self.home), *args, "--out-dir", str(self.out), *more]) == 0

    def opened(self) -> Workspace:
        return Workspace.open(load_settings({"home": str(self.home)}))

    def stored(self) -> tuple[dict[str, Any], list[str]]:
        """The one case of the store, and what was done to it."""
        with self.opened() as workspace:
            assert workspace.cases.ids(DATASET) == {self.case_id}
            case = workspace.cases.get(DATASET, self.case_id)
            return case.model_dump(mode="json"), [item.action for item in workspace.cases.history(DATASET, case.id)]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("full", [(), ("--full",)])
def test_twice_is_once(world: World, full: tuple[str, ...]) -> None:
    world.extract("--into-store")
    first = world.stored()
    world.extract("--into-store", *full)
    assert world.stored() == first


def test_cases_that_only_the_files_knew_reach_the_store(world: World) -> None:
    world.extract()
    rows = (world.out / B).read_bytes()
    world.extract("--into-store")
    case, actions = world.stored()
    assert actions == ["extracted"] and "evidence" in case["extra"]
    assert (world.out / B).read_bytes() == rows


def test_a_base_commit_found_later_completes_the_case_and_its_evidence_stays(world: World) -> None:
    world.extract("--into-store")
    open_case, _ = world.stored()
    assert open_case["base_commit"] is None
    world.extract("--into-store", "--repo-dir", str(world.repo.path))
    closed, actions = world.stored()
    assert closed["base_commit"] and closed["ranges"][0]["text_hash"]
    assert closed["extra"] == open_case["extra"] and actions == ["extracted", "extracted"]


@pytest.mark.parametrize("again", [(), ("--full",)])
def test_what_a_person_decided_or_edited_stays(world: World, again: tuple[str, ...]) -> None:
    repo = ("--repo-dir", str(world.repo.path))
    world.extract("--into-store", *repo)
    with world.opened() as workspace:
        decision = Decision(version=1, verdict=ReviewVerdict.APPROVE, changes={"input": "Write seven as a word"})
        workspace.review.decide(world.key, decision, "ada")
    decided = world.stored()
    assert decided[0]["review"] == "validated"
    world.extract("--into-store", *repo, *again)
    assert world.stored() == decided


def test_an_edit_without_a_decision_stays_too(world: World) -> None:
    world.extract("--into-store")
    with world.opened() as workspace:
        workspace.review.edit(world.key, Edit(version=1, changes={"input": "By hand"}), "ada")
    world.extract("--into-store", "--repo-dir", str(world.repo.path))
    case, _ = world.stored()
    assert (case["input"], case["base_commit"]) == ("By hand", None)


def test_a_row_edited_in_its_file_goes_into_the_store_by_import_only(world: World) -> None:
    world.extract()
    row = json.loads((world.out / B).read_text())
    (world.out / B).write_text(json.dumps(row | {"query": "By hand"}) + "\n")
    world.extract("--into-store")
    with world.opened() as workspace:
        assert workspace.cases.ids(DATASET) == set()
