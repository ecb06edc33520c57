"""The demo, end to end, as a newcomer meets it: every step of the report, then the dashboard."""

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evergold.cli.demo import STEPS
from tests.console import SCRIPT
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow


def test_the_report_tells_every_step_and_the_dashboard_is_served_after_it(tmp_path: Path) -> None:
    left = tmp_path / ".evergold" / "demo" / "left.txt"
    left.parent.mkdir(parents=True)
    left.write_text("of an earlier demo")
    with demo(tmp_path) as (report, url):
        assert not left.exists()
        for title in STEPS:
            assert title in report
        assert "ingested: 99 traces" in report
        golden = (tmp_path / ".evergold" / "demo" / "golden.jsonl").read_text().splitlines()
        assert f"exported {len(golden)} cases" in report
        assert len(golden) > 50 and " candidate" in report
        decisions = [line for line in report.splitlines() if line.startswith(("Ship ", "Keep ", "Not decided: "))]
        assert any("next_release" in line and "recorded" in line and " errors against 0" in line for line in decisions)
        with urllib.request.urlopen(f"{url}/api/v1/cases?dataset=live&limit=1") as answer:
            assert b'"total":' in answer.read()
        with urllib.request.urlopen(f"{url}/api/v1/benchmarks/leaderboard?dataset=live") as answer:
            models = [entry["model"] for entry in json.loads(answer.read())[0]["entries"]]
        assert set(models) == {"recorded", "python:next_release:answer"}


@contextmanager
def demo(folder: Path) -> Iterator[tuple[str, str]]:
    """What it prints before it serves, and its address."""
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [str(SCRIPT), "demo", "--port", "0"], cwd=folder, env=env, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        printed: list[str] = []
        for line in process.stdout:
            if line.startswith("evergold: http://"):
                yield "".join(printed), line.split()[1]
                return
            printed.append(line)
        raise AssertionError("".join(printed))
    finally:
        process.terminate()
        process.wait(PATIENCE)
        process.stdout.close()
