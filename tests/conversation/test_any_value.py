"""Nothing that can be written as JSON breaks the reading, and what is read is always in the canonical shape."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.conversation import conversation_of
from evergold.conversation.assembly import documents_in
from evergold.conversation.reader import messages_in
from evergold.conversation.tools import tools_in
from tests.builders import a_trace
from tests.rows import each_row

KEYS = st.sampled_from(
    [
        *("role", "content", "parts", "type", "text", "tool_calls", "function", "name", "arguments", "id", "messages"),
        *("kwargs", "lc_kwargs", "data", "message", "choices", "contents", "candidates", "function_call", "input"),
        *("toolUse", "toolResult", "tool_call", "function_response", "blocks", "items", "images", "source", "output"),
        *(
            "tool_calls",
            "invalid_tool_calls",
            "additional_kwargs",
            "generations",
            "kind",
            "part_kind",
            "event.name",
            "tool_results",
            "image",
        ),
    ]
)
WORDS = st.sampled_from(
    [
        *("user", "ai", "tool", "text", "tool_use", "tool_result", "function_call", "[{}]", '{"a":1}', ""),
        *("tool-call", "Calling tools:\n{{1}}", "Calling tools: [{}, {[]: 1}]", "A(a={{1}})", "A(a=<B: 'b'>, c=-[])"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | WORDS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=25,
)


@each_row(
    "message",
    [
        {"role": "tool-call", "content": "Calling tools:\n{{1}}"},
        {"role": "tool-call", "content": "Calling tools:\n{[]: 1}"},
        {"type": "ai", "data": {"content": "x", "tool_calls": 1.5}},
        {"type": "ai", "data": {"content": "x", "invalid_tool_calls": 1}},
        {"type": "ai", "data": {"content": "x", "additional_kwargs": {"tool_calls": True}}},
    ],
)
def test_calls_of_another_kind_are_none(message: dict[str, Any]) -> None:
    (read,) = messages_in([message], "input")
    assert not read.get("tool_calls") and read["content"] == (message.get("data") or message)["content"]


@settings(max_examples=300, deadline=None)
@given(value=JSON)
def test_any_json_gives_messages_in_one_shape(value: Any) -> None:
    for given_value in (value, json.dumps(value)):
        for message in messages_in(given_value, "input") + messages_in(given_value, "output"):
            assert isinstance(message["role"], str)
            assert message["content"] is None or isinstance(message["content"], str | list)
            for call in message.get("tool_calls", ()):
                assert isinstance(call["function"]["name"], str)
                assert isinstance(call["function"]["arguments"], str)
        tools_in(given_value)
        documents_in(given_value)


@settings(max_examples=100, deadline=None)
@given(value=JSON)
def test_any_attribute_gives_a_conversation(value: Any) -> None:
    attributes = {"gen_ai.input.messages": value, "output.value": value, "events": value, "retrieval.documents": value}
    span = {"id": "a", "kind": "llm", "output": "Lima.", "metadata": {"attributes": attributes, "events": value}}
    tool = {"id": "b", "kind": "tool", "input": json.dumps(value), "metadata": {"attributes": attributes}}
    found = conversation_of(a_trace(spans=[span, tool], metadata={"messages": value, "contexts": value}))
    assert found.turn or found.messages
