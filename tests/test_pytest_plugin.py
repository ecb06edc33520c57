"""The pytest plug-in, in a real pytest of its own."""

import os
import subprocess
import sys
from pathlib import Path

SUITE = """
import pytest

def knows_one(prompt):
    return "42" if "comes next" in prompt else "no"

@pytest.mark.evergold(dataset="reasoning", metric="exact_match", min=0.1, model=knows_one)
def test_good_enough(evergold_run):
    assert evergold_run.mean("exact_match") == 0.125
    assert evergold_run.run.total == 8

@pytest.mark.evergold(dataset="reasoning", metric=["exact_match", "contains"], min={"exact_match": 0.5}, model=knows_one)
def test_not_good_enough():
    raise AssertionError("the body is not reached")

@pytest.mark.evergold(dataset="reasoning", metric="exact_match", min=0.1)
def test_model_from_outside():
    pass

@pytest.mark.evergold(dataset="reasonin", metric="exact_match", model="recorded")
def test_unknown_dataset():
    pass

@pytest.mark.evergold(dataset="reasoning", metric="exact_match", minimum=1, model="recorded")
def test_unknown_option():
    pass

def test_unmarked():
    pass
"""


def run_suite(folder: Path, *words: str) -> str:
    (folder / "test_suite.py").write_text(SUITE)
    env = {**os.environ, "EVERGOLD_HOME": str(folder / "home")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rA", *words, "test_suite.py"]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True).stdout


def test_a_mark_runs_a_benchmark_and_fails_below_its_minimum(tmp_path: Path) -> None:
    told = run_suite(tmp_path, "--evergold-model", "python:test_suite:knows_one")
    assert "4 passed" not in told and "3 passed, 3 errors" in told, told
    assert "exact_match 0.125 [" in told and "is below 0.5" in told
    assert "apples: exact_match 0.000" in told
    assert "unknown dataset 'reasonin'; did you mean 'reasoning'?" in told
    assert "the evergold mark takes dataset, metric, min" in told


def test_without_a_model_it_says_where_to_give_one(tmp_path: Path) -> None:
    told = run_suite(tmp_path, "-k", "from_outside")
    assert "no model: give model=… in the mark, --evergold-model or the ini option evergold_model" in told
