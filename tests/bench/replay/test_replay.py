"""Replay: recorded tools as the environment, turns, limits, and the metrics on trajectories."""

import asyncio
from typing import Any

import pytest

from evergold.bench.metrics import make_metric, measure
from evergold.bench.replay.record import each_turn
from evergold.bench.targets import RecordedTarget
from evergold.bench.targets.programs import PythonTarget
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement, OnUnrecorded, Turns
from evergold.model.tool_calls import calls_in
from tests.builders import a_case
from tests.replays import STEPS, flight_case, played, scripted
from tests.rows import each_row


def measured(name: str, attempt: Attempt, case: Case | None = None) -> Measurement:
    return asyncio.run(measure(make_metric(name), case or flight_case(), attempt))


def test_the_recorded_model_repeats_its_own_trajectory() -> None:
    attempt = played(RecordedTarget())
    assert attempt.output == "Done." and attempt.metadata["replay"]["unrecorded"] == 0
    assert [one.result for one in attempt.tool_calls] == ["open", "cancelled", "refunded"]
    trajectory = measured("trajectory", attempt)
    assert (trajectory.value, trajectory.details["first_divergence"]) == (1.0, None)
    assert measured("steps", attempt).value == 3.0


def test_parallel_calls_may_come_in_any_order() -> None:
    swapped = [STEPS[0], list(reversed(STEPS[1]))]
    assert measured("trajectory", played(scripted(swapped))).value == 1.0
    one_by_one = [STEPS[0], [STEPS[1][1]], [STEPS[1][0]]]
    assert measured("trajectory", played(scripted(one_by_one))).value == 1.0


@each_row(
    ("steps", "step", "value"),
    [
        ([STEPS[1]], 0, 2 * 2 / 5),  # the first call is left out: 2 of 3 recorded, 2 of 2 made
        ([[("find", {"id": "ZZ99"})], STEPS[1]], 0, 2 * 2 / 6),
        ([STEPS[0], [STEPS[1][0]]], 2, 2 * 2 / 5),
        ([STEPS[0], STEPS[0], STEPS[1]], 1, 2 * 3 / 7),  # a repeated call is extra
    ],
    ids=["left out", "another argument", "last left out", "repeated"],
)
def test_the_first_divergence_is_found_at_its_step(steps: Any, step: int, value: float) -> None:
    made = measured("trajectory", played(scripted(steps), on_unrecorded=OnUnrecorded.ERROR))
    assert made.details["first_divergence"] == step
    assert made.value == pytest.approx(value)


def test_a_call_the_record_does_not_know_stops_and_leaves_the_answer_unscored() -> None:
    attempt = played(scripted([[("book", {})]]))
    assert "book" in attempt.metadata["replay"]["stopped"] and attempt.output == ""
    assert measured("trajectory", attempt).value == 0.0
    assert measured("unrecorded_rate", attempt).value == 1.0
    answer = measured("exact_match", attempt)
    assert answer.value is None and "stopped" in (answer.reason or "")


def test_an_unknown_call_can_get_an_error_or_an_invented_result() -> None:
    attempt = played(scripted([[("book", {})]]), on_unrecorded=OnUnrecorded.ERROR)
    assert attempt.output == "Done." and attempt.tool_calls[0].failed
    invented = played(scripted([[("book", {})]], answer="ok"), on_unrecorded=OnUnrecorded.MODEL)
    assert invented.metadata["replay"]["invented"] == 1 and invented.output == "ok"


def test_a_model_that_calls_for_ever_is_ended_by_the_limit() -> None:
    attempt = played(scripted([STEPS[0]] * 500), max_steps=7)
    assert attempt.metadata["replay"]["steps"] == 7 and "limit of 7" in attempt.metadata["replay"]["stopped"]


def test_all_turns_send_the_recorded_users_messages_one_after_another() -> None:
    attempt = played(RecordedTarget(), turns=Turns.ALL)
    roles = [message["role"] for message in attempt.metadata["trajectory"]]
    assert roles == ["assistant", "user", "assistant", "tool", "assistant", "tool", "tool", "assistant"]
    assert attempt.output == "Done." and measured("trajectory", attempt).value == 1.0


def test_each_turn_is_a_case_with_the_true_history() -> None:
    first, second = each_turn(flight_case())
    assert (first.id, first.input, first.output) == ("c1#turn-1", "Hello", "What do you need?")
    assert second.messages[-1]["content"] == "Cancel AB12 and refund it" and second.turn == flight_case().turn
    assert first.provenance.session_id == second.provenance.session_id == "c1"


def test_a_case_without_a_conversation_and_a_failing_model_are_errors() -> None:
    def broken(messages: list[Any]) -> str:
        raise RuntimeError("out of order")

    assert "no conversation" in (played(RecordedTarget(), a_case("bare")).error or "")
    assert "out of order" in (played(PythonTarget("broken", broken, {})).error or "")


def test_the_share_of_unrecorded_calls_and_the_number_of_steps() -> None:
    """Four calls in three requests, one of them unknown to the record; then the answer is the fourth request."""
    attempt = played(scripted([STEPS[0], [("book", {})], STEPS[1]]), on_unrecorded=OnUnrecorded.ERROR)
    rate = measured("unrecorded_rate", attempt)
    assert (rate.value, rate.details) == (1 / 4, {"unrecorded": 1, "calls": 4})
    assert measured("steps", attempt).value == 4.0
    silent = played(scripted([]))
    assert measured("unrecorded_rate", silent).value is None and measured("steps", silent).value == 1.0


def test_the_expected_calls_of_a_replayed_case_are_those_of_its_turn() -> None:
    """find is right, refund is missing, cancel has another argument: 1 of 3 expected and 1 of 2 made, F1 = 2·1 / 5."""
    case = flight_case(tool_calls=calls_in(flight_case().turn))
    made = played(scripted([STEPS[0], [("cancel", {"id": "ZZ99"})]]), case, on_unrecorded=OnUnrecorded.ERROR)
    assert measured("tool_correctness", made, case).value == pytest.approx(2 * 1 / 5)
