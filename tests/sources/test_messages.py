"""The question and the answer in values of any shape."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.conversation.message import is_numbered
from evergold.sources.conventions import messages
from evergold.sources.conventions.messages import input_text, output_text, parse_json
from tests.mutations import mutations
from tests.rows import each_row

CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
RICH = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"message_content": {"type": "text", "text": "you"}}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL, {"tool_call": CALL}]},
    {"message": {"role": "assistant", "parts": [{"type": "tool_call", "name": "g", "arguments": {}}]}},
    {"type": "ai", "kwargs": {"content": "Hello"}},
]


def test_one_odd_value_in_a_message_never_breaks_the_reading() -> None:
    for document in mutations(RICH):
        for value in (document, json.dumps(document), {"messages": document}, {"choices": document}):
            assert isinstance(input_text(value), str | None)
            assert isinstance(output_text(value), str | None)


@each_row(
    ("value", "question", "answer"),
    [
        (None, None, None),
        ("", None, None),
        ([], None, None),
        ("plain", "plain", "plain"),
        ('"quoted"', "quoted", "quoted"),
        ("{not json", "{not json", "{not json"),
        (5, "5", "5"),
        ({"a": 1}, '{"a":1}', '{"a":1}'),
        ([["human", "Hi"], ["ai", "Hello"]], "Hi", "Hello"),
        ([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}], "Hi", "Hello"),
        ([{"role": "system", "content": "S"}], "S", None),
        ({"messages": [{"role": "user", "content": "Hi"}], "model": "m"}, "Hi", None),
        ({"task": "Hi", "stream": False, "max_steps": 3}, "Hi", None),
        ({"task": "Hi", "user": "jo"}, '{"task":"Hi","user":"jo"}', None),
        ({"user_id": "u", "session_id": "s", "new_message": {"role": "user", "parts": [{"text": "Hi"}]}}, "Hi", None),
        ({"input": "Hi", "context": [{"id": "d"}], "answer": "Hello"}, "Hi", "Hello"),
        ({"question": "Hi"}, "Hi", '{"question":"Hi"}'),
        ({"question": "Hi", "user": "jo"}, '{"question":"Hi","user":"jo"}', '{"question":"Hi","user":"jo"}'),
        ({"prompt": "Hi", "temperature": 1}, "Hi", '{"prompt":"Hi","temperature":1}'),
        ({"args": ["Hi"], "kwargs": {}}, "Hi", "Hi"),
        ({"inputs": {"query": "Hi"}, "tags": ["x"]}, "Hi", None),
        ({"raw": "Hello", "tasks": [1], "usage": {}}, '{"raw":"Hello","tasks":[1],"usage":{}}', "Hello"),
        ({"raw": "Hello", "title": "T"}, '{"raw":"Hello","title":"T"}', '{"raw":"Hello","title":"T"}'),
        ({"raw": "Hello", "agent": "A", "messages": [{"role": "user", "content": "Hi"}]}, "Hi", "Hello"),
        (
            {
                "object": "chat.completion",
                "model": "m",
                "choices": [{"message": {"role": "assistant", "content": "Hello"}}],
            },
            "Hello",
            "Hello",
        ),
        ({"message": "Hi"}, "Hi", None),
        ({"query_or_bundle": {"query_str": "Hi", "vectors": None}}, "Hi", None),
        ({"data": {"find": {"query": "Hi", "top_k": 3}, "ask": {"query": "Hi"}}}, "Hi", None),
        ({"find": {"query": "Hi"}, "ask": {"query": "Ho"}}, '{"find":{"query":"Hi"},"ask":{"query":"Ho"}}', None),
        ({"request_id": "r1"}, '{"request_id":"r1"}', None),
        ({"inputs": {"input": ""}, "tags": [], "kwargs": {"name": "chain"}}, None, None),
        ({"response": "Hello", "sources": [1]}, '{"response":"Hello","sources":[1]}', "Hello"),
        ([{"role": "user", "content": ""}], None, None),
    ],
)
def test_question_and_answer(value: Any, question: str | None, answer: str | None) -> None:
    assert input_text(value) == question
    if answer is not None or value in (None, "", []):
        assert output_text(value) == answer


@each_row(
    ("names", "there"), [(["p.0.x"], True), (["p.12"], True), (["p.x"], False), (["pp.0"], False), (["p."], False)]
)
def test_a_flattened_list_is_seen_by_its_numbers(names: list[str], there: bool) -> None:
    assert is_numbered("p", names) == there


@each_row(("value", "expected"), [("[1]", [1]), ("[1", "[1"), (" {}", " {}"), (5, 5), ("null", "null")])
def test_only_what_looks_like_json_is_loaded(value: Any, expected: Any) -> None:
    assert parse_json(value) == expected


contents = st.none() | st.sampled_from(["", "hello", '[{"type": "text", "text": "in JSON"}]', "[1]", 7])
kinds = st.sampled_from(["text", "input_text", "image", None])
parts = st.fixed_dictionaries(
    {},
    optional={"type": kinds, "content": contents, "text": contents, "modality": contents, "message_content": contents},
)
roles = st.sampled_from(["user", "assistant", "USER", "human", "model", "", None, ["user"], 3])
listed_messages = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "role": roles,
            "content": contents | st.lists(parts | st.text(max_size=3), max_size=2),
            "parts": contents | st.lists(parts, max_size=2),
            "message": st.none() | st.fixed_dictionaries({"content": contents}),
        },
    )
    | contents,
    max_size=3,
)


@given(listed_messages, st.sampled_from([messages.INPUT, messages.OUTPUT]))
def test_the_short_way_to_a_text_gives_what_the_long_one_does(document: list[Any], side: int) -> None:
    text = messages._plain_text(document, side) if document else None
    assert text is None or text == messages._text_of_side(messages._read_backwards(document, side), side)


def test_plain_messages_take_the_short_way() -> None:
    part = {"type": "text", "content": "hello"}
    for message in ({"role": "user", "parts": [part]}, {"role": "user", "content": "hello"}):
        assert messages._plain_text([message], messages.INPUT) == "hello"


@each_row(
    "result",
    [
        [{"role": "system", "content": "S"}],
        {"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "Hi"}], "tools": []},
        {"generations": [[{"text": "", "message": {"type": "ai", "content": ""}}]], "llm_output": None},
        [{"role": "assistant", "parts": []}],
    ],
)
def test_a_request_and_an_empty_reply_are_no_answer(result: Any) -> None:
    assert output_text(result) is None


@pytest.mark.parametrize("unsaid", [[], [{"type": "uri", "modality": "image", "uri": "https://example.org/a.png"}]])
def test_an_answered_question_does_not_stand_for_one_without_text(unsaid: list[Any]) -> None:
    first = {"role": "user", "parts": [{"type": "text", "content": "Hi"}]}
    reply = {"role": "assistant", "parts": [{"type": "text", "content": "Hello"}]}
    last = {"role": "user", "parts": unsaid}
    assert input_text([first, reply, last]) == ""
    # A picture that is sent after the words, in a message of its own, belongs to them.
    assert input_text([reply, first, last]) == "Hi"


@each_row(
    "given",
    [
        [{"type": "tool_result", "tool_use_id": "c", "content": "21"}],
        [{"toolResult": {"toolUseId": "c", "content": [{"text": "21"}]}}],
        [{"functionResponse": {"name": "f", "response": {"result": 21}}}],
    ],
)
def test_results_in_a_message_of_the_user_leave_the_question(given: list[Any]) -> None:
    asked = {"role": "user", "content": "Hi"}
    assert (
        input_text([asked, {"role": "assistant", "content": "Let me look."}, {"role": "user", "content": given}])
        == "Hi"
    )


def test_the_answer_of_an_earlier_turn_is_none_to_the_question_after_it() -> None:
    earlier = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    call = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    turn = [{"role": "user", "content": "Do it"}, call, {"role": "tool", "tool_call_id": "1", "content": "done"}]
    assert output_text([*earlier, *turn]) == '[{"name":"f","arguments":{"a":1}}]'
    # Words of the user at the end were not answered: the answer before them counts.
    assert output_text([*earlier, {"role": "user", "content": "Thanks"}]) == "Hello"


def test_an_envelope_that_nobody_listed_holds_its_messages() -> None:
    spoken = {"role": "user", "content": "Hi"}
    for envelope in ({"utterance": spoken, "tenant": "t", "flags": {"a": 1}}, {"log": [spoken], "run": {"n": 3}}):
        assert input_text(envelope) == "Hi"
