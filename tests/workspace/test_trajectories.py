"""Trajectories beside the record: in the comparison of two runs, in review, and as cases made from failing replays."""

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from evergold.api.app import create_app
from evergold.errors import BadInput
from evergold.model.run import Replay, RunSpec, Turns
from evergold.settings import Settings
from evergold.store.case.writes import Author, put_cases
from evergold.workspace import Workspace
from tests.replays import STEPS, flight_case, scripted
from tests.workspace import replayed_model


@pytest.fixture
def workspace(settings: Settings) -> Iterator[Workspace]:
    """A dataset of two replayable cases, on either database."""
    with Workspace.open(settings) as opened:
        cases = [flight_case("a", dataset="agents"), flight_case("b", dataset="agents")]
        opened.store.db.write(lambda connection: put_cases(connection, cases, Author(who="test")))
        yield opened


def replay(
    workspace: Workspace, model: str = "recorded", metrics: tuple[str, ...] = ("trajectory",), **more: Any
) -> str:
    spec = RunSpec(dataset="agents", model=model, metrics=metrics, replay=Replay(**more), cache=False)
    return workspace.bench.work_on(workspace.bench.run_here(spec).id).id


def model_that_only_looks(case_b_only: bool) -> str:
    """A model that makes the first recorded call and stops there; of the other case it makes all."""
    whole, short = scripted(STEPS), scripted(STEPS[:1])

    async def act(messages: list[dict[str, Any]], case: Any) -> Any:
        target = short if case.id.startswith("b") or not case_b_only else whole
        attempt = await target.attempt(case.model_copy(update={"messages": tuple(messages)}), 0, None)
        calls = [{"name": call.name, "args": call.args} for call in attempt.tool_calls]
        return {"output": attempt.output, "tool_calls": calls}

    replayed_model.act = act
    return "python:tests.workspace.replayed_model:act"


def test_two_replays_are_compared_by_the_cases_that_left_the_record(workspace: Workspace) -> None:
    first, second = replay(workspace), replay(workspace, model_that_only_looks(case_b_only=True))
    (only,) = workspace.replays.find_differing(first, second)
    assert (only.case_id, only.first, only.question) == ("b", 1.0, flight_case().input)
    assert only.second == pytest.approx(0.5), "one of three recorded calls, F1 = 2·1 / (1 + 3)"
    assert workspace.replays.find_differing(first, first) == []


def test_runs_that_cannot_be_compared_say_what_to_do(workspace: Workspace) -> None:
    run = replay(workspace, metrics=("steps",))
    with pytest.raises(BadInput, match=f"evergold runs rescore {run} --metric trajectory"):
        workspace.replays.find_differing(run, run)
    plain = workspace.bench.run_here(RunSpec(dataset="agents", model="recorded", metrics=("exact_match",)))
    for ask in (workspace.replays.failing_to_review, lambda id: workspace.replays.find_differing(run, id)):
        with pytest.raises(BadInput):
            ask(plain.id)


def test_the_replays_of_a_case_are_listed_newest_first_with_those_of_its_turns(workspace: Workspace) -> None:
    last, each = replay(workspace), replay(workspace, turns=Turns.EACH)
    listed = workspace.replays.of_case("agents", "a")
    assert [(one.run_id, one.case_id) for one in listed] == [(each, "a#turn-1"), (each, "a#turn-2"), (last, "a")]
    assert [one.value for one in listed] == [None, 1.0, 1.0], "the first turn has no calls"
    assert {one.model for one in listed} == {"recorded"}


def test_failing_replays_become_cases_that_know_their_trajectory(workspace: Workspace) -> None:
    run = replay(workspace, model_that_only_looks(case_b_only=False), ("trajectory", "exact_match"))
    assert workspace.replays.failing_to_review(run) == 0, "0.5 is at the pass mark, and the answer is right"
    replayed_model.act = lambda messages: {"output": "", "tool_calls": [{"name": "book", "args": {}}]}
    run = replay(workspace, "python:tests.workspace.replayed_model:act")
    assert workspace.replays.failing_to_review(run) == 2
    listed = workspace.replays.of_case("failures", f"{run}/a/0")
    assert [(one.run_id, one.case_id, one.trial, one.value) for one in listed] == [(run, "a", 0, 0.0)]
    workspace.bench.delete(run)
    assert workspace.replays.of_case("failures", f"{run}/a/0") == []


def test_the_routes_give_the_same(workspace: Workspace) -> None:
    replayed_model.act = lambda messages: {"output": "", "tool_calls": [{"name": "book", "args": {}}]}
    first, second = replay(workspace), replay(workspace, "python:tests.workspace.replayed_model:act")
    with TestClient(create_app(workspace.settings, workspace), base_url="http://localhost") as client:
        asked = f"/api/v1/benchmarks/compare/trajectories?first={first}&second={second}"
        assert [one["case_id"] for one in client.get(asked).json()] == ["a", "b"]
        assert len(client.get("/api/v1/benchmarks/replays?dataset=agents&case_id=a").json()) == 2
        made = client.post(f"/api/v1/benchmarks/runs/{second}/failing-to-review", json={})
        assert (made.status_code, made.json()) == (201, {"dataset": "failures", "cases": 2})
        shown = client.get(f"/api/v1/benchmarks/runs/{second}/trajectories/a").json()
        assert shown["ended"] == "unrecorded" and shown["first_divergence"] == 0
