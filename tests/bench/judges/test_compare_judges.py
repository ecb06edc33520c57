"""Two judges on the same labels, the default judge, and a gate that demands a calibrated one."""

import json
from pathlib import Path

import pytest

from evergold.bench.calibrate import compare_judges
from evergold.cli import invoke as evergold
from evergold.model.judge import Calibration
from evergold.settings import Settings
from evergold.workspace import Workspace

ANSWERS = [
    {"input": "Capital of France?", "output": "Paris", "expected": "Paris", "label": 1},
    {"input": "Capital of Spain?", "output": "Lisbon", "expected": "Madrid", "label": 0},
]


def a_calibration(judge: str, agreed: list[bool | None]) -> Calibration:
    nothing = dict.fromkeys(("agreement", "kappa", "spearman", "false_pass", "false_fail"))
    return Calibration.model_validate(
        nothing
        | {"judge": judge, "metric": "m", "version": "1", "prompt_hash": None, "passing": 0.5}
        | {"labels": len(agreed), "unscored": {}, "agreed": agreed}
    )


def test_the_judge_that_agrees_more_often_is_advised() -> None:
    weak = a_calibration("weak", [True, False] * 30)
    strong = a_calibration("strong", [True] * 60)
    assert "use strong" in compare_judges(weak, strong).advice
    assert "use strong" in compare_judges(strong, weak).advice
    assert "cannot tell" in compare_judges(a_calibration("a", [True, False]), a_calibration("b", [True, True])).advice


def test_labels_that_one_judge_could_not_judge_take_no_part() -> None:
    result = compare_judges(a_calibration("a", [None, True]), a_calibration("b", [True, None]))
    assert (result.n, result.difference) == (0, None)


def test_the_verb_compares_two_judges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EVERGOLD_HOME", str(tmp_path / "home"))
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(json.dumps(row) + "\n" for row in ANSWERS))
    assert evergold(["judge", "compare", "offline", "offline", "--labels", str(labels), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["difference"] == 0.0
    assert evergold(["judge", "compare", "offline", "offline"]) == 2


def test_the_default_judge_of_the_settings_judges(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path / "home", judge_default="panel:offline,offline")) as workspace:
        names = [(judge.name, judge.default) for judge in workspace.judging.judges()]
        assert names == [("panel:offline,offline", True), ("offline", False)]
    with Workspace.open(Settings(home=tmp_path / "home")) as workspace:
        assert [judge.name for judge in workspace.judging.judges()] == ["offline"]


def test_a_comparison_names_an_uncalibrated_judge_and_a_gate_may_demand_a_calibrated_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EVERGOLD_HOME", str(tmp_path / "home"))
    (tmp_path / "answering.py").write_text("def always(prompt): return '42'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    run = ["run", "reasoning", "--model", "python:answering:always", "--metric", "correctness", "--json"]
    runs = []
    for _ in range(2):
        assert evergold(run) == 0
        runs.append(json.loads(capsys.readouterr().out)["run"]["id"])
    gate = ["compare", *runs, "--gate", "--require-calibrated", "0.6", "--json"]
    assert evergold(gate) == 3
    doubted = json.loads(capsys.readouterr().out)
    assert "uncalibrated" in doubted["uncalibrated"][0]
    assert any("correctness" in warning and "is uncalibrated" in warning for warning in doubted["warnings"])
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(json.dumps(row) + "\n" for row in ANSWERS * 20))
    assert (
        evergold(["judge", "calibrate", "--judge", "offline", "--metric", "correctness", "--labels", str(labels)]) == 0
    )
    capsys.readouterr()
    assert evergold(gate) in (0, 3)
    sure = json.loads(capsys.readouterr().out)
    assert sure["uncalibrated"] == [] and not any("is uncalibrated" in warning for warning in sure["warnings"])
