"""Conversations that are too large, torn or misspelled: kept as far as possible, never a crash, never shortened."""

from typing import Any

from evergold.conversation import conversation_of
from evergold.model.case import Conversation
from evergold.model.tool_calls import calls_in
from tests.builders import a_model_call, a_trace
from tests.rows import each_row

ASKED = {"role": "user", "content": "Cancel my flight."}
ANSWER = {"role": "assistant", "content": "Done."}


def a_call(id: str = "c1", arguments: str = "{}") -> dict[str, Any]:
    function = {"name": "cancel", "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]}


def a_result(id: str = "c1", content: str = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


def read(*asked: dict[str, Any]) -> Conversation:
    call = a_model_call("m", list(asked), [ANSWER])
    return conversation_of(a_trace(input=asked[-1].get("content") or "", output="Done.", spans=(call,)))


def contents(found: Conversation) -> list[Any]:
    return [message.get("content") for message in (*found.messages, *found.turn)]


def test_a_conversation_of_ten_megabytes_is_whole() -> None:
    turns = [
        {"role": ("user", "assistant")[number % 2], "content": f"{number} " + "x" * 100_000} for number in range(101)
    ]
    assert contents(read(*turns)) == [*(turn["content"] for turn in turns), "Done."]


def test_five_thousand_turns_are_all_kept_in_order() -> None:
    turns = [{"role": ("user", "assistant")[number % 2], "content": f"turn {number}"} for number in range(5001)]
    assert contents(read(*turns)) == [*(turn["content"] for turn in turns), "Done."]


def test_a_tool_result_of_five_megabytes_is_whole() -> None:
    large = "y" * 5_000_000
    found = read(ASKED, a_call(), a_result(content=large))
    assert large in contents(found)
    assert [call.result for call in calls_in(found.turn)] == [large]


def test_a_call_without_a_result_is_kept() -> None:
    found = read(ASKED, a_call())
    assert [(call.name, call.result) for call in calls_in(found.turn)] == [("cancel", None)]


def test_a_result_without_a_call_is_kept() -> None:
    assert "lost" in contents(read(ASKED, a_result("nobody", "lost")))


def test_an_id_that_is_used_twice_keeps_both_calls_and_results() -> None:
    found = read(ASKED, a_call("same"), a_result("same", "first"), a_call("same"), a_result("same", "second"))
    assert [call.result for call in calls_in(found.turn)] == ["first", "second"]


@each_row("role", ["narrator", "critic", ""])
def test_a_role_that_nobody_knows_keeps_its_text(role: str) -> None:
    found = read({"role": role, "content": "Meanwhile …"}, ASKED)
    assert any("Meanwhile …" in str(message) for message in (*found.messages, *found.turn))


@each_row("arguments", ["{not json", "[1, 2]", "plain words", ""])
def test_arguments_that_are_no_object_are_kept(arguments: str) -> None:
    found = read(ASKED, a_call(arguments=arguments), a_result())
    (call,) = calls_in(found.turn)
    assert (call.name, call.result) == ("cancel", "done")
    assert not arguments or arguments.strip("[]") in str(call.args)


def test_a_context_without_text_keeps_its_place() -> None:
    documents = [{"content": "Refunds take a week.", "id": "a"}, {"id": "b"}, {"content": None, "id": "c"}]
    found = conversation_of(a_trace(input="Cancel my flight.", output="Done.", metadata={"contexts": documents}))
    assert [context.source for context in found.contexts] == ["a", "b", "c"]
    assert found.contexts[0].text == "Refunds take a week."
