"""Simulated users: who plays them, what ends the conversation, and what it costs."""

from typing import Any

from evergold.bench.replay import Helpers
from evergold.bench.replay.helpers import GAVE_UP, GOAL_REACHED
from evergold.bench.targets import RecordedTarget
from evergold.bench.targets.programs import PythonTarget
from evergold.model.case import Case
from evergold.model.run import Attempt
from tests.builders import a_case
from tests.replays import flight_case, played

WITH_GOAL = {"persona": "A traveller in a hurry.", "goal": "AB12 is cancelled."}


def traveller(**metadata: Any) -> Case:
    return flight_case(metadata=WITH_GOAL | metadata)


def talk(user: Any, case: Case | None = None, **options: Any) -> Attempt:
    """A conversation of an assistant that repeats what it hears with this user."""

    def assistant(messages: list[dict[str, Any]]) -> Any:
        return {"output": f"You said: {messages[-1]['content']}", "usage": {"input_tokens": 10, "output_tokens": 1}}

    helpers = Helpers(user=PythonTarget("user", user, {}))
    options = {"turns": "simulated"} | options
    return played(PythonTarget("assistant", assistant, {}), case or traveller(), helpers, **options)


def users_messages(attempt: Attempt) -> list[str]:
    return [message["content"] for message in attempt.metadata["trajectory"] if message["role"] == "user"]


def test_the_user_speaks_until_its_goal_is_reached() -> None:
    lines = iter(["Cancel AB12", "Yes, please", f"Thanks. {GOAL_REACHED}"])
    attempt = talk(lambda messages: {"output": next(lines), "usage": {"input_tokens": 100, "output_tokens": 7}})
    assert users_messages(attempt) == ["Cancel AB12", "Yes, please"]
    assert attempt.metadata["replay"]["ended"] == "goal_reached" and attempt.output == "You said: Yes, please"
    assert attempt.metadata["replay"]["helper_usage"]["input_tokens"] == 300
    assert (attempt.usage.input_tokens, attempt.usage.output_tokens) == (3 * 10 + 300, 3 * 1 + 21)


def test_the_user_sees_persona_and_goal_and_its_own_messages_as_its_own() -> None:
    seen: list[list[dict[str, Any]]] = []

    def user(messages: list[dict[str, Any]]) -> str:
        seen.append(messages)
        return GAVE_UP.lower()

    assert talk(user).metadata["replay"]["ended"] == "gave_up"
    (messages,) = seen
    assert WITH_GOAL["persona"] in messages[0]["content"] and WITH_GOAL["goal"] in messages[0]["content"]
    assert [(message["role"], message["content"]) for message in messages[1:]] == [
        ("assistant", "Hello"),
        ("user", "You said: Hello"),
    ]


def test_a_user_that_never_stops_is_ended_by_the_limit() -> None:
    attempt = talk(lambda messages: "And another thing", max_turns=4)
    assert attempt.metadata["replay"]["ended"] == "turn_limit" and len(users_messages(attempt)) == 3
    assert attempt.output and attempt.error is None


def test_tokens_of_the_user_count_against_the_limit_of_the_trajectory() -> None:
    def wordy(messages: list[Any]) -> Any:
        return {"output": "More", "usage": {"input_tokens": 500, "output_tokens": 0}}

    attempt = talk(wordy, max_tokens=1000)
    assert attempt.metadata["replay"]["ended"] == "token_limit" and len(users_messages(attempt)) == 2


def test_a_user_that_says_nothing_or_breaks_gives_up_with_the_reason() -> None:
    def broken(messages: list[Any]) -> str:
        raise RuntimeError("no voice")

    for user in (lambda messages: "  ", broken):
        assert talk(user).metadata["replay"]["ended"] == "gave_up"


def test_a_task_without_a_conversation_begins_with_its_input() -> None:
    case = a_case("task", input="Cancel AB12", metadata=WITH_GOAL)
    attempt = talk(lambda messages: GOAL_REACHED, case)
    assert attempt.output == "You said: Cancel AB12"


def test_a_case_without_a_goal_says_what_to_write() -> None:
    assert "metadata.goal" in (talk(lambda messages: "", flight_case()).error or "")
    assert "metadata.goal" in (talk(lambda messages: "", traveller(goal=" ")).error or "")
    assert "metadata.persona" in (talk(lambda messages: "", traveller(persona=7)).error or "")


def test_the_model_under_test_plays_the_user_where_no_other_is_named() -> None:
    def both(messages: list[dict[str, Any]]) -> str:
        return GOAL_REACHED if "You play a user" in messages[0]["content"] else "Done."

    attempt = played(PythonTarget("both", both, {}), traveller(), turns="simulated")
    assert attempt.output == "Done." and attempt.metadata["replay"]["ended"] == "goal_reached"


def test_a_user_that_was_drafted_and_not_reviewed_is_marked() -> None:
    attempt = talk(lambda messages: GOAL_REACHED, traveller(user_drafted=True))
    assert attempt.metadata["user_drafted"] is True


def test_the_recorded_model_marks_its_answer_as_its_own_reference() -> None:
    assert played(RecordedTarget()).metadata["recorded"] is True
