"""The conversation of a trace: which span it is taken from, where it is split, and what stands beside it."""

import json
from typing import Any

from evergold.conversation import conversation_of
from evergold.conversation.assembly import reply_of
from tests.builders import a_model_call, a_trace

SYSTEM = {"role": "system", "content": "You are an airline agent."}
ASKED = {"role": "user", "content": "Cancel my flight."}
CALL: dict[str, Any] = {
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


def test_taken_from_the_model_call_whose_text_a_result_object_states() -> None:
    title = a_model_call("title", [ASKED], [{"role": "assistant", "content": "Cancelling"}], at=9)
    last = a_model_call("last", [SYSTEM, ASKED, CALL, RESULT], [ANSWER], at=3)
    for result in ({"raw": ANSWER["content"], "title": "Cancelling", "usage": 3}, {"reply": ANSWER["content"], "n": 1}):
        trace = an_answered(a_root(input=None), last, title, input="", output=json.dumps(result))
        conversation = conversation_of(trace)
        assert (conversation.messages, conversation.turn) == ((SYSTEM, ASKED), (CALL, RESULT, ANSWER))


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


def test_five_thousand_turns_are_kept_and_so_are_five_thousand_calls_of_one() -> None:
    turns = [message for n in range(5000) for message in (ASKED, {"role": "assistant", "content": f"Answer {n}"})]
    found = conversation_of(an_answered(messages=turns, output="Answer 4999"))
    assert len(found.messages) + len(found.turn) == 10_000
    made = CALL["tool_calls"][0]
    wide = {"role": "assistant", "content": None, "tool_calls": [made] * 5000}
    found = conversation_of(an_answered(messages=json.dumps([ASKED, wide])))
    assert [call["function"]["name"] for call in found.turn[0]["tool_calls"]] == ["cancel"] * 5000


def test_what_is_wrong_is_kept_and_named() -> None:
    odd = {"id": "c2", "type": "function", "function": {"name": "cancel", "arguments": "not JSON"}}
    twice = {**CALL, "tool_calls": [*CALL["tool_calls"], *CALL["tool_calls"], odd]}
    lost = {"role": "tool", "tool_call_id": "nobody", "content": "?"}
    found = conversation_of(an_answered(messages=[{"role": "oracle", "content": "hm"}, ASKED, twice, lost, ANSWER]))
    assert [message["role"] for message in found.messages] == ["oracle", "user"]
    assert [message["role"] for message in found.turn] == ["assistant", "tool", "assistant"]
    for part in ("role 'oracle'", "names two calls", "answers no call", "no JSON object", "has no result"):
        assert any(part in problem for problem in found.problems), (part, found.problems)


def test_contexts_without_text_keep_their_place() -> None:
    documents = [
        {"id": "d1", "content": "Refunds take 5 days.", "score": 0.9},
        {"id": "d2", "metadata": {"source": "b.md"}},
    ]
    span = {"id": "r", "kind": "retriever", "metadata": {"attributes": {"gen_ai.retrieval.documents": documents}}}
    found = conversation_of(an_answered(span))
    assert [(context.text, context.source) for context in found.contexts] == [
        ("Refunds take 5 days.", "d1"),
        (None, "b.md"),
    ]
    assert (found.contexts[0].retrieved or {})["score"] == 0.9


def test_a_completed_trace_without_an_output_has_the_reply_of_its_last_model_call() -> None:
    spoken = a_model_call("m", [ASKED], [ANSWER], at=3)
    called = a_model_call("m", [ASKED], [CALL], at=3)
    first = a_model_call("first", [ASKED], [{"role": "assistant", "content": "One moment."}], at=1)
    assert reply_of(a_trace(output=None, spans=[spoken, first])) == "Your flight is cancelled."
    assert reply_of(a_trace(output=None, spans=[called, first])) == '[{"name":"cancel","arguments":{"id":1}}]'
    assert reply_of(a_trace(output=None, messages=[ASKED, CALL, RESULT])) == '[{"name":"cancel","arguments":{"id":1}}]'
    assert reply_of(a_trace(output=None, messages=[ASKED, ANSWER, ASKED])) == "Your flight is cancelled."
    assert reply_of(a_trace(output=None, status="failed", spans=[spoken])) is None
    assert reply_of(a_trace(output="", spans=[spoken])) == ""


def test_a_trace_that_ended_with_a_call_does_not_say_the_call() -> None:
    ended = a_trace(
        input="Cancel my flight.", output='[{"name": "cancel", "arguments": {"id": 1}}]', spans=[a_tool_span()]
    )
    assert [message["role"] for message in conversation_of(ended).turn] == ["assistant", "tool"]


def test_a_result_goes_to_the_call_with_its_arguments_where_an_id_is_used_twice() -> None:
    again = {"id": "c1", "type": "function", "function": {"name": "cancel", "arguments": '{"id": 2}'}}
    second = {"role": "assistant", "content": None, "tool_calls": [again]}
    last = a_model_call("m", [ASKED, CALL, RESULT], [second], at=5)
    tools = [
        a_tool_span("t1"),
        a_tool_span("t2", input='{"id": 2}', output="refused", started_at="2026-01-01T00:00:06Z"),
    ]
    for span in tools:
        span["metadata"] = {"tool_call_id": "c1"}
    found = conversation_of(a_trace(output=None, spans=[last, *tools]))
    assert [message["content"] for message in found.turn if message["role"] == "tool"] == ["done", "refused"]


def test_instructions_that_stand_for_the_question_are_said_once() -> None:
    told = {"attributes": {"gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be brief."}])}}
    read = conversation_of(a_trace(input="Be brief.", output=None, spans=[a_root(input="Be brief.", metadata=told)]))
    assert [one["content"] for one in (*read.messages, *read.turn)] == ["Be brief."]
