"""Trajectories beside the record: values by hand, rows step by step, turns, end states, trials."""

import asyncio
from typing import Any

import pytest

from evergold.bench.metrics import measure
from evergold.bench.metrics.trajectory import ReplayOutcome, Trajectory, align
from evergold.bench.targets import RecordedTarget
from evergold.bench.targets.programs import PythonTarget
from evergold.judge.names import make_judge
from evergold.model.run import Measurement, OnUnrecorded, Turns
from evergold.settings import Settings
from tests.builders import a_case
from tests.replays import STEPS, asked, call, flight_case, played, result, said, scripted
from tests.rows import each_row


def calls(*names: str) -> list[dict[str, Any]]:
    """One call a message; `b2` is tool b with n = 2."""
    return [said(None, call(str(n), name[0], f'{{"n": {int(name[1:] or 0)}}}')) for n, name in enumerate(names)]


@each_row(
    ("made", "first", "states", "why"),
    [
        (("a", "b", "c"), None, ["same", "same", "same"], None),
        (("a", "c"), 1, ["same", "missing", "same"], "b was left out"),
        (("a", "b7", "c"), 1, ["same", "changed", "same"], 'b was called with {"n": 7} instead of {"n": 0}'),
        (("a", "c", "b"), 1, ["same", "missing", "same", "extra"], "b was left out; c was called"),
        (("a", "x", "c"), 1, ["same", "missing", "extra", "same"], "x was called instead of b"),
        (("a", "b"), 2, ["same", "same", "missing"], "c was not called"),
        (("a", "b", "c", "d"), None, ["same", "same", "same", "extra"], "after the last recorded call d"),
        (("x", "a", "b", "c"), 0, ["extra", "same", "same", "same"], "x was called before a"),
        ((), 0, ["missing", "missing", "missing"], "a was not called"),
    ],
)
def test_rows_and_the_first_divergence(made: Any, first: int | None, states: list[str], why: str | None) -> None:
    aligned = align(calls("a", "b", "c"), calls(*made))
    assert [row.state.value for row in aligned.rows()] == states
    assert aligned.first_divergence() == first
    assert (why is None and aligned.describe_divergence() is None) or (why or "") in (
        aligned.describe_divergence() or ""
    )


def test_each_turn_of_a_conversation_has_its_value() -> None:
    case = a_case(
        messages=(asked("One"), said(None, call("1", "a", "{}")), result("1", "x"), said("Ok"), asked("Two")),
        turn=(said(None, call("2", "b", "{}")), result("2", "y"), said("Done.")),
    )
    attempt = played(scripted([[("a", {})]]), case, turns=Turns.ALL)
    made = Trajectory().measure(case, attempt)
    # a is right in turn 1; in turn 2 a stands where b was recorded: 1 of 2 recorded, 1 of 2 made
    assert made.value == pytest.approx(2 * 1 / 4) and made.details["first_divergence"] == 1
    turns = made.details["turns"]
    assert [(turn["turn"], turn["value"], turn["first_divergence"]) for turn in turns] == [(1, 1.0, None), (2, 0.0, 0)]


def outcome(attempt: Any, **metadata: Any) -> Measurement:
    case = flight_case(metadata=metadata)
    return asyncio.run(measure(ReplayOutcome(), case, attempt, make_judge("offline/lexical", Settings())))


def test_an_end_state_is_reached_or_not() -> None:
    def app(messages: list[Any]) -> Any:
        return {"output": "Done.", "metadata": {"state": {"AB12": "cancelled", "refund": 120}}}

    attempt = played(PythonTarget("app", app, {}))
    assert outcome(attempt, end_state={"refund": 120, "AB12": "cancelled"}).value == 1.0
    half = outcome(attempt, end_state={"refund": 100, "AB12": "cancelled"})
    assert (half.value, half.details["share"]) == (0.0, 0.5)
    assert outcome(played(RecordedTarget()), end_state={}).value is None


def test_the_calls_of_changing_tools_are_an_end_state_in_any_order() -> None:
    tools = {"changing_tools": ["cancel", "refund"]}
    other_way = played(scripted([list(reversed(STEPS[1]))]))
    assert outcome(other_way, **tools).value == 1.0
    less = outcome(played(scripted([STEPS[0], STEPS[1][:1]])), **tools)
    assert (less.value, less.details["missing"], less.details["extra"]) == (0.0, ["refund"], [])
    twice = outcome(played(scripted([STEPS[1], STEPS[1][:1]])), **tools)
    assert (twice.value, twice.details["extra"]) == (0.0, ["cancel"])


def test_without_an_end_state_the_answer_counts() -> None:
    right = outcome(played(scripted(STEPS)))
    assert (right.value, right.reason) == (0.99, "offline: shared words 1.00")  # words alone are never quite certain
    stopped = outcome(played(scripted([[("book", {})]]), on_unrecorded=OnUnrecorded.STOP))
    assert stopped.value is None and "stopped" in (stopped.reason or "")
