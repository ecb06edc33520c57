"""Histories that hold the results of tools and not the calls they answer."""

from typing import Any

from evergold.conversation import conversation_of
from evergold.conversation.pairs import restore_calls
from tests.builders import a_model_call, a_trace

ASKED = {"role": "user", "content": "Is 4A free, and 4B?"}
CALLS: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": f"c{n}", "type": "function", "function": {"name": "seat", "arguments": f'{{"row":{n}}}'}} for n in (1, 2)
    ],
}
RESULTS = [{"role": "tool", "tool_call_id": f"c{n}", "content": text} for n, text in ((1, "free"), (2, "taken"))]
ANSWER = {"role": "assistant", "content": "4A is free."}
NEXT = {"role": "user", "content": "Book it."}
DONE = {"role": "assistant", "content": "Booked."}
ROOT = {"id": "root", "name": "turn", "kind": "span"}


def test_calls_of_the_same_trace_are_put_back_once() -> None:
    first = a_model_call("first", [ASKED], [CALLS], at=1)
    last = a_model_call("last", [ASKED, *RESULTS], [ANSWER], at=3)
    conversation = conversation_of(a_trace(input=ASKED["content"], output=ANSWER["content"], spans=[ROOT, first, last]))
    assert [*conversation.messages, *conversation.turn] == [ASKED, CALLS, *RESULTS, ANSWER]
    assert conversation.problems == ()


def test_empty_replies_before_results_get_the_calls_of_their_request_back() -> None:
    empty = {"role": "assistant", "content": ""}
    results = [{"role": "tool", "content": result["content"]} for result in RESULTS]
    first = a_model_call("first", [ASKED], [CALLS], at=1)
    logged = {**a_model_call("logged", [ASKED], [CALLS], at=1), "kind": "event"}
    last = a_model_call("last", [ASKED, empty, *results], [ANSWER], at=3)
    trace = a_trace(input=ASKED["content"], output=ANSWER["content"], spans=[ROOT, first, logged, last])
    conversation = conversation_of(trace)
    assert [*conversation.messages, *conversation.turn] == [ASKED, CALLS, *RESULTS, ANSWER]


def test_calls_of_an_earlier_trace_are_read_from_its_session_only_where_they_lack() -> None:
    earlier = a_trace("t1", spans=[a_model_call("first", [ASKED], [CALLS], at=1)])
    asked: list[str] = []

    def called(trace: Any) -> list[Any]:
        asked.append(trace.id)
        return [earlier]

    def conversation(*history: Any) -> Any:
        call = a_model_call("last", [*history, ANSWER, NEXT], [DONE], at=3)
        trace = a_trace("t2", input=NEXT["content"], output=DONE["content"], spans=[ROOT, call])
        return conversation_of(trace, called=called)

    whole = (ASKED, CALLS, *RESULTS, ANSWER, NEXT)
    assert conversation(ASKED, CALLS, *RESULTS).messages == whole
    assert asked == []
    assert conversation(ASKED, *RESULTS).messages == whole
    assert asked == ["t2"]


def test_words_that_stand_without_their_calls_get_them_back() -> None:
    spoken = CALLS | {"content": "Let me look."}
    assert restore_calls([ASKED, {"role": "assistant", "content": "Let me look."}, *RESULTS], [spoken]) == [
        ASKED,
        spoken,
        *RESULTS,
    ]
    other = {"role": "assistant", "content": "One moment."}
    assert restore_calls([ASKED, other, *RESULTS], [spoken]) == [ASKED, other, spoken, *RESULTS]


def test_results_that_nobody_asked_for_stay_as_they_came() -> None:
    assert restore_calls([ASKED, *RESULTS], []) == [ASKED, *RESULTS]
    assert restore_calls([ASKED, CALLS, *RESULTS], [CALLS]) == [ASKED, CALLS, *RESULTS]
