"""References that may no longer hold, through the commands and the routes: what changed, what did not, what people decide."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from evergold import Workspace
from evergold.api.app import create_app
from evergold.cli import invoke
from evergold.errors import BadInput
from evergold.model.case_actions import NewCase, Picking
from evergold.model.review import CaseKey, Decision, ReviewVerdict
from evergold.settings import Settings
from evergold.upkeep.staleness import hash_result, is_revision

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
POLICY = "Refunds are paid within 30 days of the purchase. Bring the receipt to the counter."
QUESTION = "How long do I have to return my shoes?"


def record(
    name: str, question: str, answer: str, day: float, text: str = "", source: str = "refunds.md", **more: Any
) -> Any:
    at = (NOW + timedelta(days=day)).isoformat().replace("+00:00", "Z")
    contexts = {"contexts": [{"text": text, "source": source}]} if text else {}
    return {"type": "trace", "id": name, "input": question, "output": answer, "started_at": at, **contexts, **more}


@pytest.fixture
def send(settings: Settings, tmp_path: Path) -> Iterator[Callable[..., Workspace]]:
    workspace = Workspace.open(settings)

    def ingest(*records: Any) -> Workspace:
        file = tmp_path / "traces.jsonl"
        file.write_text("".join(json.dumps(one) + "\n" for one in records))
        workspace.intake.ingest([file])
        return workspace

    yield ingest
    workspace.close()


def pick(workspace: Workspace, *traces: str) -> None:
    workspace.case_actions.pick(Picking(trace_ids=traces, dataset="d"), "ana")


def stale(workspace: Workspace) -> list[tuple[str, str | None, str | None]]:
    return [(one.id, one.was, one.now) for one in workspace.staleness.all()]


def test_a_changed_document_is_found_and_another_passage_is_none(send: Any) -> None:
    workspace = send(record("a", QUESTION, "30 days.", 0, POLICY))
    pick(workspace, "a")
    send(
        record("same", "Where do I bring them?", "To the counter.", 1, POLICY.replace(" the", "  the")),
        record("other", "When do you open?", "At 9.", 2, "The counter opens at 9 in the morning and closes at 6."),
    )
    assert stale(workspace) == []
    changed = POLICY.replace("30", "14")
    send(record("new", "Do I need the receipt?", "Yes.", 3, changed))
    assert stale(workspace) == [("a", POLICY, changed)]
    (item,) = workspace.review.queue(_with_question()).items
    assert item.needs_look == "stale? the document refunds.md changed"
    # The old wording came again: nothing changed after all.
    send(record("back", "Do I need it?", "Yes.", 4, POLICY))
    assert stale(workspace) == []
    assert not workspace.review.queue(_with_question()).items


def _with_question() -> Any:
    from evergold.model.review import QueueQuery

    return QueueQuery(needs_look=True)


def test_rows_of_one_list_are_no_changes_of_each_other(send: Any) -> None:
    rows = {
        name: f"The price of the {name} bicycle is {cost} EUR in all shops."
        for name, cost in (("red", 90), ("blue", 80))
    }
    workspace = send(record("a", "What does the red bicycle cost?", "90 EUR", 0, rows["red"], "prices.csv"))
    pick(workspace, "a")
    send(record("b", "What does the blue bicycle cost?", "80 EUR", 1, rows["blue"], "prices.csv"))
    assert stale(workspace) == []


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (POLICY.replace("30 days", "two weeks"), True),
        (POLICY + " Sale items are excluded.", True),
        ("Refunds are paid within 30 days of the purchase.", True),
        ("Bring the receipt to the counter. It is open from nine to six on weekdays.", False),
        ("Our shops are open from nine to six on weekdays and closed on Sundays.", False),
        (f"Welcome to our shop. {POLICY} Thank you for your visit.", False),
    ],
)
def test_a_revision_is_the_same_passage_with_something_changed(new: str, expected: bool) -> None:
    assert is_revision(POLICY, new) is expected


def test_a_tool_that_gives_another_result_for_the_same_arguments(send: Any) -> None:
    def asked(name: str, day: float, status: str, order: str = "7", **more: Any) -> Any:
        called = [
            {"id": "c", "type": "function", "function": {"name": "get_order", "arguments": json.dumps({"id": order})}}
        ]
        result = {
            "role": "tool",
            "tool_call_id": "c",
            "content": json.dumps({"status": status, "request_id": name} | more),
        }
        messages = [{"role": "user", "content": f"Where is order {order}?"}]
        span = {
            "id": f"s{name}",
            "kind": "llm",
            "input": json.dumps([*messages, {"role": "assistant", "content": None, "tool_calls": called}, result]),
            "output": json.dumps({"role": "assistant", "content": f"It is {status}."}),
        }
        return record(name, f"Where is order {order}?", f"It is {status}.", day, spans=[span])

    workspace = send(asked("a", 0, "packed"))
    pick(workspace, "a")
    case = workspace.review.case(CaseKey(dataset="d", id="a")).case
    assert [call.name for call in case.tool_calls] == ["get_order"]
    send(asked("b", 1, "packed"), asked("c", 2, "delivered", "8"))
    assert stale(workspace) == []
    send(asked("d", 3, "delivered"))
    ((name, was, now),) = stale(workspace)
    assert name == "a"
    assert "packed" in str(was)
    assert "delivered" in str(now)
    assert (
        hash_result('{"a": 1, "request_id": "x"}') == hash_result({"a": 1, "requestId": "y"}) != hash_result({"a": 2})
    )


def test_a_confirmed_answer_that_differs_makes_the_earlier_one_stale(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        cases = []
        for answer in ("You have 30 days.", "You have 14 days."):
            cases.append(workspace.case_actions.create(NewCase(dataset="d", input=QUESTION, expected=answer), "ana"))
            workspace.review.decide(_key(cases[-1].id), Decision(version=1, verdict=ReviewVerdict.APPROVE), "ana")
            workspace.staleness.refresh()
        assert stale(workspace) == [(cases[0].id, "You have 30 days.", "You have 14 days.")]
        workspace.settle_stale(_key(cases[0].id), _decision("replace", "You have 14 days."), "ben")
        assert stale(workspace) == []


def _key(case_id: str) -> CaseKey:
    return CaseKey(dataset="d", id=case_id)


def _decision(action: str, answer: str | None = None) -> Any:
    from evergold.model.upkeep import StaleDecision

    return StaleDecision.model_validate({"action": action, "answer": answer})


def test_people_keep_replace_or_retire_and_the_history_says_so(send: Any) -> None:
    workspace = send(*(record(name, f"{QUESTION} ({name})", "30 days.", 0, POLICY) for name in "abc"))
    pick(workspace, "a", "b", "c")
    send(record("new", "Do I need the receipt?", "Yes.", 3, POLICY.replace("30", "14")))
    assert len(stale(workspace)) == 3
    workspace.settle_stale(_key("a"), _decision("keep"), "ben")
    assert workspace.settle_stale(_key("b"), _decision("replace", "14 days."), "ben").reference().text == "14 days."
    assert workspace.settle_stale(_key("c"), _decision("retire"), "ben").status.value == "dismissed"
    history = [(entry.what, entry.who, entry.why) for entry in workspace.review.case(_key("a")).history]
    assert ("approve", "ben", "keep: the document refunds.md changed") in history
    send(record("again", "Do I need the receipt?", "Yes.", 4, POLICY.replace("30", "14")))
    assert stale(workspace) == [], "what people decided is not asked again"
    send(record("third", "Do I need the receipt?", "Yes.", 5, POLICY.replace("30", "10")))
    assert [name for name, _, _ in stale(workspace)] == ["a", "b"]
    with pytest.raises(BadInput, match="is not stale"):
        workspace.settle_stale(_key("c"), _decision("keep"), "ben")
    with pytest.raises(BadInput, match="replace"):
        workspace.settle_stale(_key("a"), _decision("replace"), "ben")


def test_erasure_takes_both_sides(send: Any) -> None:
    workspace = send(record("a", QUESTION, "30 days.", 0, POLICY, user_id="u1"))
    pick(workspace, "a")
    send(record("new", "Do I need the receipt?", "Yes.", 3, POLICY.replace("30", "14"), user_id="u2"))
    assert len(stale(workspace)) == 1
    workspace.retention.erase("u2", who="ana", why="asked")
    assert stale(workspace) == [("a", POLICY, None)]
    workspace.retention.erase("u1", who="ana", why="asked")
    assert stale(workspace) == []
    with workspace.store.db.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM case_bases").scalar() == 0


def test_commands_and_routes(
    send: Any, settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVERGOLD_DATABASE_URL", settings.database_url)
    workspace = send(record("a", QUESTION, "30 days.", 0, POLICY), record("b", f"{QUESTION}?", "30 days.", 0, POLICY))
    pick(workspace, "a", "b")
    send(record("new", "Do I need the receipt?", "Yes.", 3, POLICY.replace("30", "14")))
    home = ["--home", str(settings.home)]
    assert invoke([*home, "stale", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)[0]
    assert {"dataset", "id", "because", "was", "now"} <= set(first)
    assert invoke([*home, "stale", "replace", "d", "a", "--answer", "14 days.", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["review"] == "validated"
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        (listed,) = client.get("/api/v1/stale").json()
        assert listed["id"] == "b"
        assert client.get("/api/v1/stale/case", params={"dataset": "d", "id": "b"}).json() == [listed]
        assert client.get("/api/v1/stale/case", params={"dataset": "d", "id": "a"}).json() == []
        assert (listed["was"], listed["now"]) == (POLICY, POLICY.replace("30", "14"))
        refused = client.post("/api/v1/stale/decision", params={"dataset": "d", "id": "b"}, json={"action": "replace"})
        assert refused.status_code == 400
        done = client.post("/api/v1/stale/decision", params={"dataset": "d", "id": "b"}, json={"action": "retire"})
        assert done.json()["status"] == "dismissed"
        assert client.get("/api/v1/stale").json() == []


def test_the_record_names_model_and_prompt_and_goes_with_the_user(
    send: Any, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    named: Any = {"metadata": {"model": "gpt-x", "prompt_name": "returns", "prompt_version": "v7"}}
    workspace = send(record("a", QUESTION, "30 days.", 0, POLICY, user_id="u1", **named))
    pick(workspace, "a")
    home = ["--home", str(settings.home), "--db", settings.database_url]

    def show() -> list[dict[str, str]]:
        assert invoke([*home, "cases", "show", "d", "a", "--json"]) == 0
        return list(json.loads(capsys.readouterr().out)["rests_on"])

    answer, document = show()
    assert (answer["kind"], answer["model"], answer["prompt_version"]) == ("answer", "gpt-x", "returns@v7")
    assert (document["kind"], document["name"], document["seen_at"]) == (
        "document",
        "refunds.md",
        "2026-03-01T12:00:00.000Z",
    )
    send(record("new", "Do I need the receipt?", "Yes.", 3, POLICY.replace("30", "14")))
    (reason,) = workspace.staleness.all()
    assert (reason.model, reason.prompt_version) == ("gpt-x", "returns@v7")
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        assert client.get("/api/v1/stale/basis", params={"dataset": "d", "id": "a"}).json() == show()
        assert client.get("/api/v1/stale/basis", params={"dataset": "d", "id": "x"}).status_code == 404
    workspace.settle_stale(_key("a"), _decision("replace", "14 days."), "ben")
    assert show()[0]["model"] == "", "a person wrote this answer"
    workspace.retention.erase("u1", who="ana", why="asked")
    with workspace.store.db.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM case_bases").scalar() == 0
