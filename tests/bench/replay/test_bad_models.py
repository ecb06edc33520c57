"""Models that misbehave over real HTTP, and records that are broken: ended, marked, never stuck."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

from evergold.bench.metrics.trajectory import Trajectory, same_call
from evergold.bench.replay import ReplayTarget
from evergold.bench.targets import RecordedTarget
from evergold.bench.targets.chat_models import OpenAITarget
from evergold.calls.endpoints import Endpoint
from evergold.model.case import Case
from evergold.model.run import Attempt, OnUnrecorded, Replay, Turns
from evergold.model.tool_calls import ToolCall, calls_in
from tests.builders import a_case
from tests.openai_server import Reply, Script, serving
from tests.replays import asked, call, flight_case, result, said
from tests.rows import each_row


def over_http(script: Script, case: Case | None = None, **options: Any) -> Attempt:
    """Replay with a model behind an OpenAI-compatible endpoint."""

    async def play(url: str) -> Attempt:
        inner = OpenAITarget(Endpoint("m", url, "x", "openai"), {})
        target = ReplayTarget(inner, Replay(**options))
        try:
            return await target.attempt(case or flight_case(), 0, None)
        finally:
            await target.close()

    with serving(script) as server:
        return asyncio.run(play(server.url))


FIND = Reply("", tool_calls=(("find", {"id": "AB12"}),))
HALF = (
    b'{"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "finish_reason": '
    b'"length", "message": {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", '
    b'"function": {"name": "find", "arguments": "{\\"id\\": \\"AB"}}]}}]}'
)


def test_a_model_that_calls_for_ever_is_ended_by_the_limit_of_steps() -> None:
    attempt = over_http(FIND, max_steps=6)
    assert attempt.error is None and attempt.metadata["replay"]["ended"] == "step_limit"
    assert len(attempt.tool_calls) == 6 and attempt.usage.input_tokens == 60


def test_a_model_that_calls_for_ever_is_ended_by_the_limit_of_tokens() -> None:
    attempt = over_http(FIND, max_tokens=40)
    assert attempt.metadata["replay"]["ended"] == "token_limit" and len(attempt.tool_calls) == 3


def test_a_model_that_calls_nothing_has_answered() -> None:
    attempt = over_http(Reply("I cannot help."))
    assert (attempt.output, attempt.tool_calls) == ("I cannot help.", ())


@each_row(
    "broken",
    [Reply(raw=b"<html><body>502</body></html>", content_type="text/html"), Reply(raw=HALF), Reply(raw=HALF[:100])],
    ids=["html", "half a call", "half a reply"],
)
def test_a_broken_reply_in_the_middle_is_an_error_that_keeps_what_was_played(broken: Reply) -> None:
    attempt = over_http([FIND, broken])
    assert attempt.error is not None and attempt.error_class in ("malformed", "invalid_reply")
    assert attempt.metadata["replay"]["steps"] == 1 and len(attempt.metadata["trajectory"]) == 2


def test_a_tool_that_no_schema_names_is_answered_where_it_was_recorded() -> None:
    tools = ({"type": "function", "function": {"name": "another", "parameters": {"type": "object"}}},)
    attempt = over_http([FIND, Reply("Done.")], flight_case(tools=tools))
    assert attempt.output == "Done." and attempt.tool_calls[0].result == "open"


def test_a_call_without_a_result_ends_with_that_reason() -> None:
    case = a_case(messages=(asked("Go"),), turn=(said(None, call("1", "find", '{"id": "AB12"}')), said("Ok")))
    assert "without its result" in over_http(FIND, case).metadata["replay"]["stopped"]


def test_a_failing_inventor_is_a_tool_error() -> None:
    attempt = over_http(
        [Reply("", tool_calls=(("book", {}),)), Reply(raw=b"<html>", content_type="text/html"), Reply("Sorry.")],
        on_unrecorded=OnUnrecorded.MODEL,
    )
    assert attempt.output == "Sorry." and attempt.tool_calls[0].failed
    assert attempt.metadata["replay"]["calls"] == ["invented"]


def conversation(number: int) -> Case:
    """An invented conversation: two user turns, a look-up made twice with different results, three changes."""
    ident = f"B{number}"
    look, change = f'{{"id": "{ident}"}}', f'{{"id": "{ident}", "seat": {number}}}'
    messages = (
        {"role": "system", "content": "You sell tickets."},
        asked(f"Where is {ident}?"),
        said(None, call("1", "look", look)),
        result("1", "open"),
        said("It is open."),
        asked("Change my seat, then pay"),
    )
    turn = (
        said("One moment."),
        said(None, call("2", "seat", change)),
        result("2", "done"),
        said(None, call("3", "look", look)),
        result("3", "changed"),
        said(None, call("4", "pay", look)),
        result("4", "paid"),
        said("Done."),
    )
    return a_case(f"c{number}", messages=messages, turn=turn if number % 2 else turn[:5], output="Done.")


def left_out(calls: list[ToolCall], at: int) -> list[ToolCall]:
    return calls[:at] + calls[at + 1 :]


def other_argument(calls: list[ToolCall], at: int) -> list[ToolCall]:
    args = {**calls[at].args, "changed": "by the test"}
    return [*calls[:at], calls[at].model_copy(update={"args": args}), *calls[at + 1 :]]


def swapped(calls: list[ToolCall], at: int) -> list[ToolCall]:
    return calls[:at] + calls[at : at + 2][::-1] + calls[at + 2 :]


CHANGES: dict[str, Callable[[list[ToolCall], int], list[ToolCall]]] = {
    "leaves out one call": left_out,
    "changes one argument": other_argument,
    "swaps two calls": swapped,
}


class Listed:
    """A model that makes these calls one by one, whatever it hears, then answers."""

    identity = "listed"

    def __init__(self, calls: list[ToolCall]) -> None:
        self._calls = calls

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        made = sum(len(message.get("tool_calls") or ()) for message in case.messages[_first_user(case) :])
        if made < len(self._calls):
            return Attempt(case_id=case.id, trial=trial, tool_calls=(self._calls[made],))
        return Attempt(case_id=case.id, trial=trial, output="Done.")


def _first_user(case: Case) -> int:
    return next(n for n, message in enumerate(case.messages) if message.get("role") == "user")


def first_difference(recorded: list[ToolCall], made: list[ToolCall]) -> int | None:
    """The first step at which two lists of calls differ, found by comparing them one by one."""
    pairs = zip(recorded, [*made, *[None] * len(recorded)], strict=False)
    return next((n for n, (want, got) in enumerate(pairs) if got is None or not same_call(want, got)), None)


async def check(cases: list[Case]) -> dict[str, tuple[int, int]]:
    """How many cases came out as expected, of how many, per model."""
    dice, counts = Random(0), {}
    rules = Replay(turns=Turns.ALL, on_unrecorded=OnUnrecorded.ERROR, max_steps=1000)
    same = 0
    for case in cases:
        attempt = await ReplayTarget(RecordedTarget(), rules).attempt(case, 0, None)
        recorded = calls_in([*case.messages, *case.turn])
        equal = [(call.name, call.args, call.result) for call in attempt.tool_calls] == [
            (call.name, call.args, call.result) for call in recorded
        ]
        same += equal and attempt.metadata["replay"]["unrecorded"] == 0
    counts["the recorded model"] = (same, len(cases))
    for name, change in CHANGES.items():
        right = tried = 0
        for case in cases:
            recorded_calls = list(calls_in([*case.messages, *case.turn]))
            last = len(recorded_calls) - (1 if name.startswith("swaps") else 0)
            if last < 1:
                continue
            made = change(recorded_calls, dice.randrange(last))
            step = first_difference(recorded_calls, made)
            if step is None:  # two equal calls were swapped: nothing changed
                continue
            attempt = await ReplayTarget(Listed(made), rules).attempt(case, 0, None)
            measured: Any = Trajectory().measure(case, attempt)
            tried += 1
            right += measured.details["first_divergence"] == step
        counts[name] = (right, tried)
    return counts


def test_the_recorded_model_repeats_its_record_and_one_changed_call_is_found_at_its_step() -> None:
    counts = asyncio.run(check([conversation(number) for number in range(12)]))
    assert set(counts.values()) == {(12, 12)}
