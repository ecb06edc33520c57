"""The documentation is true: the reference is complete, links lead somewhere, and what a page says to type runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.reference import TARGET, render
from tests.console import warm_script
from tests.patience import PATIENCE

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
pytestmark = pytest.mark.slow
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")


def test_the_reference_names_every_command_setting_seam_and_route() -> None:
    assert TARGET.read_text(encoding="utf-8") == render(), "docs/reference.md is stale: run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))], ids=lambda page: page.stem
)
def test_what_a_page_says_to_type_runs(page: Path, tmp_path: Path) -> None:
    """`$ command` lines run in order in one folder; the lines under one must appear in what it prints (… is anything)."""
    folders = f"{warm_script().parent}:{Path(sys.executable).parent}"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("EVERGOLD_")}
    env = {**clean, "PATH": f"{folders}:{os.environ['PATH']}", "EXAMPLES": str(ROOT / "examples"), "REPO": str(ROOT)}
    for kind, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            _run([sys.executable, "-W", "error", "-c", body], tmp_path, env, body)
            continue
        for command, expected in _commands(body):
            printed = _run(["bash", "-ec", command], tmp_path, env, command)
            for line in expected:
                pattern = ".*".join(re.escape(part) for part in line.strip().split("…"))
                assert re.search(pattern, printed), f"{page.name}: $ {command}\nprinted no {line!r} but:\n{printed}"


def _commands(body: str) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for line in re.sub(r"\\\n\s*", "", body).splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip() and found:
            found[-1][1].append(line)
    return found


def _run(command: list[str], folder: Path, env: dict[str, str], shown: str) -> str:
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, f"$ {shown}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr
