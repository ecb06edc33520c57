"""Curation over HTTP, against a real server: it happens by itself, it is explained, and what failed would show."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from tests.api.serving import calling, served


@pytest.fixture
def server(tmp_path: Path) -> Iterator[httpx.Client]:
    with served(tmp_path) as url, calling(url) as client:
        yield client


def settled(server: httpx.Client) -> dict[str, Any]:
    """The statistics once nothing waits any more."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        server.post("/api/v1/curation")
        stats: dict[str, Any] = server.get("/api/v1/stats").json()
        if not stats["waiting"]:
            return stats
    raise AssertionError("still waiting")


def test_scores_reactions_and_corrections_move_an_entry(server: httpx.Client) -> None:
    trace = {"id": "t1", "input": "q", "output": "a", "scores": [{"name": "check", "value": 1.0}]}
    server.post("/api/v1/traces", json=trace)
    assert (settled(server)["unconfirmed"], settled(server)["confirmed"]) == (1, 0)
    server.post("/api/v1/reactions", json={"trace_id": "t1", "emoji": "👍🏽", "author": "ana"})
    assert settled(server)["confirmed"] == 1
    server.post("/api/v1/reactions", json=[{"trace_id": "t1", "emoji": "👎", "author": "ana"}])
    assert settled(server)["failure"] == 1
    server.post("/api/v1/reactions", json={"trace_id": "t1", "emoji": None, "author": "ana"})
    assert settled(server)["unconfirmed"] == 1
    for _ in range(2):
        server.post("/api/v1/corrections", json={"trace_id": "t1", "text": "b"})
    stats = settled(server)
    assert (stats["failure"], stats["correction"], stats["golden"]) == (1, 1, 0)


def test_why_a_trace_is_not_golden(server: httpx.Client) -> None:
    server.post("/api/v1/traces", json={"id": "t1", "input": "q", "output": "a"})
    (told,) = server.get("/api/v1/traces/t1/explain").json()
    assert (told["tier"], told["reason"]) == ("none", "no score that takes part")
    assert any(
        one["when"] == "a system score of 1 came" and one["result"] == "unconfirmed" for one in told["counterfactuals"]
    )
    assert server.get("/api/v1/traces/none/explain").status_code == 404


def test_the_background_shows_its_state(server: httpx.Client) -> None:
    server.post("/api/v1/traces", json={"id": "t1", "input": "q", "output": "a"})
    settled(server)
    told = server.get("/api/v1/curation").json()
    assert told["enabled"] and told["state"]["running"]
    assert (told["waiting"], told["failed_ever"], told["state"]["failures"]) == (0, 0, [])
    (policy,) = server.get("/api/v1/policies").json()
    assert policy["label"].startswith("default@") and policy["in_force"]


def test_turned_off(tmp_path: Path) -> None:
    with served(tmp_path, EVERGOLD_EVAL_AUTO_CURATE="false") as url, calling(url) as server:
        server.post("/api/v1/traces", json={"id": "t1", "input": "q", "scores": [{"name": "c", "value": 0.0}]})
        told = server.get("/api/v1/curation").json()
        assert (told["enabled"], told["waiting"]) == (False, 1)
        assert server.post("/api/v1/traces/t1/curate").json()["changes"] == {"added": 1}
