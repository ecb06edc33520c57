"""The demo, end to end, as a newcomer meets it: every step of the report, then the dashboard."""

import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from evergold.cli.demo import STEPS
from tests.cli.running import evergold
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow


def test_the_report_tells_every_step(tmp_path: Path) -> None:
    ran = evergold("demo", "--no-serve", cwd=tmp_path)
    assert ran.code == 0, ran.out + ran.err
    for step in STEPS:
        assert step.title in ran.out
    assert "ingested: 99 traces" in ran.out
    golden = (tmp_path / ".evergold" / "demo" / "golden.jsonl").read_text().splitlines()
    assert f"exported {len(golden)} cases" in ran.out
    assert len(golden) > 50
    assert evergold("demo", "--no-serve", cwd=tmp_path).code == 0


def test_the_dashboard_is_served_after_it(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [str(Path(sys.executable).parent / "evergold"), "demo", "--port", "0"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = next(line.split()[1] for line in process.stdout if line.startswith("evergold: http://"))
        with urllib.request.urlopen(f"{url}/api/v1/cases?dataset=live&limit=1") as answer:
            assert b'"total":' in answer.read()
    finally:
        process.terminate()
        process.wait(PATIENCE)
        if process.stdout is not None:
            process.stdout.close()
