"""The documentation is true: the reference is complete, links lead somewhere, and what a page says to type runs."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
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
TOML = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)
TYPED = re.compile(r"^```(?:bash|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
READERS = {  # the file that a block is, by its first key, and the command that reads it
    "check": ("checks.toml", "evergold check-traces --dry-run"),
    "name": ("policy.toml", "evergold curate --policy policy.toml"),
    "alerts": ("evergold.toml", "evergold traces list"),
    "review": ("evergold.toml", "evergold traces list"),
    "questions": ("questions.toml", "evergold review questions live questions.toml"),
}
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")


def test_the_reference_names_every_command_setting_seam_and_route() -> None:
    assert TARGET.read_text(encoding="utf-8") == render(), "docs/reference.md is stale: run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page != TUTORIAL and BLOCK.search(page.read_text(encoding="utf-8"))],
    ids=lambda page: page.stem,
)
def test_what_a_page_says_to_type_runs(page: Path, tmp_path: Path) -> None:
    """`$ command` lines run in order in one folder; the lines under one must appear in what it prints (… is anything)."""
    env = _environment()
    for kind, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            _run([sys.executable, "-W", "error", "-c", body], tmp_path, env, body)
        else:
            _type_commands(page, body, tmp_path, env)


@pytest.mark.parametrize("page", ["live", "operate", "review"])
def test_a_toml_file_of_a_page_is_read(page: str, tmp_path: Path) -> None:
    blocks = TOML.findall((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    assert blocks
    env = {**_environment(), "SLACK_WEBHOOK": "https://hooks.example.org/x", "ALERTS_KEY": "secret"}
    _run(["bash", "-ec", "evergold ingest $EXAMPLES/traces.jsonl && evergold curate"], tmp_path, env, "sample data")
    for body in blocks:
        name, command = READERS[next(iter(tomllib.loads(body)))]
        (tmp_path / name).write_text(body, encoding="utf-8")
        if name == "checks.toml":
            (tmp_path / "evergold.toml").write_text('[checks]\nfiles = ["checks.toml"]\n', encoding="utf-8")
        _run(["bash", "-ec", command], tmp_path, env, body)


def test_commands_that_need_another_machine_are_spelled_right() -> None:
    """Blocks that cannot run here (servers, clusters, object stores) name commands and options that exist."""
    found = [
        line for page in PAGES for block in TYPED.findall(page.read_text(encoding="utf-8")) for line in _own(block)
    ]
    assert len(found) > 20
    for line in found:
        command: click.Command = root
        words = shlex.split(line, comments=True)[1:]
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            inner = command.get_command(click.Context(command), words.pop(0))
            assert inner is not None, line
            command = inner
        options = {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {"--help"}
        assert [word for word in words if word.startswith("--") and word.split("=")[0] not in options] == [], line


def _own(block: str) -> list[str]:
    lines = (line.removeprefix("$ ").strip() for line in block.replace("\\\n", " ").splitlines())
    return [line for line in lines if line.startswith("evergold ")]


@pytest.mark.parametrize("tongue", ["console", "python"])
def test_the_tutorial_leads_to_a_decision(tongue: str, tmp_path: Path) -> None:
    follow_tutorial(tongue, tmp_path, _environment(), sys.executable)


def follow_tutorial(tongue: str, folder: Path, env: dict[str, str], python: str | Path) -> None:
    """Save the files of the tutorial and do its steps, as commands or as one session of Python."""
    text = TUTORIAL.read_text(encoding="utf-8")
    for name, body in FILE.findall(text):
        (folder / name).write_text(body, encoding="utf-8")
    blocks = [body for kind, body in BLOCK.findall(text) if kind == tongue]
    assert len(blocks) == 6
    if tongue == "python":
        printed = _run([str(python), "-W", "error", "-c", "\n".join(blocks)], folder, env, "the tutorial in Python")
        assert "Ship python:shop:following: better on 16 cases" in printed
    else:
        for body in blocks:
            _type_commands(TUTORIAL, body, folder, env)


def _environment() -> dict[str, str]:
    folders = f"{warm_script().parent}:{Path(sys.executable).parent}"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("EVERGOLD_")}
    return {**clean, "PATH": f"{folders}:{os.environ['PATH']}", "EXAMPLES": str(ROOT / "examples"), "REPO": str(ROOT)}


def _type_commands(page: Path, body: str, folder: Path, env: dict[str, str]) -> None:
    for command, expected in _commands(body):
        printed = _run(["bash", "-ec", command], folder, env, command)
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
