"""What to review next: the order, the reasons, and that each review changes what comes next."""

import json
import time
from typing import Any

import pytest
from fastapi.testclient import TestClient

from evergold import Workspace
from evergold.api.app import create_app
from evergold.cli import invoke
from evergold.model.case import Case, EntryType, TierEvidence
from evergold.model.review import CaseKey, Decision, ReviewVerdict
from evergold.settings import Settings
from evergold.store.case.writes import Author, put_cases
from tests.builders import a_trace

TOPICS = (
    "Set an alarm for {} in the morning",
    "I want a refund for the {} shoes",
    "What is the weather in {} tomorrow",
)
WORDS = ["red", "blue", "green", "black", "white", "silver", "golden", "grey", "pink", "yellow", "brown", "violet"]


def fill(workspace: Workspace) -> None:
    cases = [
        Case(
            id=f"{number}-{word}",
            dataset="d",
            input=text.format(word),
            output="An answer.",
            entry_type=EntryType.GOLDEN,
            evidence=TierEvidence.SILENCE,
        )
        for number, text in enumerate(TOPICS)
        for word in WORDS
    ]
    failure = cases[0].model_copy(update={"id": "bad", "entry_type": EntryType.FAILURE})
    remark = cases[0].model_copy(
        update={"id": "remark", "entry_type": EntryType.CORRECTION, "expected": "no, that is wrong"}
    )
    workspace.intake.accept([a_trace(f"t{case.id}", input=case.input) for case in cases])
    workspace.store.write(put_cases, [*cases, failure, remark], Author())


def test_reviews_change_what_comes_next(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        fill(workspace)
        listed = workspace.review_order.list_next(100)
        assert listed[0].id == "remark"
        assert listed[0].why.startswith("a correction without a right answer")
        assert "bad" not in {one.id for one in listed}
        assert len(listed) == 37
        for word in WORDS[:3]:
            for number, verdict in ((1, ReviewVerdict.DISMISS), (0, ReviewVerdict.APPROVE), (2, ReviewVerdict.APPROVE)):
                workspace.review.decide(
                    CaseKey(dataset="d", id=f"{number}-{word}"), Decision(version=1, verdict=verdict), "ana"
                )
        after = [one for one in workspace.review_order.list_next(10) if one.id != "remark"]
        assert {one.id.partition("-")[0] for one in after} == {"1"}, "the topic whose cases were wrong comes first"
        assert "reviewed cases like it were wrong" in after[0].why


def test_the_command_prints_the_reason(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVERGOLD_DATABASE_URL", settings.database_url)
    with Workspace.open(settings) as workspace:
        fill(workspace)
    assert invoke(["--home", str(settings.home), "review", "next", "--limit", "5", "--json"]) == 0
    listed: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    assert len(listed) == 5
    assert {"dataset", "id", "value", "why"} <= set(listed[0])
    assert {(one["tier"], one["evidence"]) for one in listed} >= {("candidate", "silence")}, listed
    assert [one["value"] for one in listed] == sorted((one["value"] for one in listed), reverse=True)
    assert invoke(["--home", str(settings.home), "review", "progress", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["datasets"]
    assert (row["total"], row["candidates"]) == (38, 36)
    assert invoke(["--home", str(settings.home), "review", "progress"]) == 0
    assert "dataset\tcases\tcandidates\tvalidated\tdismissed\nd\t2\t36\t0\t0" in capsys.readouterr().out


def test_the_queue_follows_the_order_and_each_review_changes_it(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        fill(workspace)
    with TestClient(create_app(settings), base_url="http://localhost") as client:

        def queue(**params: Any) -> list[dict[str, Any]]:
            page = client.get("/api/v1/review/queue", params={"order": "value"} | params).json()
            assert page["total"] == 38
            items: list[dict[str, Any]] = page["items"]
            return items

        def follows() -> bool:
            listed = client.get("/api/v1/review/next", params={"limit": 100}).json()
            # What needs no look comes last.
            return [one["id"] for one in queue()] == [*(one["id"] for one in listed), "bad"]

        until = time.monotonic() + 60
        while not follows():  # the server learns topics meanwhile, and with them the order changes
            assert time.monotonic() < until
        listed, items = client.get("/api/v1/review/next", params={"limit": 100}).json(), queue()
        assert [one["why"] for one in items] == [*(one["why"] for one in listed), None]
        assert [one["evidence"] for one in items[:-1]] == [one["evidence"] for one in listed]
        pages = [one for offset in range(0, 50, 10) for one in queue(limit=10, offset=offset)]
        assert [one["id"] for one in pages] == [one["id"] for one in items]
        assert queue(limit=5, order="oldest")[0]["why"] is None
        taken = [client.post("/api/v1/review/claims", json={"order": "value"}).json()["case"] for _ in range(2)]
        assert taken[0]["id"] == taken[1]["id"] == "remark", "a claim of one's own is given again"
        decided = client.post(
            "/api/v1/decisions", params={"dataset": "d", "id": "remark"}, json={"version": 1, "verdict": "dismiss"}
        )
        assert decided.status_code == 200
        after = client.get("/api/v1/review/queue", params={"order": "value"}).json()["items"]
        assert "remark" not in {one["id"] for one in after}
        assert client.post("/api/v1/review/claims", json={"order": "value"}).json()["case"]["id"] == after[0]["id"]
