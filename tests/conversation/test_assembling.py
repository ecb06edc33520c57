"""The conversation of a trace: which span it is taken from, where it is split, and what stands beside it."""

from typing import Any

from evergold.conversation import conversation_of
from tests.builders import a_model_call, a_trace

SYSTEM = {"role": "system", "content": "You are an airline agent."}
ASKED = {"role": "user", "content": "Cancel my flight."}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "cancel", "arguments": '{"id":1}'}}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "done"}
ANSWER = {"role": "assistant", "content": "Your flight is cancelled."}
TOOL = {"type": "function", "function": {"name": "cancel", "parameters": {"type": "object"}}}


def a_root(**more: Any) -> dict[str, Any]:
    return {"id": "root", "name": "agent", "kind": "agent", "input": "Cancel my flight.", **more}


def a_tool_span(id: str = "t1", **more: Any) -> dict[str, Any]:
    moment = "2026-01-01T00:00:02Z"
    fields = {"id": id, "parent_id": "root", "name": "cancel", "kind": "tool", "input": '{"id":1}', "output": "done"}
    return {**fields, "started_at": moment, "ended_at": moment, **more}


def an_answered(*spans: dict[str, Any], **more: Any) -> Any:
    return a_trace(**{"input": "Cancel my flight.", "output": "Your flight is cancelled.", "spans": spans, **more})


def test_taken_from_the_model_call_that_answers_and_not_from_a_title_generator() -> None:
    title = a_model_call("title", [ASKED], [{"role": "assistant", "content": "Cancelling a flight"}], at=9)
    first = a_model_call("first", [SYSTEM, ASKED], [CALL], at=1)
    last = a_model_call("last", [SYSTEM, ASKED, CALL, RESULT], [ANSWER], at=3)
    found = conversation_of(an_answered(a_root(), first, a_tool_span(), last, title))
    assert found.messages == (SYSTEM, ASKED)
    assert found.turn == (CALL, RESULT, ANSWER)
    assert found.problems == ()


def test_tools_parameters_and_model_come_with_it() -> None:
    attributes = {"gen_ai.tool.definitions": [TOOL], "gen_ai.request.temperature": 0.2}
    found = conversation_of(an_answered(a_root(), a_model_call("m", [ASKED], [ANSWER], attributes=attributes)))
    assert found.tools == (TOOL,)
    assert found.parameters == {"temperature": 0.2, "model": "m-1"}


def test_a_result_that_only_a_tool_span_has_is_filled_in() -> None:
    last = a_model_call("last", [SYSTEM, ASKED, CALL], [ANSWER], at=3)
    found = conversation_of(an_answered(a_root(), a_tool_span(), last))
    assert found.turn == (CALL, RESULT | {"name": "cancel"}, ANSWER)


def test_a_call_that_sends_only_new_messages_is_continued_from_the_one_before() -> None:
    first = a_model_call("first", [SYSTEM, ASKED], [CALL], at=1)
    last = a_model_call("last", [RESULT], [ANSWER], at=3)
    found = conversation_of(an_answered(a_root(), first, last))
    assert (found.messages, found.turn) == ((SYSTEM, ASKED), (CALL, RESULT, ANSWER))


def test_several_user_turns_are_one_conversation() -> None:
    thanks = [{"role": "user", "content": "And the hotel?"}, {"role": "assistant", "content": "Also cancelled."}]
    whole = a_model_call("last", [SYSTEM, ASKED, CALL, RESULT, ANSWER, thanks[0]], [thanks[1]], at=5)
    found = conversation_of(an_answered(a_root(), whole, output="Also cancelled."))
    assert found.messages == (SYSTEM, ASKED, CALL, RESULT, ANSWER, thanks[0])
    assert found.turn == (thanks[1],)


def test_messages_after_the_answer_are_kept_apart() -> None:
    thanks = {"role": "user", "content": "Thanks, bye."}
    root = a_root(metadata={"messages": [SYSTEM, ASKED, CALL, RESULT, ANSWER, thanks]})
    found = conversation_of(an_answered(root))
    assert (found.messages, found.turn, found.after) == ((SYSTEM, ASKED), (CALL, RESULT, ANSWER), (thanks,))


def test_without_messages_the_session_and_tool_spans_make_the_conversation() -> None:
    earlier = a_trace("t0", input="Hello", output="Hi, how can I help?")
    found = conversation_of(an_answered(a_tool_span(parent_id=None)), lambda _: [earlier])
    assert [message["role"] for message in found.messages] == ["user", "assistant", "user"]
    assert [message["role"] for message in found.turn] == ["assistant", "tool", "assistant"]
    assert found.turn[0]["tool_calls"][0]["function"] == {"name": "cancel", "arguments": '{"id":1}'}
    assert found.turn[1]["content"] == "done"


def test_tools_that_ran_side_by_side_were_called_together() -> None:
    one = a_tool_span("a", started_at="2026-01-01T00:00:02Z", ended_at="2026-01-01T00:00:05Z")
    two = a_tool_span("b", started_at="2026-01-01T00:00:03Z", ended_at="2026-01-01T00:00:04Z")
    found = conversation_of(an_answered(one, two))
    assert [len(message.get("tool_calls", ())) for message in found.turn] == [2, 0, 0, 0]
