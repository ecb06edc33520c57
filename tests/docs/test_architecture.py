"""docs/measurements/paths.md shows the paths that `python -m perf.paths` finds; no path has become longer than it says there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from perf.paths import GOALS, counts_on, describe

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "measurements" / "paths.md").read_text(encoding="utf-8")


@pytest.mark.campaign  # on a busy machine the server that is followed may not be curating in time
def test_no_path_is_longer_than_the_page_shows() -> None:
    shown = counts_on(PAGE)
    command = [sys.executable, "-m", "perf.paths", "--json"]
    measured = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=300).stdout)
    assert list(measured) == list(shown) == list(GOALS)
    longer = {name: files for name, files in measured.items() if len(files) > shown[name]}
    assert not longer, "shorten the path, or: python -m perf.paths --write docs/measurements/paths.md"


def test_the_counts_that_are_read_from_a_page_are_those_that_were_written() -> None:
    paths = {name: ["store/database/db.py"] * goal for name, goal in GOALS.items()}
    assert counts_on(f"<!-- paths: begin -->\n{describe(paths)}\n<!-- paths: end -->") == GOALS
