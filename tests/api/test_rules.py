"""The rules of curation over HTTP: shown, tried, saved, and refused in one line."""

from fastapi.testclient import TestClient

from evergold.api.app import create_app
from evergold.model.access import Role
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.builders import a_trace


def test_rules_are_tried_then_saved_then_taken_back(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        workspace.intake.accept([a_trace("t1")])
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        shown = client.get("/api/v1/curation/rules").json()
        assert (shown["number"], shown["rules"]["checks_on"], shown["waiting"]) == (0, False, 0)
        assert {each["name"] for each in shown["checks"]} >= {"answered", "finished", "tool_ok"}
        wanted = {**shown["rules"], "checks_on": True}
        preview = client.post("/api/v1/curation/rules/preview", json=wanted).json()
        assert (preview["candidate_now"], preview["candidate_then"]) == (0, 1)
        saved = client.put("/api/v1/curation/rules", json={"rules": wanted, "base": 0, "why": "plain OpenTelemetry"})
        assert saved.json()["history"][0]["why"] == "plain OpenTelemetry"
        client.post("/api/v1/curation")
        assert client.get("/api/v1/stats").json()["candidate"] == 1
        conflict = client.put("/api/v1/curation/rules", json={"rules": wanted, "base": 0})
        assert conflict.status_code == 409 and "changed meanwhile" in conflict.json()["error"]
        back = client.put("/api/v1/curation/rules", json={"rules": shown["history"][-1]["rules"], "base": 1})
        assert back.json()["rules"]["checks_on"] is False
        client.post("/api/v1/curation")
        assert client.get("/api/v1/stats").json()["golden"] == 0


def test_rules_that_make_no_sense_are_one_line(settings: Settings) -> None:
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        for wrong in (
            {"policy": {"thresholds": {"failure_below": 0.9, "golden_from": 0.5}}},
            {"policy": {"limit": {"candidates_per_day": -1}}},
            {"policy": {"name": "other"}},
            {"checks_off": ["answerd"]},
            {"unknown": 1},
        ):
            answer = client.post("/api/v1/curation/rules/preview", json=wrong)
            assert answer.status_code in (400, 422) and "Traceback" not in answer.text, wrong


def test_a_reviewer_reads_the_rules_and_does_not_change_them(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        token = workspace.access.add("rita", Role.REVIEWER).token
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        client.headers["Authorization"] = f"Bearer {token}"
        rules = client.get("/api/v1/curation/rules").json()["rules"]
        refused = client.put("/api/v1/curation/rules", json={"rules": rules})
        assert refused.status_code == 403 and "editor" in refused.json()["error"]
