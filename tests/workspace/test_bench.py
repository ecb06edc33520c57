"""Runs through the workspace: what ends them, and which dataset a name stands for."""

import sys
from pathlib import Path

import pytest

from evergold.errors import BadInput
from evergold.model.run import RunSpec, RunStatus
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.builders import a_case


def test_a_target_that_cannot_even_be_made_ends_the_run_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "faulty_app.py").write_text("raise KeyError('no such region')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "faulty_app", raising=False)
    spec = RunSpec(dataset="reasoning", model="python:faulty_app:answer", metrics=("exact_match",))
    with Workspace.open(Settings(home=tmp_path / "home")) as workspace:
        run = workspace.bench.work_on(workspace.bench.run_here(spec).id)
    assert run.status is RunStatus.FAILED
    assert "no such region" in (run.error or "")


@pytest.mark.parametrize("seconds", ["soon", 0, -1, True, None])
def test_a_deadline_that_is_no_time_is_refused_before_a_run(tmp_path: Path, seconds: object) -> None:
    spec = RunSpec(dataset="reasoning", model="recorded", metrics=("exact_match",), params={"timeout": seconds})
    with Workspace.open(Settings(home=tmp_path / "home")) as workspace:
        with pytest.raises(BadInput, match="timeout is seconds above 0"):
            workspace.bench.run_here(spec)
        assert workspace.bench.page()[1] == 0


def test_a_file_takes_the_place_of_a_stored_dataset_of_its_name_and_that_is_said(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path / "home")) as workspace:
        workspace.cases.put([a_case("mine", dataset="reasoning")])
        named = [entry for entry in workspace.bench.datasets.list() if entry.name == "reasoning"]
        assert [(entry.origin, entry.problems) for entry in named] == [
            ("sample", ()),
            ("store", ("the sample of the same name is run in its place",)),
        ]
        assert len(workspace.bench.datasets.freeze("reasoning").cases) == 8
