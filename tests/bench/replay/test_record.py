"""The record as the environment: equal and near calls, repeated calls in order, calls without results."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evergold.bench.replay.record import NO_RESULT, NOT_RECORDED, Record, loose_key
from evergold.model.run import OnUnrecorded
from evergold.model.tool_calls import ToolCall
from tests.builders import a_case
from tests.replays import asked, call, played, result, said, scripted
from tests.rows import each_row


def poll(args: str, *results: Any) -> Record:
    """A record of one call made several times."""
    messages: list[dict[str, Any]] = []
    for number, content in enumerate(results):
        messages += [said(None, call(str(number), "poll", args)), result(str(number), content)]
    return Record(messages)


def test_a_call_made_twice_gives_its_results_in_order_and_then_the_last() -> None:
    record = poll('{"id": "A b", "n": 2}', "waiting", "ready")
    replies = [record.answer(ToolCall(name="poll", args={"n": 2, "id": "A b"})) for _ in range(3)]
    assert [(reply.result, reply.near) for reply in replies if reply] == [
        ("waiting", False),
        ("ready", False),
        ("ready", False),
    ]


@each_row(
    ("recorded", "made"),
    [
        ('{"id": "A b"}', {"id": " a  B "}),
        ('{"n": 1200}', {"n": "1,200.00"}),
        ('{"n": "1200"}', {"n": 1200.0}),
        ('{"n": -0.5}', {"n": "-0.50"}),
        ('{"to": {"b": 1, "a": "X"}}', {"to": {"a": "x", "b": "1"}}),
        ('{"name": "Zoe\\u0308"}', {"name": "zoë"}),
        ('{"ids": ["A", 2]}', {"ids": ["a ", "2.0"]}),
    ],
)
def test_arguments_that_differ_in_writing_only_are_near(recorded: str, made: dict[str, Any]) -> None:
    reply = poll(recorded, "yes").answer(ToolCall(name="poll", args=made))
    assert reply is not None and (reply.result, reply.near) == ("yes", True)


@each_row(
    ("recorded", "made"),
    [
        ('{"id": "007"}', {"id": "7"}),
        ('{"id": "12345678901234567890"}', {"id": "12345678901234567891"}),
        ('{"n": "1,2"}', {"n": 12}),
        ('{"n": "1e3"}', {"n": 1000}),
        ('{"n": true}', {"n": 1}),
        ('{"n": null}', {}),
        ('{"n": [1, 2]}', {"n": [2, 1]}),
    ],
)
def test_arguments_that_mean_something_else_are_not_near(recorded: str, made: dict[str, Any]) -> None:
    assert poll(recorded, "yes").answer(ToolCall(name="poll", args=made)) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=4), JSON, max_size=4))
def test_order_of_keys_and_spaces_around_texts_never_change_the_key(args: dict[str, Any]) -> None:
    turned = {name: f" {value}\t" if isinstance(value, str) else value for name, value in reversed(args.items())}
    assert loose_key(turned) == loose_key(args)


def test_a_near_result_is_marked_in_the_trajectory_with_the_recorded_arguments() -> None:
    case = a_case(messages=(asked("Go"),), turn=(said(None, call("1", "find", '{"id": "AB12"}')), result("1", "open")))
    attempt = played(scripted([[("find", {"id": "ab12 "})]]), case)
    marked = attempt.metadata["trajectory"][1]
    assert marked["extra"] == {"replay": "near", "recorded_args": {"id": "AB12"}}
    assert attempt.metadata["replay"]["near"] == 1 and attempt.metadata["replay"]["unrecorded"] == 0


def test_calls_of_the_history_are_answered_already() -> None:
    """The state after the history counts: the same look-up gives what it gave in the turn that is played."""
    look = '{"id": "AB12"}'
    case = a_case(
        messages=(asked("Look"), said(None, call("1", "find", look)), result("1", "open"), asked("Cancel, look again")),
        turn=(said(None, call("2", "find", look)), result("2", "cancelled"), said("Cancelled.")),
    )
    attempt = played(scripted([[("find", {"id": "AB12"})]]), case)
    assert [one.result for one in attempt.tool_calls] == ["cancelled"]


def test_a_recorded_call_without_a_result_is_no_answer_and_says_so() -> None:
    record = Record([said(None, call("1", "find", '{"id": 1}')), said(None, call("2", "find", '{"id": 2}'))])
    without = ToolCall(name="find", args={"id": 1})
    assert record.answer(without) is None and record.reason(without) == NO_RESULT
    assert record.reason(ToolCall(name="find", args={"id": 3})) == NOT_RECORDED


def test_ids_used_twice_tie_results_in_order() -> None:
    record = Record(
        [
            said(None, call("same", "find", '{"id": 1}'), call("same", "find", '{"id": 2}')),
            result("same", "first"),
            result("same", "second"),
        ]
    )
    replies = [record.answer(ToolCall(name="find", args={"id": number})) for number in (1, 2)]
    assert [reply.result for reply in replies if reply] == ["first", "second"]


def test_a_result_of_five_megabytes_is_given_whole() -> None:
    large = "x" * 5_000_000
    case = a_case(messages=(asked("Go"),), turn=(said(None, call("1", "dump", "{}")), result("1", large), said("Ok")))
    attempt = played(scripted([[("dump", {})]], answer="Ok"), case)
    assert attempt.output == "Ok" and attempt.tool_calls[0].result == large


def test_arguments_that_cannot_be_stored_are_mended_or_refused() -> None:
    attempt = played(scripted([[("book", {"text": "\ud83d"})]]), on_unrecorded=OnUnrecorded.ERROR)
    assert attempt.tool_calls[0].args == {"text": "?"} and attempt.model_dump_json()
    large = played(scripted([[("book", {"n": 2**80})]]), on_unrecorded=OnUnrecorded.ERROR)
    assert "64 bits" in (large.error or "")
