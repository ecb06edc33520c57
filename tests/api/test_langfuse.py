"""Langfuse's batch address: what is taken and what is not is answered event by event."""

from pathlib import Path

from fastapi.testclient import TestClient

from evergold.api.app import create_app
from evergold.settings import Settings


def test_a_batch_is_stored_and_answered_by_event(tmp_path: Path) -> None:
    batch = [
        {"id": "e1", "type": "trace-create", "body": {"id": "t1", "name": "chat", "input": "Hi", "output": "Hello."}},
        {"id": "e2", "type": "score-create", "body": {"traceId": "t1", "name": "thumb", "value": 7}},
    ]
    with TestClient(create_app(Settings(home=tmp_path)), base_url="http://127.0.0.1:8321") as client:
        reply = client.post("/api/public/ingestion", json={"batch": batch})
        assert reply.status_code == 207
        assert [done["id"] for done in reply.json()["successes"]] == ["e1"]
        assert [error["id"] for error in reply.json()["errors"]] == ["e2"]
        assert client.get("/api/v1/traces/t1").json()["output"] == "Hello."
