"""docs/architecture.md walks one trace, one case and one run through the files; real ones are followed here."""

import ast
import re
import sys
import threading
from collections.abc import Callable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from starlette.testclient import TestClient

import evergold
from evergold.api.app import create_app
from evergold.model.run import RunSpec
from evergold.model.trace import Score, ScoreSource, Trace
from evergold.settings import Settings
from evergold.store.curation_sql import statements
from evergold.workspace import Workspace
from tests.otlp import an_llm_span, protobuf_body

ROOT = Path(evergold.__file__).parent
BACKGROUND = ("evergold-runs", "evergold-curator")  # threads of a server that look for work by themselves
PAGE = (ROOT.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")


def walk(title: str) -> list[str]:
    """The files of the numbered list below a heading, in order."""
    section = PAGE.split(f"### {title}\n")[1].split("\n#")[0]
    return re.findall(r"^\d+\. `([\w/]+\.py)`", section, re.MULTILINE)


def table(title: str) -> dict[str, str]:
    """The rows of the tables below a heading: the path in the first column, the rest of the row."""
    section = PAGE.split(f"### {title}\n")[1].split("\n#")[0]
    return dict(re.findall(r"^\| `([\w/]+(?:\.py|/))` \|(.+)\|$", section, re.MULTILINE))


def imports_of(file: str) -> Iterator[tuple[str, str]]:
    """File and name of every import of our own in a file; the file of a package is its `__init__.py`."""
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("evergold."):
            module = str(node.module).removeprefix("evergold.").replace(".", "/")
            for name in (alias.name for alias in node.names):
                if (ROOT / module / f"{name}.py").is_file():
                    yield f"{module}/{name}.py", name
                else:
                    yield f"{module}.py" if (ROOT / f"{module}.py").is_file() else f"{module}/__init__.py", name


class Followed:
    """Files of the package whose functions are called while `on`, in the order of their first call, in all threads."""

    def __init__(self) -> None:
        self.on = False
        self.files: dict[str, None] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if not self.on or threading.current_thread().name in BACKGROUND:
            return
        if event == "call" and frame.f_code.co_name != "<module>":
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(ROOT):
                self.files.setdefault(path.relative_to(ROOT).as_posix())

    def during(self, work: Callable[[], Any]) -> Any:
        self.on = True
        try:
            return work()
        finally:
            self.on = False


@pytest.fixture
def followed() -> Any:
    following, before = Followed(), sys.getprofile()
    threading.setprofile(following)
    sys.setprofile(following)
    yield following
    sys.setprofile(before)
    threading.setprofile(None)


def assert_walked(title: str, followed: Followed) -> None:
    listed = walk(title)
    assert 5 <= len(listed) <= 20
    assert [file for file in followed.files if file in listed] == listed, f"called: {list(followed.files)}"


def test_the_files_of_a_trace(tmp_path: Path, followed: Followed) -> None:
    """Every file that a request calls is listed, a noun, or in a folder beside the path."""
    app = create_app(Settings(home=tmp_path, eval_auto_curate=False))
    kind = {"content-type": "application/x-protobuf"}
    with TestClient(app, base_url="http://127.0.0.1:8321") as client:
        client.post("/v1/traces", content=protobuf_body(an_llm_span(0)), headers=kind)
        body = protobuf_body(an_llm_span(1, trace="1" * 32), an_llm_span(2, trace="1" * 32, parent=1))
        app.state.workspace.access.refresh()  # tokens are read again after some seconds, which is no part of a request
        sent = followed.during(lambda: client.post("/v1/traces", content=body, headers=kind))
    assert sent.status_code == 200
    assert_walked("One trace", followed)
    named = table("One trace")
    folders = tuple(path for path in named if path.endswith("/"))
    others = [file for file in followed.files if file not in walk("One trace") and not file.startswith(folders)]
    assert set(others) == {path for path in named if path.endswith(".py")}
    assert all(any(file.startswith(folder) for file in followed.files) for folder in folders)


def test_the_path_of_a_trace_has_one_direction() -> None:
    listed = walk("One trace")
    TopologicalSorter({file: {other for other, _ in imports_of(file)} & set(listed) for file in listed}).prepare()


def test_the_path_of_a_trace_uses_few_names_of_the_folders_beside_it() -> None:
    for folder, row in table("One trace").items():
        if folder.endswith("/"):
            used = {
                name
                for file in (*walk("One trace"), "api/app.py")
                for other, name in imports_of(file)
                if other.startswith(folder)
            }
            assert used == set(re.findall(r"`(\w+)`", row)), folder


def test_nouns_on_the_path_import_nouns_alone() -> None:
    nouns = {path for path in table("One trace") if path.endswith(".py")}
    below = {other for file in nouns for other, _ in imports_of(file) if not other.startswith(("model/", "errors.py"))}
    assert below <= nouns


GOOD = Score(name="helpful", value=1.0, source=ScoreSource.SYSTEM)
TRACE = Trace(id="t1", input="How do I return boots?", output="Print the label in your account.", scores=(GOOD,))


def test_the_files_of_a_case(tmp_path: Path, followed: Followed) -> None:
    statements.cache_clear()  # the statements of an earlier test would be used again without a call
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        workspace.intake.accept([TRACE])
        followed.during(workspace.live.curate)
        assert list(workspace.cases.ids("live"))
    assert_walked("One case", followed)


def test_the_files_of_a_run(tmp_path: Path, followed: Followed) -> None:
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        workspace.intake.accept([TRACE])
        workspace.live.curate()
        spec = RunSpec(dataset="live", model="recorded", metrics=("length",))
        bench = workspace.bench  # loaded before it is followed: loading runs the files in an order of its own
        followed.during(lambda: bench.work_on(bench.run_here(spec).id))
    assert_walked("One run", followed)
