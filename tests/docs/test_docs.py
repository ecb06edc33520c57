"""The documentation is true: the reference is complete, links lead somewhere, and what a page says to type runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from evergold.cli import root
from scripts.reference import TARGET, render
from tests.console import warm_script
from tests.patience import PATIENCE

ROOT = Path(__file__).parent.parent.parent
TUTORIAL = ROOT / "docs" / "tutorial.md"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
pytestmark = pytest.mark.slow
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```python title=\"(\S+)\"\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`evergold ([^`]+)`")
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")


def test_the_reference_names_every_command_setting_seam_and_route() -> None:
    assert TARGET.read_text(encoding="utf-8") == render(), "docs/reference.md is stale: run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_sentences_and_tables_exist(page: Path) -> None:
    """Blocks run (test_blocks.py); what a sentence names has at least its command and its options."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for line in INLINE.findall(text):
        command: click.Command = root
        words = line.replace("'", "").split()
        while isinstance(command, click.Group) and words and re.fullmatch("[a-z-]+", words[0]) and words[0][0] != "-":
            inner = command.get_command(click.Context(command), words.pop(0))
            assert inner is not None or (command.callback and command.invoke_without_command), line
            command = inner or command
        options = {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {"--help"}
        assert [word for word in words if word.startswith("--") and word.split("=")[0] not in options] == [], line


@pytest.mark.parametrize("tongue", ["console", "python"])
def test_the_tutorial_leads_to_a_decision(tongue: str, tmp_path: Path) -> None:
    follow_tutorial(tongue, tmp_path, user_environment(), sys.executable)


def follow_tutorial(tongue: str, folder: Path, env: dict[str, str], python: str | Path) -> None:
    """Save the files of the tutorial and do its steps, as commands or as one session of Python."""
    text = TUTORIAL.read_text(encoding="utf-8")
    for name, body in FILE.findall(text):
        (folder / name).write_text(body, encoding="utf-8")
    blocks = [body for kind, body in BLOCK.findall(text) if kind == tongue]
    assert len(blocks) == 6
    if tongue == "python":
        printed = run_program(
            [str(python), "-W", "error", "-c", "\n".join(blocks)], folder, env, "the tutorial in Python"
        )
        assert "Ship python:shop:following: better on 16 cases" in printed
    else:
        for body in blocks:
            type_commands(TUTORIAL, body, folder, env)


def user_environment() -> dict[str, str]:
    folders = f"{warm_script().parent}:{Path(sys.executable).parent}"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("EVERGOLD_")}
    return {**clean, "PATH": f"{folders}:{os.environ['PATH']}", "EXAMPLES": str(ROOT / "examples"), "REPO": str(ROOT)}


def type_commands(page: Path, body: str, folder: Path, env: dict[str, str]) -> None:
    for command, expected in _commands(body):
        printed = run_program(["bash", "-ec", command], folder, env, command)
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


def run_program(command: list[str], folder: Path, env: dict[str, str], shown: str) -> str:
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, f"$ {shown}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr
