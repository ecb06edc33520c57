"""Alerts of a running server, on the command line and over the API."""

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from evergold.alerts import stage as background
from evergold.api.app import create_app
from evergold.cli import invoke as run
from evergold.errors import BadInput
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.alerts.receiver import receiving
from tests.builders import a_trace

SILENT = ({"kind": "intake_stopped", "after": "1s"},)


def with_an_old_trace(home: Path) -> None:
    with Workspace.open(Settings(home=home)) as workspace:
        workspace.intake.accept([a_trace()])
        old = "UPDATE traces SET received_at = '2026-01-01T00:00:00.000Z'"
        workspace.store.db.write(lambda connection: connection.exec_driver_sql(old))


def test_a_server_looks_and_sends_while_it_takes_traces_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "LOOK_SECONDS", 0.01)
    with_an_old_trace(tmp_path)
    with receiving() as receiver:
        receiver.held = True  # the webhook hangs; intake does not
        settings = Settings(home=tmp_path, alerts_rules=SILENT, alerts_webhook=receiver.url)
        with TestClient(create_app(settings), base_url="http://localhost") as client:
            receiver.wait_for(1)
            sent = client.post("/api/v1/traces", json={"id": "t2", "input": "hi", "output": "Hello."})
            assert sent.status_code in (200, 201, 202)
            receiver.held = False
            receiver.released.set()
            state = client.get("/api/v1/alerts").json()
            assert state["webhook"].endswith("/…") and "secret" not in json.dumps(state)
            assert state["alerts"][0]["rule"] == "intake_stopped" and state["looked_at"]
            tested = client.post("/api/v1/alerts/test").json()
            assert tested["sent"] is True and tested["readings"][0]["rule"] == "intake_stopped"


def test_a_server_with_a_wrong_rule_does_not_start(tmp_path: Path) -> None:
    app = create_app(Settings(home=tmp_path, alerts_rules=({"kind": "nothing"},)))
    with pytest.raises(BadInput, match="unknown kind 'nothing'"), TestClient(app, base_url="http://localhost"):
        pass


def test_the_command_line_lists_and_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_an_old_trace(tmp_path / "home")
    home = ["--home", str(tmp_path / "home")]
    monkeypatch.setenv("EVERGOLD_ALERTS_RULES", json.dumps(SILENT))
    assert run([*home, "alerts", "test"]) == 0
    assert "fires  intake_stopped: the newest trace came at 2026-01-01" in (shown := capsys.readouterr().out)
    assert "alerts.webhook is not set" in shown
    with receiving() as receiver:
        monkeypatch.setenv("EVERGOLD_ALERTS_WEBHOOK", receiver.url)
        assert run([*home, "alerts", "test", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["sent"] is True
        receiver.status = 500
        assert run([*home, "alerts", "test"]) == 1
        assert "answered 500" in capsys.readouterr().err
        with Workspace.open(Settings(home=tmp_path / "home", alerts_rules=SILENT, alerts_webhook=receiver.url)) as ws:
            ws.alerts.stage.look()
            ws.alerts.stage.deliver_due()
    assert run([*home, "alerts", "list"]) == 0
    assert "firing pending (1 try: answered 500)" in capsys.readouterr().out
