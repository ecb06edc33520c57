"""The benchmark verbs as a user types them."""

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evergold.cli import invoke as evergold
from evergold.cli.run import summary_line
from evergold.model.run import Run, RunSpec, Usage
from evergold.workspace.bench import Bench

APP = """
def good(prompt):
    return {"comes next": "42", "rises": "198", "towards": "2", "sisters has": "1"}.get(
        next((k for k in ("comes next", "rises", "towards", "sisters has") if k in prompt), ""), "no")
def bad(prompt): return "no"
def late(prompt): return "B"
def paid(prompt): return {"output": "42", "usage": {"input_tokens": 50, "output_tokens": 50}}
def broken(prompt):
    import os
    if os.path.exists("mended"):
        return "42"
    raise RuntimeError("out of order")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "bench_app.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("EVERGOLD_HOME", str(tmp_path / "home"))
    return tmp_path


def answered(capsys: pytest.CaptureFixture[str], *words: str, exit_code: int = 0) -> Any:
    capsys.readouterr()
    assert evergold([*words, "--json"]) == exit_code
    return json.loads(capsys.readouterr().out)


def a_run(capsys: pytest.CaptureFixture[str], function: str, *more: str) -> Any:
    words = ["run", "reasoning", "--model", f"python:bench_app:{function}", "--metric", "exact_match", *more]
    return answered(capsys, *words)


def test_a_run_its_means_and_its_place_in_the_list(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = a_run(capsys, "good", "--trials", "2")
    assert (done["run"]["status"], done["run"]["done"]) == ("completed", 16)
    assert done["means"][0] | {"low": 0, "high": 0} == {
        "metric": "exact_match",
        "value": 0.5,
        "low": 0,
        "high": 0,
        "interval": "Wilson",
        "n": 8,
        "errors": 0,
        "failed": 0,
        "truncated": 0,
        "uncited": 0,
        "outside": 0,
        "excluded": False,
        "coverage": 1.0,
        "not_applicable": 0,
        "self_compared": 0,
        "of": 8,
    }
    listed = answered(capsys, "runs", "list")
    assert [run["id"] for run in listed["runs"]] == [done["run"]["id"]]
    shown = answered(capsys, "runs", "show", done["run"]["id"], "--failures")
    assert {attempt["case_id"] for attempt in shown["attempts"]} == {"apples", "weekday", "boxes", "clock"}


def test_thresholds_decide_the_exit_code(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "reasoning", "--model", "python:bench_app:good", "--metric", "exact_match", "--fail-under"]
    assert evergold([*words, "exact_match=0.5"]) == 0
    assert evergold([*words, "exact_match=0.6"]) == 1
    assert "exact_match 0.500 ±0.285 (n=8) is below 0.6" in capsys.readouterr().err
    # Refused before anything is called.
    assert evergold([*words, "correctness=0.6"]) == 2
    assert "no such metric; it has exact_match" in capsys.readouterr().err
    assert len(answered(capsys, "runs", "list")["runs"]) == 2


def test_where_a_budget_ends_what_was_answered_is_measured_and_decides_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "reasoning", "--model", "python:bench_app:paid", "--metric", "exact_match", "--budget", "300"]
    done = answered(capsys, *words, "--fail-under", "exact_match=1", exit_code=3)
    assert (done["run"]["status"], done["means"][0]["n"], done["means"][0]["of"]) == ("failed", 3, 8)
    assert "38% of the attempts have a value" in done["reasons"][0]


def test_failed_attempts_end_the_run_and_can_be_sent_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "reasoning", "--model", "python:bench_app:broken", "--metric", "exact_match"]
    done = answered(capsys, *words, exit_code=2)
    assert (done["run"]["failed"], done["means"][0]["value"], done["means"][0]["errors"]) == (8, 0.0, 8)
    assert answered(capsys, "runs", "leaderboard") == []
    (folder / "mended").touch()
    again = answered(capsys, "runs", "retry", done["run"]["id"])
    assert (again["run"]["done"], again["run"]["failed"], again["run"]["status"]) == (8, 0, "completed")


def test_compare_and_its_gate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = a_run(capsys, "good")["run"]["id"], a_run(capsys, "bad")["run"]["id"]
    found = answered(capsys, "compare", good, bad)
    assert found["metrics"][0]["lost"] == ["percentage", "sequence", "siblings", "trains"]
    assert answered(capsys, "compare", good, bad, "--gate", exit_code=1)["metrics"][0]["verdict"] == "worse"
    assert answered(capsys, "compare", good, good, "--gate", exit_code=3)["metrics"][0]["verdict"] == "inconclusive"
    assert answered(capsys, "compare", good, good, "--gate", "cases")["gate"] == "no case that passed before fails now"
    refused = answered(capsys, "compare", "--gate", "cases", good, bad, exit_code=1)["gate"]
    assert refused.startswith("4 of 4 cases fail again in 2 retries: percentage")
    # The run's own cases are tried again: its dataset may be a file that is no longer there.
    Path("mine.yaml").write_text("name: mine\ntasks:\n- {id: a, name: a, input: i, expected_output: B}\n")
    words = ["run", "mine.yaml", "--metric", "exact_match", "--model"]
    first, second = (answered(capsys, *words, f"python:bench_app:{name}")["run"]["id"] for name in ("late", "bad"))
    Path("mine.yaml").unlink()
    refused = answered(capsys, "compare", "--gate", "cases", first, second, exit_code=1)["gate"]
    assert refused == "1 of 1 cases fail again in 2 retries: a"
    assert evergold(["compare", good, bad]) == 0
    assert capsys.readouterr().out.startswith(
        "Keep python:bench_app:good: python:bench_app:bad is worse on 8 cases (-0.50"
    )
    assert evergold(["compare", good, bad, good, "--format", "markdown"]) == 0
    assert capsys.readouterr().out.count("| exact_match |") == 2
    board = answered(capsys, "runs", "leaderboard")
    assert [entry["model"] for entry in board[-1]["entries"]] == ["python:bench_app:good", "python:bench_app:bad"]


def test_scores_are_made_again_without_the_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_id = a_run(capsys, "good")["run"]["id"]
    os.remove(folder / "bench_app.py")
    again = answered(capsys, "runs", "rescore", run_id, "--metric", "contains:ignore_case=true")
    assert [mean["metric"] for mean in again["means"]] == ["exact_match", "contains:ignore_case=true"]


def test_an_attempt_goes_to_review_and_a_run_away(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_id = a_run(capsys, "bad")["run"]["id"]
    assert evergold(["runs", "to-review", run_id, "clock"]) == 0
    assert f"failures/{run_id}/clock/0 waits for review" in capsys.readouterr().out
    case = answered(capsys, "cases", "show", "failures", f"{run_id}/clock/0")
    assert (case["output"], case["expected"], case["review"]) == ("no", "75", "unvalidated")
    assert evergold(["runs", "delete", run_id]) == 0
    assert evergold(["runs", "show", run_id]) == 2


def test_a_plan_calls_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "reasoning", "--model", "openai/gpt-4o", "--metric", "exact_match", "--trials", "3", "--plan"]
    plan = answered(capsys, *words)
    assert (plan["cases"], plan["calls"], plan["judge_calls"]) == (8, 24, 0)
    assert 0 < plan["cost"] < 0.1 and 0.3 < plan["smallest_visible_effect"] < 0.5
    assert plan["judge"] is None
    assert answered(capsys, "runs", "list")["total"] == 0


def test_several_metrics_are_named_at_once_or_one_by_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "reasoning", "--model", "python:bench_app:good"]
    at_once = answered(capsys, *words, "--metrics", "exact_match,token_f1")
    one_by_one = answered(capsys, *words, "--metric", "exact_match", "--metric", "token_f1")
    named = [[mean["metric"] for mean in found["means"]] for found in (at_once, one_by_one)]
    assert named == [["exact_match", "token_f1"]] * 2


def test_a_plan_knows_no_price_of_a_server_of_ones_own_and_none_is_paid_for_stored_answers(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["run", "reasoning", "--metric", "correctness", "--plan"]
    assert answered(capsys, *asked, "--model", "recorded")["cost"] == 0
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    plan = answered(capsys, *asked, "--model", "openai/gpt-4o")
    assert (plan["cost"], plan["judge"], plan["judge_calls"]) == (None, "offline", 8)


def test_a_plan_prices_judging_apart_from_the_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["run", "reasoning", "--model", "recorded", "--metric", "correctness", "--plan", "--judge"]
    offline, model, panel, unknown = (
        answered(capsys, *asked, judge)
        for judge in ("offline", "openai/gpt-4o", "panel:openai/gpt-4o,openai/gpt-4o,offline", "openai/no-such-model")
    )
    assert (offline["judge_input_tokens"], offline["judge_cost"]) == (0, 0.0)
    assert (model["cost"], model["judge_calls"]) == (0.0, 8)
    assert model["judge_input_tokens"] > 8 * 100 and model["judge_output_tokens"] > 0
    assert 0 < model["judge_cost"] < 0.2
    assert panel["judge_cost"] == pytest.approx(2 * model["judge_cost"])
    assert unknown["judge_cost"] is None and unknown["judge_input_tokens"] == model["judge_input_tokens"]
    assert evergold([*asked, "openai/gpt-4o"]) == 0
    assert "  judging  openai/gpt-4o: about " in capsys.readouterr().out


def test_a_plan_of_three_trials_judges_three_times(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["run", "grounded-answers", "--model", "recorded", "--metric", "faithfulness", "--plan"]
    once = answered(capsys, *asked, "--judge", "openai/gpt-4o")
    thrice = answered(capsys, *asked, "--judge", "openai/gpt-4o", "--trials", "3")
    assert thrice["judge_input_tokens"] == pytest.approx(3 * once["judge_input_tokens"], abs=3)


def test_the_bill_of_judging_stands_in_the_line_of_a_run() -> None:
    run = Run(
        id="run_1",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        spec=RunSpec(dataset="d", model="m", metrics=("correctness",)),
        judge_usage=Usage(input_tokens=900, output_tokens=100, cost=0.0125),
    )
    assert "1,000 tokens of the judge ($0.0125)" in summary_line(run)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run"], "dataset is missing"),
        (["run", "reasoning"], "model is missing"),
        (["run", "reasoning", "--model", "recorded"], "no metrics given"),
        (["run", "reasoning", "--model", "recorded", "--metric", "exact_match", "--budget", "lots"], "--budget 'lots'"),
        (["run", "reasoning", "--model", "recorded", "--metric", "exact_match", "--param", "x"], "--param 'x'"),
        (["run", "./nowhere.yaml", "--model", "recorded", "--metric", "exact_match"], "unknown dataset"),
        (["run", "--resume", "run_0"], "no run 'run_0'"),
        (["runs", "cancel", "run_0"], "no run 'run_0'"),
        (["compare", "run_0", "run_1"], "no run 'run_0'"),
    ],
)
def test_what_cannot_be_run_is_one_line_and_exit_code_2(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert evergold(words) == 2
    told = capsys.readouterr().err
    assert says in told and "Traceback" not in told


def test_lint_names_file_and_line_and_a_file_can_be_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.yaml").write_text("name: M\ntasks: [{id: a, name: b, input: c, expected_output: no}]\n")
    assert evergold(["datasets", "lint", str(folder)]) == 1
    assert "mine.yaml:2: tasks[0].expected_output must be text, not false; put it in quotes" in capsys.readouterr().out
    (folder / "mine.yaml").write_text("name: M\ntasks: [{id: a, name: b, input: c, expected_output: 'no'}]\n")
    assert evergold(["datasets", "lint", str(folder / "mine.yaml")]) == 0
    words = ["run", str(folder / "mine.yaml"), "--model", "python:bench_app:bad", "--metric", "exact_match"]
    capsys.readouterr()
    assert answered(capsys, *words)["means"][0]["value"] == 1.0


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert evergold(["datasets", "schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Evergold benchmark dataset"


def test_a_log_is_only_added_to_and_names_the_version_of_the_dataset(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        run = a_run(capsys, "good", "--log", "results.jsonl")["run"]
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    assert len(lines) == 16
    assert lines[-1]["dataset"] == run["provenance"]["dataset"]
    assert set(lines[0]["measurements"]) == {"exact_match"}


def test_a_run_without_one_success_has_failed_with_the_commonest_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "reasoning", "--model", "python:bench_app:broken", "--metric", "exact_match"]
    done = answered(capsys, *words, exit_code=2)
    assert (done["run"]["status"], done["exit_code"]) == ("failed", 2)
    assert "no attempt succeeded" in done["run"]["error"] and "out of order" in done["run"]["error"]
    assert f"evergold runs retry {done['run']['id']}" in done["run"]["error"]
    assert answered(capsys, "runs", "leaderboard") == []


def test_a_threshold_on_nothing_measured_is_not_called_below(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "reasoning", "--model", "python:bench_app:good", "--metric", "faithfulness"]
    assert evergold([*words, "--fail-under", "faithfulness=0.5"]) == 3
    assert "nothing was measured" in capsys.readouterr().err


def test_a_run_that_is_interrupted_names_the_command_that_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Bench, "work_on", interrupted)
    assert evergold(["run", "reasoning", "--model", "python:bench_app:good", "--metric", "exact_match"]) == 130
    told = capsys.readouterr().err
    assert re.search(r"^(run_\w+): what was answered is kept; evergold run --resume \1 goes on$", told, re.MULTILINE)
