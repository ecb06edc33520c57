"""`evergold compare` as a user types it: the decision in one sentence, for two runs and for more."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evergold.cli import invoke as evergold
from tests.rows import each_row

APP = """
import time

def number(prompt): return int(prompt.split("Sum ")[1].split("?")[0])
def right_below(prompt, most): return "42" if number(prompt) < most else "no"
def base(prompt): return right_below(prompt, 50)
def better(prompt): return right_below(prompt, 80)
def worse(prompt): return right_below(prompt, 20)
def unsure(prompt): return right_below(prompt, 53)
def wordy(prompt): return "about 42"
def slow(prompt):
    time.sleep(0.15)
    return base(prompt)
def whole(prompt): return right_below(prompt, 90)
def crashing(prompt):
    if number(prompt) >= 80:
        raise RuntimeError("out of order")
    return "42"
"""

Printed = Callable[..., str]


@pytest.fixture
def compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Printed:
    """Run each model over 100 sums, compare the first with the others, give what was printed."""
    tasks = [{"id": f"t{n:02}", "name": "T", "input": f"Sum {n}?", "expected_output": "42"} for n in range(100)]
    (tmp_path / "sums.yaml").write_text(json.dumps({"name": "Sums", "tasks": tasks}))
    (tmp_path / "sums_app.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("EVERGOLD_HOME", str(tmp_path / "home"))

    def compare(*models: str, metrics: str = "exact_match", options: tuple[str, ...] = ()) -> str:
        runs = []
        for model in models:
            capsys.readouterr()
            asked = ["run", "sums.yaml", "--model", f"python:sums_app:{model}", "--metrics", metrics, "--json"]
            assert evergold(asked) == 0
            runs.append(json.loads(capsys.readouterr().out)["run"]["id"])
        assert evergold(["compare", *runs, *options]) == 0
        return capsys.readouterr().out.replace("python:sums_app:", "")

    return compare


@each_row(
    ("baseline", "candidate", "begins"),
    [
        ("base", "better", "Ship better: better on 100 cases (+0.30, between +0.22 and +0.40)."),
        ("base", "worse", "Keep base: worse is worse on 100 cases (-0.30, between -0.40 and -0.22)."),
        ("base", "wordy", "Keep base: wordy is worse on 100 cases (-0.50, between -0.60 and -0.40)."),
        (
            "base",
            "unsure",
            "Not decided: 100 cases cannot tell unsure from base (+0.03, between -0.01 and +0.08); about ",
        ),
        ("whole", "crashing", "Keep whole: crashing is worse on 100 cases (-0.10, between "),
    ],
)
def test_the_first_line_is_the_decision(compare: Printed, baseline: str, candidate: str, begins: str) -> None:
    assert compare(baseline, candidate).splitlines()[0].startswith(begins)


def test_equal_answers_that_are_many_are_the_same_and_the_slower_one_is_named(compare: Printed) -> None:
    sentence = compare("base", "slow").splitlines()[0]
    assert sentence.startswith("Either: no difference that matters on 100 cases (+0.00, between -0.03 and +0.03); 0.")
    assert sentence.endswith(" s slower.")


def test_errors_are_told_with_what_the_verdict_is_without_them(compare: Printed) -> None:
    keep, ship = compare("whole", "crashing").splitlines()[0], compare("crashing", "whole").splitlines()[0]
    both = "on the 80 that both answered no difference was shown"
    assert keep.endswith(f"; 20 errors against 0, retried; {both}.")
    assert (
        ship.startswith("Ship whole: better on 100 cases (+0.10") and f"; 0 errors against 20, retried; {both}" in ship
    )
    left_out = compare("whole", "crashing", options=("--errors", "exclude")).splitlines()[0]
    assert left_out.startswith("Not decided: 80 cases") and "20 errors against 0, left out" in left_out


def test_better_by_one_metric_and_worse_by_another_is_not_told_to_be_shipped(compare: Printed) -> None:
    sentence = compare("base", "wordy", metrics="exact_match,contains").splitlines()[0]
    assert sentence.startswith(
        "Weigh wordy against base: better on 100 cases (+0.50, between +0.40 and +0.60) by contains, "
    )
    assert "worse (-0.50, between -0.60 and -0.40) by exact_match" in sentence


def test_three_runs_are_compared_with_the_baseline_sentences_first(compare: Printed) -> None:
    printed = compare("base", "better", "crashing").splitlines()
    assert [line.split(":")[0] for line in printed[:2]] == ["Ship better", "Ship crashing"]
    assert sum(line.startswith("exact_match\t") for line in printed) == 2
    assert sum(line.startswith("errors\t") for line in printed) == 2
    assert any(line.startswith("t50\t+1.00\tSum 50?\t42\tno\t42") for line in printed), "both answers, the reference"


def test_markdown_for_a_pull_request_has_sentences_tables_and_the_cases_that_changed(compare: Printed) -> None:
    printed = compare("whole", "crashing", "better", options=("--format", "markdown"))
    bold = [line for line in printed.splitlines() if line.startswith("**")]
    assert [line.split(":")[0] for line in bold] == ["**Keep whole", "**Keep whole"]
    assert printed.startswith(bold[0])
    assert printed.count("| exact_match |") == 2
    assert "| 0.0 % | 20.0 % | +20.0 (" in printed
    assert printed.count("<summary>") == 2 and ": 10 cases changed by exact_match, worst first</summary>" in printed
    assert "| t80 | -1.00 | Sum 80? | 42 | 42 | " in printed and "out of order |" in printed
