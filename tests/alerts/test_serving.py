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


def test_people_make_mute_and_remove_rules_beside_those_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(background, "LOOK_SECONDS", 0.01)
    with_an_old_trace(tmp_path)
    with receiving() as receiver:
        settings = Settings(home=tmp_path, alerts_webhook=receiver.url, alerts_every_seconds=1)
        with TestClient(create_app(settings), base_url="http://localhost") as client:
            rule = {"kind": "intake_stopped", "after": "1s", "name": "silence"}
            made = client.post("/api/v1/alerts/rules", json=rule).json()
            assert made["rules"] == [
                {"name": "silence", "kind": "intake_stopped", "origin": "workspace"}
                | {"limits": {"after": "1s"}, "muted_until": None}
            ]
            receiver.wait_for(1)
            wrong = client.post("/api/v1/alerts/rules", json={"kind": "intake_stopped", "afer": "1s"})
            assert wrong.status_code == 400 and "did you mean 'after'" in wrong.json()["error"]
            assert client.post("/api/v1/alerts/mute", json={"rule": "nothing"}).status_code == 404
            muted = client.post("/api/v1/alerts/mute", json={"rule": "silence", "hours": 2}).json()
            assert muted["rules"][0]["muted_until"] is not None
    with Workspace.open(settings) as workspace:
        with workspace.store.db.read() as connection:
            (rule_in_force,) = workspace.alerts.stage.rules(connection)
        assert rule_in_force.label == "silence"
    home = ["--home", str(tmp_path)]
    assert run([*home, "alerts", "add", "failing_rate", "check=answered", "above=0.2"]) == 0
    assert "2 rules: silence, failing_rate:answered" in capsys.readouterr().out
    assert run([*home, "alerts", "mute", "silence", "--hours", "0", "--json"]) == 0
    assert [one["muted_until"] for one in json.loads(capsys.readouterr().out)["rules"]] == [None, None]
    monkeypatch.setenv("EVERGOLD_ALERTS_RULES", json.dumps([{"kind": "gate_failed"}]))
    assert run([*home, "alerts", "remove", "gate_failed"]) == 2
    assert "is in the settings" in capsys.readouterr().err
    assert run([*home, "alerts", "remove", "silence"]) == 0


def test_a_muted_rule_is_shown_and_not_sent(tmp_path: Path) -> None:
    with_an_old_trace(tmp_path)
    with receiving() as receiver:
        settings = Settings(home=tmp_path, alerts_rules=SILENT, alerts_webhook=receiver.url)
        with Workspace.open(settings) as workspace:
            workspace.alerts.mute("intake_stopped", 1.0)
            workspace.alerts.stage.look()
            workspace.alerts.stage.deliver_due()
            (alert,) = workspace.alerts.state().alerts
            assert alert.firing and not alert.deliveries and not receiver.got
