"""Conversations for trainers: what they would refuse is refused here, with the reason."""

from typing import Any

import pytest

from evergold.formats.inspect_ai import read_message, spell_messages
from evergold.formats.openai_chat import (
    MOST_TOOLS,
    Unfit,
    answer_of,
    check_messages,
    offered_tools,
    question_of,
    worked_messages,
)
from evergold.formats.records import conversation_or_none, last_user_text, text_of
from evergold.model.case import Origin, Reference
from evergold.model.tool_calls import ToolCall
from tests.builders import a_case
from tests.rows import each_row

USER, ANSWER = {"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}


def called(name: str = "f", arguments: Any = "{}", id: Any = "1") -> dict[str, Any]:
    call = {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def result(id: str = "1", content: Any = "42") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


@each_row("messages", [[USER, ANSWER], [USER, called(), result(), ANSWER], [USER, called(), result(), called(id="2")]])
def test_a_conversation_that_a_trainer_takes_is_unchanged(messages: list[dict[str, Any]]) -> None:
    assert check_messages(messages) == messages


@each_row(
    ("messages", "problem"),
    [
        ([], "does not end with an answer"),
        ([USER], "does not end with an answer"),
        ([USER, called(), ANSWER], "a tool call has no result"),
        ([USER, result(), ANSWER], "a tool result belongs to no call before it"),
        ([USER, called(), result(), result(), ANSWER], "belongs to no call"),
        ([USER, called(name="my tool")], "the tool name 'my tool' has other characters"),
        ([USER, called(name="x" * 65)], "or more than 64"),
        ([USER, called(id=None)], "a call of f has no id of its own"),
        ([USER, called(arguments="[1]")], "are no JSON object"),
        ([USER, called(arguments="{")], "are no JSON object"),
        ([USER, called(arguments="")], "are no JSON object"),
    ],
)
def test_what_a_trainer_would_refuse_is_unfit(messages: list[dict[str, Any]], problem: str) -> None:
    with pytest.raises(Unfit, match=problem):
        check_messages(messages)


@each_row(
    ("message", "expected"),
    [
        (
            {"role": "user", "content": "Q", "extra": {"x": 1}, "name": "jo"},
            {"role": "user", "content": "Q", "name": "jo"},
        ),
        ({"role": "user", "content": "Q", "name": "jo doe"}, {"role": "user", "content": "Q"}),
        ({"role": "assistant", "content": None, "tool_calls": []}, {"role": "assistant", "content": ""}),
        ({"role": "tool", "content": None, "tool_call_id": "1"}, {"role": "tool", "tool_call_id": "1", "content": ""}),
        (
            {"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "system", "content": "a\nb"},
        ),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
        ),
    ],
)
def test_messages_keep_the_keys_that_a_trainer_knows(message: dict[str, Any], expected: dict[str, Any]) -> None:
    assert question_of(a_case(messages=(message,))) == [expected]


@each_row(
    ("message", "problem"),
    [
        ({"role": "critic", "content": "x"}, "the role 'critic'"),
        ({"content": "x"}, "the role None"),
        ({"role": "user", "content": [{"type": "audio"}]}, "a part of type 'audio'"),
        ({"role": "user", "content": ["x"]}, "a part of type 'str'"),
    ],
)
def test_a_message_that_no_trainer_knows_is_unfit(message: dict[str, Any], problem: str) -> None:
    with pytest.raises(Unfit, match=problem):
        question_of(a_case(messages=(message,)))


def reference(text: str | None, *calls: ToolCall) -> Reference:
    return Reference(text=text, tool_calls=calls or None, origin=Origin.PERSON)


def test_the_recorded_turn_is_kept_where_it_made_the_calls_of_the_reference() -> None:
    case = a_case(turn=(called(arguments='{"a": 1}'), result(), ANSWER))
    messages = answer_of(case, reference("Better.", ToolCall(name="f", args={"a": 1})))
    assert [message["role"] for message in messages] == ["assistant", "tool", "assistant"]
    assert messages[-1]["content"] == "Better."


def test_calls_that_were_never_made_end_the_conversation() -> None:
    case = a_case(turn=(called(arguments='{"a": 1}'), result(), ANSWER))
    (message,) = answer_of(case, reference("x", ToolCall(name="g", args={"b": 2})))
    assert message["tool_calls"][0]["function"] == {"name": "g", "arguments": '{"b":2}'}
    assert message["tool_calls"][0]["id"] == "call_1" and message["content"] is None


def test_both_answers_rest_on_the_work_up_to_the_last_result() -> None:
    assert worked_messages(a_case(turn=(called(), result(), ANSWER))) == [called(), result()]
    assert worked_messages(a_case(turn=(ANSWER,))) == []


def test_tools_are_offered_as_they_are_spelled_and_unknown_ones_are_derived() -> None:
    case = a_case(
        tools=({"name": "f", "input_schema": {"type": "object"}}, {"type": "function", "function": {"name": "g"}})
    )
    tools = offered_tools(case, [called("h", '{"x": 1}')])
    assert [tool["function"]["name"] for tool in tools] == ["f", "g", "h"]
    assert tools[0]["function"]["parameters"] == {"type": "object"}
    assert tools[2]["function"]["parameters"]["properties"] == {"x": {"type": "integer"}}


def test_more_tools_than_a_trainer_takes_are_unfit() -> None:
    many = tuple({"function": {"name": f"f{number}"}} for number in range(MOST_TOOLS + 1))
    with pytest.raises(Unfit, match="129 tools are offered"):
        offered_tools(a_case(tools=many), [])


INSPECTABLE: list[dict[str, Any]] = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:x"}}]},
    {"role": "assistant", "content": "", "tool_calls": [called(arguments='{"a":1}')["tool_calls"][0]]},
    {"role": "tool", "content": "42", "tool_call_id": "1", "name": "f"},
]


def test_a_conversation_survives_the_words_of_inspect() -> None:
    there = spell_messages(INSPECTABLE)
    assert there is not None and there[2]["tool_calls"][0]["arguments"] == {"a": 1}
    assert there[3]["function"] == "f" and there[1]["content"][1] == {"type": "image", "image": "data:x"}
    assert list(map(read_message, there)) == INSPECTABLE


@each_row(
    "messages",
    [
        [],
        [{"role": "critic", "content": "x"}],
        [{"role": "user", "content": "x", "mood": "glad"}],
        [{"role": "user", "content": [{"type": "audio"}]}],
        [called(arguments="[1]")],
        [called(arguments="{")],
        [{"role": "tool", "content": "x"}],
        [{"role": "user", "content": 5}],
    ],
)
def test_what_inspect_has_no_words_for_is_not_spelled(messages: list[dict[str, Any]]) -> None:
    assert spell_messages(messages) is None


@each_row(
    ("content", "text"),
    [
        ("x", "x"),
        (None, ""),
        (5, "5"),
        ([{"type": "text", "text": "a"}, {"type": "image_url"}, "odd", {"text": "b"}], "a\nb"),
        ([], ""),
    ],
)
def test_the_text_of_any_content(content: Any, text: str) -> None:
    assert text_of(content) == text


def test_the_last_thing_the_user_wrote_is_the_question() -> None:
    assert last_user_text([USER, ANSWER, {"role": "user", "content": "again"}, ANSWER]) == "again"
    assert last_user_text([ANSWER]) == "A" and last_user_text([]) == ""
    assert conversation_or_none([USER]) is None
    assert conversation_or_none([{**USER, "name": "jo"}]) == [{**USER, "name": "jo"}]
