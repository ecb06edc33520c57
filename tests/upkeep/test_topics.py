"""Topics, coverage and problems, through the commands and the routes that show them."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from evergold import Workspace
from evergold.api.app import create_app
from evergold.cli import invoke
from evergold.errors import BadInput, NotFound
from evergold.model.case_actions import NewCase
from evergold.model.trace import Trace
from evergold.settings import Settings
from tests.builders import a_score, a_trace

NOW = datetime(2026, 3, 30, 12, tzinfo=UTC)
INTENTS = {
    "card": ("Where is my new {} card", "When will the {} card arrive in the post", "My {} card has not come yet"),
    "refund": (
        "I want a refund for the {} shoes",
        "Please give me my money back for the {} shoes",
        "Refund the {} shoes",
    ),
    "weather": ("What is the weather in {} tomorrow", "Will it rain in {} today", "Weather forecast for {} please"),
    "alarm": ("Set an alarm for {} in the morning", "Wake me up at {} with an alarm", "Add an alarm at {}"),
}
WORDS = ["red", "blue", "green", "black", "white", "silver", "golden", "grey", "pink", "yellow"]


def question(intent: str, number: int) -> str:
    return INTENTS[intent][number % 3].format(WORDS[number // 3 % 10]) + ("?" if number >= 30 else "")


def traffic(intent: str, count: int, *, days: float = 20, first: int = 0, **more: Any) -> list[Trace]:
    """So many traces of an intent, evenly spread over the days before now."""
    return [
        a_trace(
            f"{intent}{number}",
            input=question(intent, number),
            started_at=NOW - timedelta(days=days * (count - number + first) / count),
            **more,
        )
        for number in range(first, first + count)
    ]


@pytest.fixture
def workspace(settings: Settings) -> Iterator[Workspace]:
    with Workspace.open(settings) as opened:
        opened.intake.accept([trace for intent in INTENTS for trace in traffic(intent, 30)])
        yield opened


@pytest.fixture
def here(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> Any:
    """A command over traffic of four intents; gives what it prints as JSON."""
    home = str(tmp_path / "cli")
    with Workspace.open(home=home) as opened:
        opened.intake.accept([trace for intent in INTENTS for trace in traffic(intent, 30)])

    def call(*words: str) -> Any:
        assert invoke(["--home", home, *words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return call


def topics_by_intent(workspace: Workspace) -> dict[str, set[int]]:
    """The topics that the traces of each intent are in."""
    held: dict[str, set[int]] = {intent: set() for intent in INTENTS}
    for topic in workspace.topics.all():
        for trace in workspace.topics.members(topic.id, 1000):
            held[trace.rstrip("0123456789")].add(topic.id)
    return held


def test_intents_are_apart_and_keep_their_ids_when_traffic_comes(workspace: Workspace) -> None:
    before = topics_by_intent(workspace)
    every = [topic for topics in before.values() for topic in topics]
    assert len(every) == len(set(every)), "no topic holds two intents"
    sizes = {topic.id: topic.traces for topic in workspace.topics.all()}
    assert sum(sizes.values()) >= 0.9 * 120
    members = {topic: set(workspace.topics.members(topic, 1000)) for topic in sizes}
    workspace.intake.accept([trace for intent in INTENTS for trace in traffic(intent, 5, first=30)])
    assert {topic.id for topic in workspace.topics.all()} == set(sizes)
    assert all(members[topic] <= set(workspace.topics.members(topic, 1000)) for topic in sizes)
    assert "alarm" in " ".join(topic.name for topic in workspace.topics.all() if topic.id in before["alarm"])


def test_a_repeated_question_has_the_topic_of_the_first_whatever_its_case(workspace: Workspace) -> None:
    workspace.topics.all()
    workspace.intake.accept(
        [a_trace("again", input="  SET an alarm for RED in the morning "), a_trace("empty", input="")]
    )
    workspace.topics.all()
    (topic,) = [one.id for one in workspace.topics.all() if "alarm0" in workspace.topics.members(one.id, 1000)]
    assert "again" in workspace.topics.members(topic, 1000)
    assert not [one for one in workspace.topics.all() if "empty" in workspace.topics.members(one.id, 1000)]


def test_what_people_decide_stays_when_topics_are_learnt_again(workspace: Workspace) -> None:
    topics = topics_by_intent(workspace)
    card, refund = min(topics["card"]), min(topics["refund"])
    workspace.topics.rename(card, "Where is my card", "ana")
    workspace.topics.merge([refund], min(topics["weather"]), "ana")
    kept = set(workspace.topics.members(min(topics["weather"]), 1000))
    assert "refund0" in kept or "refund1" in kept or "refund2" in kept
    # More than twice as many different questions: everything is learnt again.
    more = [a_trace(f"m{n}", input=f"{question('alarm', n)} number {n} of many") for n in range(200)]
    workspace.intake.accept(more)
    after = {topic.id: topic for topic in workspace.topics.all()}
    assert after[card].name == "Where is my card"
    assert kept <= set(workspace.topics.members(min(topics["weather"]), 1000))
    assert refund not in after
    with pytest.raises(NotFound, match=f"no topic {refund}"):
        workspace.topics.rename(refund, "x", "ana")


def test_a_topic_is_parted_for_good(workspace: Workspace) -> None:
    topics = topics_by_intent(workspace)
    one, other = min(topics["card"]), min(topics["alarm"])
    workspace.topics.merge([other], one, "ana")
    (made,) = workspace.topics.split(one, 2, "ana")
    parts = [{trace.rstrip("0123456789") for trace in workspace.topics.members(topic, 1000)} for topic in (one, made)]
    assert sorted(map(sorted, parts)) == [["alarm"], ["card"]]
    with pytest.raises(BadInput, match="different questions"):
        workspace.topics.split(one, 21, "ana")


def test_a_new_intent_becomes_a_topic_of_its_own(workspace: Workspace) -> None:
    before = {topic.id for topic in workspace.topics.all()}
    for number, word in enumerate(WORDS * 3):
        text = f"Translate the sentence about {word} horses into French, variant {number}"
        workspace.intake.accept([a_trace(f"new{number}", input=text)])
    fresh = [topic for topic in workspace.topics.all() if topic.id not in before]
    assert fresh
    assert sum(topic.traces for topic in fresh) >= 20


def test_commands_print_topics_coverage_and_problems(here: Any) -> None:
    topics = here("topics")
    assert set(topics[0]) == {"id", "name", "traces", "failures", "golden", "candidates", "covered"}
    assert len(here("topics", "--members")[0]["members"]) > 0
    assert here("topics", "rename", str(topics[0]["id"]), "My topic")["name"] == "My topic"
    assert "My topic" in [topic["name"] for topic in here("topics")]
    merged = here("topics", "merge", str(topics[0]["id"]), str(topics[1]["id"]))
    assert merged == {"topic": topics[0]["id"], "merged": [topics[1]["id"]]}
    assert len(here("topics", "split", str(topics[0]["id"]))["made"]) == 1
    coverage = here("coverage")
    assert set(coverage) == {"share", "low", "high", "weeks", "distance", "drift", "gaps"}
    assert coverage["share"] == 0.0
    assert set(coverage["gaps"][0]) == {"topic", "name", "traces", "failure_share", "why"}
    assert here("problems") == []


def test_golden_cases_cover_their_topic_and_the_gaps_fill_the_queue(here: Any, tmp_path: Any) -> None:
    home = str(tmp_path / "cli")
    with Workspace.open(home=home) as opened:
        for n in range(30):
            opened.case_actions.create(
                NewCase(dataset="mine", input=question("card", n), expected="In five days."), "ana"
            )
    coverage = here("coverage")
    assert 0.15 < coverage["low"] <= coverage["share"] <= coverage["high"] < 0.4
    assert sum(week["traces"] for week in coverage["weeks"]) == 120
    assert 0 < coverage["distance"] < 1
    picked = here("review", "fill", "--gaps", "6")
    assert len(picked) == 6
    assert not [one for one in picked if one["trace_id"].startswith("card")]
    assert here("coverage")["share"] == coverage["share"], "what waits for review covers nothing"
    assert here("review", "queue", "--dataset", "gaps")["total"] == 6


def fail(workspace: Workspace, intent: str, count: int, first: int, at: datetime) -> None:
    low = a_score("helpful", 0.0, "user")
    workspace.intake.accept(
        [
            a_trace(f"{intent}{n}", input=question(intent, n % 30), started_at=at + timedelta(minutes=n), scores=[low])
            for n in range(first, first + count)
        ]
    )
    workspace.live.curate()


def test_a_recurring_failure_is_one_problem_until_it_is_fixed_and_again_when_it_comes_back(
    workspace: Workspace,
) -> None:
    fail(workspace, "refund", 12, 100, NOW - timedelta(days=2))
    (problem,) = workspace.problems.all()
    assert (problem.reason, problem.state) == ("helpful", "open")
    assert 8 <= problem.count <= 12
    assert problem.traces[0].startswith("refund")
    assert problem.trend[-1] == problem.count
    made = workspace.make_problem_cases(problem.id, "ana")
    assert (made.dataset, made.added) == (f"problem-{problem.id}", problem.count)
    assert workspace.problems.fix(problem.id, "ana").state == "fixed"
    assert [one.state for one in workspace.problems.all()] == ["fixed"]
    fail(workspace, "refund", 6, 200, NOW)
    assert [(one.id, one.state) for one in workspace.problems.all()] == [(problem.id, "reopened")]


def test_failures_everywhere_are_no_problem_of_a_topic(workspace: Workspace) -> None:
    for number, intent in enumerate(INTENTS):
        for word in (number, number + 5):  # no two ask for the same word
            fail(workspace, intent, 1, 300 + word * 3, NOW - timedelta(days=1))
    assert workspace.problems.all() == []


def test_drift_alarms_when_a_tenth_of_the_traffic_is_new(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        workspace.intake.accept(
            [trace for intent in ("card", "refund", "weather") for trace in traffic(intent, 60, days=35)]
        )
        quiet = workspace.coverage.measure().drift
        assert quiet.value is None or not quiet.alarm
        workspace.intake.accept(traffic("alarm", 30, days=3))
        drift = workspace.coverage.measure().drift
    assert drift.alarm
    assert drift.value is not None and drift.threshold is not None and drift.value > drift.threshold


def test_routes_give_the_same_and_people_change_topics(workspace: Workspace) -> None:
    with TestClient(create_app(Settings(), workspace), base_url="http://127.0.0.1") as client:
        topics = client.get("/api/v1/topics").json()
        points = client.get("/api/v1/topics/map").json()
        assert {one["id"] for one in points} >= {topic["id"] for topic in topics if topic["traces"]}
        assert all(0 <= one["x"] <= 1 and 0 <= one["y"] <= 1 for one in points)
        number = topics[0]["id"]
        assert len(client.get(f"/api/v1/topics/{number}/members?limit=3").json()) == 3
        changed = client.patch(f"/api/v1/topics/{number}", json={"name": "Renamed"}).json()
        assert "Renamed" in [topic["name"] for topic in changed]
        assert client.patch(f"/api/v1/topics/{number}", json={}).status_code == 400
        assert client.get("/api/v1/coverage").json()["gaps"]
        assert len(client.post("/api/v1/review/fill?gaps=3").json()) == 3
        assert client.get("/api/v1/problems").json() == []
        assert client.post("/api/v1/problems/7/fixed").status_code == 404


def test_coverage_is_unknown_before_there_are_topics(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        workspace.intake.accept(traffic("card", 8))
        measured = workspace.coverage.measure()
    assert measured.share is None and measured.low is None and measured.weeks == []
    assert measured.drift.value is None and not measured.drift.alarm
