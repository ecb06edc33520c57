"""Simulated users drafted from conversations: by rule, by a model, and confirmed by a person."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

from evergold.api.app import create_app
from evergold.bench.replay.helpers import draft_by_rule
from evergold.bench.replay.users import AT_ONCE
from evergold.cli import root
from evergold.errors import BadInput, Conflict
from evergold.model.case import Case
from evergold.model.run import SimulatedUser
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.builders import a_case
from tests.openai_server import Body, Reply, serving
from tests.replays import asked, call, result, said
from tests.rows import each_row

TALK = (
    asked("I want to cancel my flight and get the money back."),
    said("Which booking is that?"),
    asked("It is booking AB12. My name is Ana Ruiz, you have my address."),
    said(None, call("1", "find", '{"id": "AB12"}')),
    result("1", "Ana Ruiz, seat 14C, fare 120"),
    said("The fare is 120."),
    asked("Yes, please."),
)


def talk(id: str = "c1", **more: Any) -> Case:
    return a_case(id, messages=TALK, turn=(said("Done."),), output="Done.", **more)


def stored(settings: Settings, *cases: Case) -> Workspace:
    workspace = Workspace.open(settings)
    workspace.cases.put(list(cases))
    return workspace


def test_the_rule_takes_the_first_message_as_the_goal_and_only_what_the_user_stated_as_facts() -> None:
    draft = draft_by_rule(talk())
    assert draft is not None and draft.goal == "I want to cancel my flight and get the money back."
    assert draft.persona.splitlines() == [
        "Writes in English, about 11 words a message.",
        "Facts the user gave:",
        "- It is booking AB12.",
        "- My name is Ana Ruiz, you have my address.",
    ]
    assert "14C" not in draft.persona, "a result of a tool is no fact that the user gave"


@each_row(
    ("text", "begins"),
    [
        (
            "Quiero cancelar el vuelo de mi madre y que me devuelvan el dinero por favor",
            "Writes in Spanish, about 15 words",
        ),
        ("我要取消我的航班", "Writes about 1 word a message."),
        ("x" * 5000, "Writes about 1 word a message."),
    ],
)
def test_the_rule_names_the_language_where_it_is_known(text: str, begins: str) -> None:
    draft = draft_by_rule(a_case("c", input=text, messages=(asked(text),)))
    assert draft is not None and draft.persona.startswith(begins) and len(draft.goal) <= 1501


def test_a_case_without_words_of_a_user_gets_no_draft() -> None:
    assert draft_by_rule(a_case("c", input=" ", messages=(said("Hello"),))) is None


def test_drafts_are_marked_until_a_person_confirms_them(settings: Settings) -> None:
    by_hand = talk("by hand", metadata={"goal": "Mine."})
    with stored(settings, talk(), by_hand) as workspace:
        made = workspace.replay_users.draft("live", {})
        assert (made.drafted, made.had_one, made.by) == (1, 1, {"rule": 1})
        drafted = workspace.cases.get("live", "c1")
        user = SimulatedUser.of(drafted.metadata)
        assert user is not None and user.drafted and "user:drafted" in drafted.tags
        assert workspace.replay_users.draft("live", {}).drafted == 0, "a draft is not written twice"

        with pytest.raises(Conflict):
            workspace.replay_users.confirm("live", "c1", {}, who="ana", version=drafted.version - 1)
        with pytest.raises(BadInput, match="goal"):
            workspace.replay_users.confirm("live", "c1", {"goal": " "}, who="ana")
        kept = workspace.replay_users.confirm("live", "c1", {"goal": "AB12 is cancelled."}, who="ana")
        user = SimulatedUser.of(kept.metadata)
        assert user is not None and not user.drafted and "user:drafted" not in kept.tags
        assert (user.goal, user.persona) == ("AB12 is cancelled.", drafted.metadata["persona"])
        assert "user_drafted_by" not in kept.metadata
        assert workspace.cases.get("live", "by hand").metadata == {"goal": "Mine."}


def test_nothing_to_confirm_says_what_to_do(settings: Settings) -> None:
    with stored(settings, talk()) as workspace, pytest.raises(BadInput, match="replay-users draft"):
        workspace.replay_users.confirm("live", "c1", {}, who="ana")


def test_a_model_writes_the_drafts_and_the_rule_stands_in_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def writer(body: Body) -> Reply:
        seen.append(body["messages"][-1]["content"])
        if "second" in seen[-1]:
            return Reply("I would rather not.")
        return Reply('```json\n{"goal": "AB12 is cancelled.", "persona": "Ana, in a hurry."}\n```')

    with serving(writer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "x")
        other = a_case("c2", messages=(asked("My second matter"),), turn=(said("Ok"),))
        with stored(Settings(home=tmp_path), talk(), other) as workspace:
            made = workspace.replay_users.draft("live", {}, model="openai/writer")
            assert (made.by, made.problems) == (
                {"openai/writer": 1, "rule": 1},
                {"the model's reply is no JSON object with goal and persona": 1},
            )
            metadata = workspace.cases.get("live", "c1").metadata
    assert (metadata["persona"], metadata["user_drafted_by"]) == ("Ana, in a hurry.", "openai/writer")
    assert "14C" not in seen[0], "results of tools are not shown to the writer"


def test_the_verbs_and_the_routes_do_the_same(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    with (
        stored(settings, talk()) as workspace,
        TestClient(create_app(settings, workspace), base_url="http://localhost") as client,
    ):
        refused = client.post("/api/v1/replay-users/drafts", json={"dataset": "live", "model": "python:os:system"})
        assert refused.status_code in (400, 403, 422)
        made = client.post("/api/v1/replay-users/drafts", json={"dataset": "live"})
        assert made.json()["drafted"] == 1
        who = {"x-evergold-reviewer": "ana"}
        kept = client.put("/api/v1/replay-users?dataset=live&case_id=c1", json={"persona": "Ana."}, headers=who)
        assert kept.json()["metadata"]["persona"] == "Ana." and "user_drafted" not in kept.json()["metadata"]
    words = ["--home", str(tmp_path), "replay-users"]
    drafted = CliRunner().invoke(root, [*words, "draft", "live"])
    assert drafted.exit_code == 0 and "0 drafted, 1 had a user already" in drafted.output
    confirmed = CliRunner().invoke(root, [*words, "confirm", "live", "c1", "--goal", "Cancelled."])
    assert confirmed.output == "live/c1: Cancelled.\n"


def test_drafting_that_runs_out_of_time_says_so_and_goes_on_with_the_same_call(settings: Settings) -> None:
    count = 2 * AT_ONCE + 1
    with stored(settings, *(talk(f"c{number}") for number in range(count)), talk("own", metadata={"goal": "x"})) as one:
        dataset = talk().dataset
        calls = [one.replay_users.draft(dataset, {}, seconds=0)]
        while calls[-1].unfinished:
            calls.append(one.replay_users.draft(dataset, {}, seconds=0))
        assert [made.drafted for made in calls] == [AT_ONCE, AT_ONCE, 1]
        assert one.replay_users.draft(dataset, {}).had_one == count + 1
