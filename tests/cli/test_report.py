"""`evergold report` as a user types it, in every form."""

import json
from pathlib import Path
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
