"""docs/architecture.md walks one trace, one case and one run through the files; real ones are followed here."""

import re
import sys
import threading
from collections.abc import Callable
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
from evergold.workspace import Workspace
from tests.otlp import a_span, protobuf_body

ROOT = Path(evergold.__file__).parent
PAGE = (ROOT.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")


def walk(title: str) -> list[str]:
    """The files of the numbered list below a heading, in order."""
    section = PAGE.split(f"### {title}\n")[1].split("\n#")[0]
    return re.findall(r"^\d+\. `([\w/]+\.py)`", section, re.MULTILINE)


class Followed:
    """Files of the package whose functions are called while `on`, in the order of their first call, in all threads."""

    def __init__(self) -> None:
        self.on = False
        self.files: dict[str, None] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if self.on and event == "call" and frame.f_code.co_name != "<module>":
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
    assert 5 <= len(listed) <= 15
    assert [file for file in followed.files if file in listed] == listed, f"called: {list(followed.files)}"


def test_the_files_of_a_trace(tmp_path: Path, followed: Followed) -> None:
    app = create_app(Settings(home=tmp_path, server_reader=False))
    kind = {"content-type": "application/x-protobuf"}
    with TestClient(app, base_url="http://127.0.0.1:8321") as client:
        client.post("/v1/traces", content=protobuf_body(a_span(0)), headers=kind)
        sent = followed.during(lambda: client.post("/v1/traces", content=protobuf_body(a_span(1)), headers=kind))
    assert sent.status_code == 200
    assert_walked("One trace", followed)


GOOD = Score(name="helpful", value=1.0, source=ScoreSource.SYSTEM)
TRACE = Trace(id="t1", input="How do I return boots?", output="Print the label in your account.", scores=(GOOD,))


def test_the_files_of_a_case(tmp_path: Path, followed: Followed) -> None:
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
        followed.during(lambda: workspace.bench.work_on(workspace.bench.run_here(spec).id))
    assert_walked("One run", followed)
