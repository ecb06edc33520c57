"""The SDK against a real server: what it sends arrives, is curated, and arrives once however often it is sent."""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import evergold
from evergold.sdk.transports import HttpTransport
from tests.api.serving import calling, served

pytestmark = pytest.mark.slow


def test_from_a_call_to_a_golden_entry(tmp_path: Path) -> None:
    with served(tmp_path) as url, calling(url) as server:
        eg = evergold.connect(url, home=str(tmp_path / "app"))
        with eg.trace(input="capital of Peru?", session_id="s") as t:
            with t.span("search", kind="tool") as s:
                s.output = "Lima"
            t.output = "Lima."
            t.score("check", 1.0)
        eg.react(t.id, "👍", author="ana")
        eg.close(300)
        assert (eg.counts().delivered, eg.counts().refused) == (2, 0)
        until = time.monotonic() + 60
        while server.get("/api/v1/stats").json()["confirmed"] != 1:
            assert time.monotonic() < until
        assert [span["name"] for span in server.get(f"/api/v1/traces/{t.id}").json()["spans"]] == ["search"]
        assert eg.export_jsonl(tmp_path / "golden.jsonl", entry_type="golden") == 1
        line = json.loads((tmp_path / "golden.jsonl").read_text())
        asked = {"dataset": "live", "format": "live-jsonl"}
        assert line == json.loads(server.get("/api/v1/cases/export", params=asked).text)
        with closing(sqlite3.connect(tmp_path / ".evergold" / "evergold.db")) as database:
            query = "SELECT case_id, trace_id FROM eval_dataset WHERE id = ?"
            assert database.execute(query, (line["id"],)).fetchone() == (line["case_id"], t.id)
        assert eg.export_jsonl(tmp_path / "none.jsonl", limit=0) == 0


def test_what_is_sent_twice_is_there_once(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        {
            "type": "trace",
            "id": "t1",
            "input": "q",
            "output": "a",
            "scores": [{"name": "c", "value": 1.0, "key": "k1"}],
        },
        {"type": "score", "trace_id": "t1", "name": "thumbs", "value": 1.0, "source": "user", "key": "k2"},
        {"type": "correction", "trace_id": "t1", "text": "b"},
    ]
    with served(tmp_path) as url, calling(url) as server:
        transport = HttpTransport(url, "")
        assert [transport.send(records) for _ in range(3)] == [[], [], []]
        transport.close()
        assert sorted(score["name"] for score in server.get("/api/v1/traces/t1").json()["scores"]) == ["c", "thumbs"]
        server.post("/api/v1/curation")
        stats = server.get("/api/v1/stats").json()
        assert (stats["traces"], stats["correction"]) == (1, 1)
