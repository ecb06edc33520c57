"""`evergold runs show RUN --case ID`: what a person needs to understand a failed sample."""

import json
from pathlib import Path

import pytest

from evergold.cli import invoke as evergold

APP = """
def answer(prompt):
    if "code" in prompt:
        return "def double(x):\\n    return x + x"
    if "broken" in prompt:
        raise RuntimeError("first line\\n  second line")
    return {"output": "done", "tool_calls": [
        {"name": "pay", "args": {"amount": 5}},
        {"name": "find", "args": {"city": "Quito"}},
        {"name": "log", "args": {}},
    ]}
"""
FILE = """name: Samples
tasks:
  - id: calls
    name: Book
    input: Book it
    expected_output: done
    context: ["{long}", "short"]
    expected_tools:
      - {name: find, args: {city: Lima}}
      - {name: pay, args: {amount: 5}}
      - {name: mail, args: {to: me}}
  - {id: code, name: C, input: code please, expected_output: "def double(x):\\n    return 2 * x"}
  - {id: broken, name: B, input: broken, expected_output: x}
"""


@pytest.fixture
def run_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    (tmp_path / "sample_app.py").write_text(APP)
    (tmp_path / "samples.yaml").write_text(FILE.replace("{long}", "word " * 200))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("EVERGOLD_HOME", str(tmp_path / "home"))
    words = ["--model", "python:sample_app:answer", "--metric", "tool_correctness,exact_match", "--json"]
    evergold(["run", "samples.yaml", *words])
    found: str = json.loads(capsys.readouterr().out)["run"]["id"]
    return found


def shown(run_id: str, case: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert evergold(["runs", "show", run_id, "--case", case]) == 0
    return capsys.readouterr().out.splitlines()


def test_calls_stand_beside_the_expected_ones_with_what_differs(
    run_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(run_id, "calls", capsys)
    assert "calls (expected, then made)" in lines
    text = "\n".join(lines)
    assert "find(city='Quito')    <- arguments: city" in text and "order: made as call" in text
    assert "- mail(to='me')    <- missing" in text and "+ log()    <- extra" in text
    assert "question\n  Book it" in text and "reference (source)\n  done" in text
    assert "characters more)" in text and "context 2\n  short" in text
    assert "wrong order: pay, find" in text


def test_code_keeps_its_lines_and_an_error_has_its_own(run_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(shown(run_id, "code", capsys))
    assert "answer\n  def double(x):\n      return x + x" in text
    assert "reference (source)\n  def double(x):\n      return 2 * x" in text
    text = "\n".join(shown(run_id, "broken", capsys))
    assert "second line" in text and "trial 0: error" in text and "exact_match 0.000\n  no reply: " in text


def test_json_stays(run_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert evergold(["runs", "show", run_id, "--case", "calls", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["case"]["id"] == "calls" and shown["attempts"][0]["tool_calls"][0]["name"] == "pay"
