"""Replay sets: what can be replayed is frozen, what cannot is named with its reason; trajectories beside the record."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evergold.cli import root
from evergold.errors import BadInput, NotFound
from evergold.model.case import Case, TierEvidence
from evergold.model.run import Replay, RunSpec, Turns
from evergold.settings import Settings
from evergold.store.case.writes import Author, put_cases
from evergold.workspace import Workspace
from tests.builders import a_case
from tests.replays import asked, call, flight_case, result, said

CUT = "abc [12 more characters were cut on arrival]"


def fill(workspace: Workspace, *cases: Case) -> None:
    workspace.store.db.write(lambda connection: put_cases(connection, cases, Author(who="test")))


def tagged(case: Case, *tags: str) -> Case:
    return case.model_copy(update={"tags": tags})


def four_cases() -> tuple[Case, ...]:
    """One that can be replayed, one without a result, one that was cut, one with other tags."""
    look = said(None, call("1", "find", "{}"))
    lost = a_case("lost", messages=(asked("Go"),), turn=(look, said("Ok")), output="Ok")
    cut = a_case("cut", messages=(asked("Go"),), turn=(look, result("1", CUT), said("Ok")), output="Ok")
    tool = "tool:find"
    return (
        tagged(flight_case("good"), tool),
        tagged(lost, tool),
        tagged(cut, tool, "x"),
        tagged(flight_case("other"), "x"),
    )


def test_a_set_freezes_what_can_be_replayed_and_names_the_rest(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        fill(workspace, *four_cases())
        made = workspace.replays.freeze_set("live", "agents@v1", {"tag": "tool:*"})
        assert (made.dataset, made.version, made.cases, made.with_calls, made.requests) == ("agents", "v1", 1, 1, 3)
        assert set(made.cases_left_out) == {"lost", "cut"} and sum(made.left_out.values()) == 2
        assert "find has no result" in made.cases_left_out["lost"][0] and "cut" in made.cases_left_out["cut"][0]
        spec = RunSpec(dataset="agents@v1", model="recorded", metrics=("trajectory",), replay=Replay())
        run = workspace.bench.work_on(workspace.bench.run_here(spec).id)
        assert [mean.value for mean in workspace.bench.results.means(run)] == [1.0]
        (attempt,) = workspace.bench.attempts(run.id)
        aligned = workspace.replays.align(run.id, attempt.case_id)
        assert [row.state.value for row in aligned.rows] == ["same"] * 3 and aligned.first_divergence is None
        assert [row.origin for row in aligned.rows] == ["recorded"] * 3
        assert [row.spent is None for row in aligned.rows] == [False, False, True], "parallel calls are one request"
        assert len(aligned.spent) == 3 and aligned.ended == "answered"
        with pytest.raises(NotFound, match="no replayed attempt 5"):
            workspace.replays.align(run.id, attempt.case_id, 5)


def test_nothing_to_replay_and_a_name_of_its_own_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        fill(workspace, four_cases()[1])
        with pytest.raises(BadInput, match="find has no result"):
            workspace.replays.freeze_set("live", "agents@v1", {})
        with pytest.raises(BadInput, match="another dataset"):
            workspace.replays.freeze_set("live", "live@v1", {})
        assert workspace.builds.versions("agents") == []


def test_the_command_prints_counts_reasons_and_the_estimate(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        fill(workspace, *four_cases())
    words = ["--home", str(tmp_path), "replay-set", "live", "--filter", "tag=tool:*", "--out", "agents@v1"]
    done = CliRunner().invoke(root, [*words, "--model", "openai/gpt-4o"])
    assert done.exit_code == 0, done.output
    assert (
        "agents@v1: 1 cases can be replayed" in done.output
        and "left out 1: a call of find has no result" in done.output
    )
    assert "3 requests" in done.output and "$" in done.output
    assert "next: evergold run agents@v1 --model openai/gpt-4o --replay" in done.output
    plain = CliRunner().invoke(root, [*words[:-1], "agents@v2"])
    assert "3 requests" in plain.output and "--model NAME gives the price" in plain.output
    none = CliRunner().invoke(root, ["--home", str(tmp_path), "replay-set", "live", "--filter", "tag=y", "--out", "n"])
    assert "passes the filter; evergold curate" in str(none.exception)


def test_a_set_leaves_candidates_out_until_they_are_asked_for(tmp_path: Path) -> None:
    silent = flight_case("silent").model_copy(update={"evidence": TierEvidence.SILENCE})
    words = ["--home", str(tmp_path), "replay-set", "live", "--filter", "tag=tool:*", "--out"]

    def freeze(*rest: str) -> Result:
        return CliRunner().invoke(root, [*words, *rest])

    with Workspace.open(Settings(home=tmp_path)) as workspace:
        fill(workspace, tagged(silent, "tool:find"), tagged(silent.model_copy(update={"id": "x"}), "y"))
    assert "1 candidates wait to be confirmed" in str(freeze("agents").exception)
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        fill(workspace, *four_cases())
    for choice, cases in (("include", 2), ("only", 1)):
        chosen = freeze("agents", "--candidates", choice)
        assert f"{cases} cases can be replayed" in chosen.output and "candidates left out" not in chosen.output
    plain = freeze("agents", "--json")
    assert (json.loads(plain.stdout)["cases"], json.loads(plain.stdout)["candidates_left_out"]) == (1, 1)
    assert "1 candidates left out" in freeze("others").output


def test_the_turns_of_a_conversation_are_sent_in_order_so_that_each_prefix_is_cached(tmp_path: Path) -> None:
    """A provider caches what it was sent once it has answered: of 10 turns, 9 find the turn before them there."""
    turns, conversations = 10, 12
    cached: set[str] = set()
    hits: list[bool] = []

    async def model(messages: list[dict[str, Any]]) -> str:
        from asyncio import sleep

        said_so_far = [str(message["content"]) for message in messages]
        hits.append("|".join(said_so_far[:-2]) in cached)
        await sleep(0)
        cached.add("|".join(said_so_far))
        return "ok"

    from tests.workspace import replayed_model

    replayed_model.act = model
    cases = []
    for number in range(conversations):
        lines = [one for turn in range(turns) for one in (asked(f"{number} asks {turn}"), said(f"answer {turn}"))]
        cases.append(a_case(f"c{number}", messages=tuple(lines[:-1]), turn=(lines[-1],)))
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        fill(workspace, *cases)
        spec = RunSpec(
            dataset="live",
            model="python:tests.workspace.replayed_model:act",
            metrics=("steps",),
            replay=Replay(turns=Turns.EACH),
            concurrency=5,
        )
        run = workspace.bench.work_on(workspace.bench.run_here(spec).id)
    assert run.done == turns * conversations == len(hits)
    assert sum(hits) == (turns - 1) * conversations
