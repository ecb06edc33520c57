"""The gate of `examples/ci`, run as a CI runs it: what failed is never the baseline of what comes next."""

import os
import subprocess
from pathlib import Path

import yaml

from tests.console import warm_script
from tests.patience import PATIENCE

GATE = Path(__file__).parents[2] / "examples" / "ci" / "gate.sh"
TASKS = [{"id": f"t{n}", "name": f"t{n}", "input": f"say {n}", "expected_output": str(n)} for n in range(40)]
APP = """
def good(prompt): return prompt.split()[-1]
def bad(prompt): return "no"
"""


def gate(folder: Path, function: str, **more: str) -> tuple[int, str]:
    script = warm_script()
    named = {"DATASET": "counting", "METRIC": "exact_match", "MODEL": f"python:gate_app:{function}"}
    own = {
        "PATH": f"{script.parent}:{os.environ['PATH']}",
        "EVERGOLD_BENCHMARK_DATASETS_DIR": str(folder / "benchmarks"),
    }
    done = subprocess.run(
        ["bash", str(GATE)], cwd=folder, env=os.environ | own | named | more, capture_output=True, text=True, timeout=PATIENCE
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_a_candidate_that_failed_is_not_the_next_baseline(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "counting.yaml").write_text(
        yaml.safe_dump({"name": "counting", "description": "Count.", "tasks": TASKS})
    )
    (tmp_path / "gate_app.py").write_text(APP)
    kept = tmp_path / ".evergold" / "baselines" / "counting"
    code, shown = gate(tmp_path, "good", PROMOTE="0")
    assert (code, kept.exists()) == (0, False), shown
    code, shown = gate(tmp_path, "good")
    assert code == 0 and "no baseline yet" in shown
    first = kept.read_text()
    # Twice the same failure: were the first one the baseline, the second would be a tie.
    assert [gate(tmp_path, "bad")[0] for _ in range(2)] == [1, 1]
    assert kept.read_text() == first
    code, shown = gate(tmp_path, "good")
    assert (code, kept.read_text() != first) == (0, True), shown
    code, shown = gate(tmp_path, "bad", BASELINE=first.strip(), PROMOTE="0")
    assert code == 1, shown
