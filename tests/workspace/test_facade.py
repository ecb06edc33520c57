"""Command line and API call the facade: of the stages and the store they import nouns, never functions."""

import ast
import importlib
import inspect
from pathlib import Path

import evergold
from evergold.settings import Settings
from tests.rows import each_row

ROOT = Path(evergold.__file__).parent
BELOW = ("ingest", "curate", "extract", "review", "build", "bench", "report", "generate", "sources", "store", "formats")
WIRE = {
    "unpack_body",
    "wire_of",
    "wait_for_commit",
}  # framing and time limit of OTLP over HTTP: the route's own business


def imported(path: Path) -> list[tuple[str, str]]:
    """(module, name) of every import from a stage or the store."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    return [
        (str(node.module), alias.name)
        for node in nodes
        for alias in node.names
        if str(node.module).startswith(tuple(f"evergold.{name}" for name in BELOW))
    ]


FILES = sorted([*(ROOT / "cli").glob("*.py"), *(ROOT / "api").rglob("*.py")])


@each_row("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_only_nouns_are_imported_past_the_facade(path: Path) -> None:
    verbs = [
        f"{module}.{name}"
        for module, name in imported(path)
        if inspect.isfunction(getattr(importlib.import_module(module), name)) and name not in WIRE
    ]
    assert verbs == [], f"call the facade instead of {verbs}"


def test_every_facade_can_be_made(tmp_path: Path) -> None:
    """Facades are named by text, so no type checker sees a module or an argument that is gone."""
    with evergold.Workspace.open(Settings(home=tmp_path)) as workspace:
        for name in vars(evergold.Workspace):
            if not name.startswith("_"):
                assert getattr(workspace, name) is not None
