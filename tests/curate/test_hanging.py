"""A detector, tagger, check or redactor that never returns: intake and curation go on without it."""

import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from evergold import plugins
from evergold.api.app import create_app
from evergold.checks import suite
from evergold.checks.stage import CheckStage
from evergold.curate import detectors as guarded
from evergold.curate.live import Curation
from evergold.model.check import CheckResult, Turn
from evergold.model.trace import Trace
from evergold.redact import fields as bounded
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace
from tests.otlp import a_span, protobuf_body
from tests.patience import PATIENCE

RELEASE = threading.Event()


class Hanging:
    """A detector, a tagger, a check and a redactor in one."""

    name, version = "hanging", "1"

    def detect(self, message: str, reply: str | None = None) -> float | None:
        return float(RELEASE.wait(PATIENCE))

    def tags(self, trace: Trace) -> Iterable[str]:
        RELEASE.wait(PATIENCE)
        yield "late"

    def check(self, turn: Turn) -> CheckResult | None:
        RELEASE.wait(PATIENCE)
        return None

    def redact(self, text: str) -> tuple[str, dict[str, int]]:
        RELEASE.wait(PATIENCE)
        return text, {}


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(plugins, "_hanging", {})
    for module in (suite, guarded, bounded):
        monkeypatch.setattr(module, "PLUGIN_SECONDS", 0.05)
    yield
    RELEASE.set()
    RELEASE.clear()


def turns(session: str) -> list[Trace]:
    return [
        a_trace(f"{session}{n}", session_id=session, scores=[a_score()], started_at=f"2026-01-01T00:00:0{n}Z")
        for n in (1, 2, 3)
    ]


def test_curation_goes_on_without_a_detector_and_a_check_that_hang(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        workspace.intake.accept(turns("a"))
        checks = CheckStage(workspace.store, suite.Suite([Hanging()]))
        curation = Curation(workspace.store, workspace.live.curation.policies, Hanging(), checks=checks)
        assert curation.drain().traces == 3
        assert workspace.live.stats().total == 3
        assert plugins.hanging_plugins() == ("check hanging", "detector")
        assert workspace.intake.accept(turns("b")).traces == 3
        assert curation.drain().traces >= 3


def test_a_tagger_that_hangs_leaves_its_tags_out(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    load = plugins.load
    monkeypatch.setattr(plugins, "load", lambda seam, name: Hanging() if name == "stuck" else load(seam, name))
    with Workspace.open(settings) as workspace:
        workspace.intake.accept(turns("a"))
        policies = [one.model_copy(update={"tags": ("stuck",)}) for one in workspace.live.curation.policies]
        assert Curation(workspace.store, policies, None).drain().traces == 3
        assert plugins.hanging_plugins() == ("tagger stuck",)


def test_a_redactor_that_hangs_lets_nothing_through_and_is_named(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = plugins.load
    monkeypatch.setattr(
        plugins, "load", lambda seam, name, **more: Hanging() if seam == "redactors" else load(seam, name, **more)
    )
    app = create_app(replace(settings, redact_redactor="stuck"))
    with TestClient(app, base_url="http://localhost") as client:
        body = protobuf_body(a_span(attributes={"input.value": "write to jo@example.com"}))
        for _ in range(2):
            reply = client.post("/v1/traces", content=body, headers={"content-type": "application/x-protobuf"})
            assert reply.status_code == 503 and "redactor stuck did not return" in reply.text
        assert client.post("/api/v1/traces", json=[{"id": "t", "input": "long enough"}]).status_code == 503
        assert client.get("/api/v1/traces").json()["traces"] == []
        assert 'evergold_plugins_hanging{plugin="redactor stuck"} 1.0' in client.get("/metrics").text
