"""Settings over REST and on the command line: values with their origin, keys never, trials of endpoint and redaction."""

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from evergold.api.app import create_app
from evergold.cli import invoke as run
from evergold.model.access import Role
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.openai_server import serving

KEY = "sk-live-3f9c1d7e5b2a4860"


def test_settings_say_where_they_come_from_and_hold_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    settings = Settings(
        home=tmp_path, model_api_key=KEY, judge_default="openai/gpt-4o", origins={"model.api_key": "evergold.toml"}
    )
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        seen = client.get("/api/v1/settings").json()
    assert KEY not in json.dumps(seen)
    ends = {one["name"]: one for one in seen["endpoints"]}
    assert ends["models"]["key_from"] == ends["judge"]["key_from"] == "evergold.toml"
    assert (ends["anthropic"]["key_from"], ends["google"]["key_from"]) == ("ANTHROPIC_API_KEY", "")
    values = {one["name"]: one["value"] for one in seen["settings"]}
    assert values["model.api_key"] == "(set)" and values["home"] == str(tmp_path)
    assert (seen["judge"], seen["database"]) == ("openai/gpt-4o", "sqlite") and seen["prices"]["models"] > 100


def test_others_than_the_owner_see_no_paths_and_try_no_endpoint(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        tokens = {role: workspace.access.add(role.value, role).token for role in (Role.READER, Role.OWNER)}
    with TestClient(create_app(Settings(home=tmp_path)), base_url="http://localhost") as client:
        reader, owner = ({"Authorization": f"Bearer {tokens[role]}"} for role in tokens)
        seen = client.get("/api/v1/settings", headers=reader)
        assert str(tmp_path) not in seen.text
        values = {one["name"]: one["value"] for one in seen.json()["settings"]}
        assert values["home"] is None and values["judge.default"] == ""
        tried = {"endpoint": "models"}
        assert client.post("/api/v1/settings/endpoint", json=tried, headers=reader).status_code == 403
        assert client.post("/api/v1/settings/endpoint", json=tried, headers=owner).json()["ok"] is False
        text = {"text": "write to ann@example.org"}
        redacted = client.post("/api/v1/settings/redaction", json=text, headers=reader).json()
        assert redacted == {"text": "write to [EMAIL]", "kinds": {"EMAIL": 1}}


def test_an_endpoint_is_tried_and_a_text_redacted_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving() as model, Workspace.open(Settings(home=tmp_path, model_base_url=model.url)) as workspace:
        answer = workspace.configuration.try_endpoint("models")
        assert answer.ok and "answers" in answer.message and "no key is set" in answer.message
    with Workspace.open(Settings(home=tmp_path, model_base_url="http://127.0.0.1:9")) as workspace:
        answer = workspace.configuration.try_endpoint("models")
        assert not answer.ok and answer.todo
    assert run(["--home", str(tmp_path), "redact", "call ann@example.org"]) == 0
    assert capsys.readouterr().out == "call [EMAIL]\n"
