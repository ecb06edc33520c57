"""The assistant of the Trust test under replay: its own code runs, its tools answer from what its traces recorded.

The traces come from the app itself, by the OpenTelemetry SDK to a real server, and become cases without scores.
"""

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from evergold.cli import root
from evergold.model.run import AlignedTrajectory, CallState
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests import assistant_app
from tests.api.serving import calling, served
from tests.patience import PATIENCE

SESSIONS = ("es-01", "es-02", "es-04", "es-05")
APP = "python:tests.assistant_app:answer"
PROGRAM = f"command:{shlex.join([sys.executable, '-m', 'tests.assistant_app'])}"
TOOLS = ["find_article", "read_article"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with the version `assistant@v1`: the turns of four conversations that can be replayed."""
    folder = tmp_path_factory.mktemp("replayed")
    given = {"EVERGOLD_CHECKS_BUILTIN": "true", "EVERGOLD_CHECKS_OFF": "grounded", "EVERGOLD_HOME": str(folder)}
    with served(folder, **given) as url, calling(url) as client:
        converse(url)
        client.post("/api/v1/curation").raise_for_status()
    evergold(
        folder,
        "replay-set",
        "live",
        "--filter",
        "tag=tool:*",
        "--filter",
        "candidates=include",
        "--out",
        "assistant@v1",
    )
    yield folder


def converse(url: str) -> None:
    """Let the app answer the users of the sessions, with its tools as they are."""
    provider = TracerProvider(resource=Resource.create({"service.name": "assistant"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{url}/v1/traces", timeout=PATIENCE)))
    for session in SESSIONS:
        messages: list[dict[str, Any]] = []
        for turn in (one for one in assistant_app.script() if one.session == session):
            messages.append({"role": "user", "content": turn.message})
            answer = assistant_app.Conversation(messages, session, provider.get_tracer("assistant")).answer()
            assert answer == turn.answer
            messages.append({"role": "assistant", "content": answer})
    provider.force_flush(int(PATIENCE * 1000))
    provider.shutdown()


def evergold(home: Path, *words: str) -> str:
    done = CliRunner().invoke(root, ["--home", str(home), *words])
    assert done.exit_code == 0, done.output + str(done.exception)
    return done.stdout


def replayed(home: Path, model: str, limit: int) -> list[AlignedTrajectory]:
    """The trajectories of a run, each beside the recorded one; no tool may run for real."""
    assistant_app.REAL_CALLS.clear()
    rules = ("--replay", "--metric", "trajectory", "--limit", str(limit))
    run = json.loads(evergold(home, "run", "assistant@v1", "--model", model, *rules, "--json"))["run"]
    assert assistant_app.REAL_CALLS == []
    with Workspace.open(Settings(home=home)) as workspace:
        attempts = list(workspace.bench.attempts(run["id"]))
        return [workspace.replays.align(run["id"], attempt.case_id) for attempt in attempts]


@pytest.mark.parametrize(("model", "limit"), [(APP, 100), (PROGRAM, 2)], ids=["python", "command"])
def test_the_app_follows_its_own_record(home: Path, model: str, limit: int) -> None:
    trajectories = replayed(home, model, limit)
    assert len(trajectories) >= min(limit, 15)
    for trajectory in trajectories:
        assert [row.recorded.name for row in trajectory.rows if row.recorded] == TOOLS
        assert [(row.state, row.origin) for row in trajectory.rows] == [(CallState.SAME, "recorded")] * 2
        assert (trajectory.ended, trajectory.first_divergence) == ("answered", None)
        assert trajectory.answer == trajectory.recorded_answer


def test_a_changed_argument_of_the_app_is_seen_at_its_step(home: Path) -> None:
    trajectories = replayed(home, "python:tests.assistant_app:hasty_answer", 100)
    assert len(trajectories) >= 15
    for trajectory in trajectories:
        assert [row.state for row in trajectory.rows] == [CallState.SAME, CallState.CHANGED]
        assert (trajectory.first_divergence, trajectory.ended) == (1, "unrecorded")
        assert "read_article" in (trajectory.stopped or "") and trajectory.answer == ""
