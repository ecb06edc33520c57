"""Architecture and CONTRIBUTING name files, names in them, folders and layers that there are.

docs/measurements/paths.md shows the paths that `python -m perf.paths` finds; no path has become longer than it says there.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from perf.paths import GOALS, counts_on, describe

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "measurements" / "paths.md").read_text(encoding="utf-8")


PLACES = (ROOT, ROOT / "src" / "evergold")
MADE = "perf/results/table.md"  # by `make perf`
PATH = re.compile(
    r"`((?:web|tests|docs|perf|examples)/[\w./-]+|[\w./-]+(?:/|\.py|\.tsx?|\.md|\.css))`([^`|\n;]*\((?:`[\w.]+`(?:, )?)+\))?"
)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_files_that_a_page_names_exist_and_hold_the_names_behind_them(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = [(path, re.findall(r"`(\w+)`", names)) for path, names in PATH.findall(text)]
    assert len(named) > 2
    for path, names in named:
        if path == MADE:
            continue
        where = (
            [place / path for place in PLACES]
            if "/" in path
            else [*(ROOT / "web" / "src").rglob(path), *(place / path for place in PLACES)]
        )
        found = next((file for file in where if file.exists()), None)
        assert found is not None, f"{page}: {path}"
        for name in names if found.is_file() else ():
            assert re.search(rf"\b{name}\b", found.read_text(encoding="utf-8")), f"{page}: {path} has no {name}"


def test_the_picture_of_layers_is_the_contract() -> None:
    picture = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    width = picture.index("arguments and")  # the left column has the folders; a line that is indented goes on
    rows = re.sub(r"\n {3}", " ", "\n".join(line[:width] for line in picture.splitlines())).splitlines()
    shown = [set(row.split()) for row in rows if row.strip()]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    assert [set(re.findall(r"evergold\.(\w+)", layer)) for layer in layers] == [row - {"spread"} for row in shown]


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
