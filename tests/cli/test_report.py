"""`evergold report` as a user types it, in every form."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from evergold.cli import invoke as evergold

TASKS = {
    "name": "QA",
    "tasks": [
        {"id": "a", "name": "A", "input": "Capital of Peru?", "expected_output": "Lima", "difficulty": "easy"},
        {"id": "b", "name": "B", "input": "Capital of Chile?", "expected_output": "Santiago", "difficulty": "hard"},
    ],
}


@pytest.fixture
def run_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    (tmp_path / "report_app.py").write_text("def answer(case): return 'Lima'\n")
    (tmp_path / "qa.yaml").write_text(json.dumps(TASKS))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("EVERGOLD_HOME", str(tmp_path / "home"))
    words = ["run", "qa.yaml", "--model", "python:report_app:answer", "--metric", "exact_match,correctness", "--json"]
    assert evergold(words) == 0
    return str(json.loads(capsys.readouterr().out)["run"]["id"])


def test_a_run_is_reported_in_every_form(run_id: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evergold(["report", run_id]) == 0
    printed = capsys.readouterr()
    assert "exact_match\t0.500" in printed.out and "uncalibrated" in printed.err
    assert evergold(["report", run_id, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"][0]["mean"]["value"] == 0.5
    for name, beginning in (("r.html", "<!doctype html>"), ("r.md", "# python"), ("r.json", "{"), ("r.xml", "<?xml")):
        assert evergold(["report", run_id, "--output", f"deep/{name}"]) == 0
        assert (tmp_path / "deep" / name).read_text(encoding="utf-8").startswith(beginning)
    assert ElementTree.parse(tmp_path / "deep" / "r.xml").getroot().find("testsuite/testcase/failure") is not None


def test_a_report_of_no_run_or_with_no_such_reducer_is_refused(run_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert evergold(["report", "run_none"]) == 2
    assert evergold(["report", run_id, "--reducer", "average"]) == 2
    assert "unknown reducer 'average'" in capsys.readouterr().err


def test_each_question_counts_once_in_a_report_and_a_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["Capital of Peru?", "capital of peru", "Capital of Peru", "Capital of Chile?"]
    tasks = [{"id": f"t{n}", "name": "T", "input": text, "expected_output": "Lima"} for n, text in enumerate(asked)]
    (tmp_path / "qa.yaml").write_text(json.dumps({"name": "QA", "tasks": tasks}))
    (tmp_path / "weighing_app.py").write_text("def answer(case): return 'Lima' if 'eru' in case.input else 'Quito'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("EVERGOLD_HOME", str(tmp_path / "home"))
    words = ["run", "qa.yaml", "--model", "python:weighing_app:answer", "--metric", "exact_match", "--json"]

    def printed(*typed: str) -> Any:
        assert evergold([*typed]) == 0
        return json.loads(capsys.readouterr().out)

    plain, weighted = printed(*words), printed(*words, "--weighted")
    assert (plain["means"][0]["value"], weighted["means"][0]["value"]) == (0.75, 0.5)
    one, other = plain["run"]["id"], weighted["run"]["id"]
    read = {
        flags: printed("report", run, *flags, "--json")["metrics"][0]["mean"]["value"]
        for run, flags in ((one, ()), (one, ("--weighted",)), (other, ("--unweighted",)))
    }
    assert list(read.values()) == [0.75, 0.5, 0.75]
    assert printed("report", other, "--json")["questions"] == 2
    assert printed("compare", one, other, "--json")["metrics"][0]["n"] == 4
    assert printed("compare", one, other, "--weighted", "--json")["metrics"][0]["n"] == 2
    assert evergold(["compare", one, other, "--weighted"]) == 0
    assert "each question counts once" in capsys.readouterr().err
    boards = [printed("runs", "leaderboard", *flags, "--json")[0] for flags in ((), ("--unweighted",))]
    assert [(board["weighted"], board["entries"][0]["means"][0]["n"]) for board in boards] == [(True, 2), (False, 4)]
