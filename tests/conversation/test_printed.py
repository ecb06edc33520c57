"""Answers inside printed objects, calls that a client made itself, and what a tool span says of its arguments."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.conversation import conversation_of, text_of
from evergold.conversation.message import PRINTED_AS, final_output, parse_printed, prints
from evergold.conversation.reader import messages_in
from evergold.conversation.tools import tools_in
from evergold.model.trace import Span
from tests.builders import a_trace
from tests.rows import each_row

CALL = {"name": "hours", "args": {"day": "Sunday"}, "id": "c1", "type": "tool_call"}
ANSWER = "We're open from nine to six, and on Saturdays until noon; on Sundays nobody is here."


@each_row(
    ("printed", "quotes"),
    [
        (f"StopEvent(result=Output(text={ANSWER!r}))", True),
        (f"StopEvent(result=Output(text={ANSWER!r}"[:60] + "...", True),
        (f"StopEvent(result=Output(text={ANSWER!r}"[:34] + "...", False),
        ("StopEvent(result=Output(text='Closed.'))", False),
        (ANSWER, False),
        (f"He said (text={ANSWER!r})", False),
        ("", False),
        (None, False),
    ],
)
def test_a_printed_object_quotes_its_answer_as_far_as_it_is_printed(printed: str | None, quotes: bool) -> None:
    assert prints(printed, ANSWER) is quotes
    assert not prints(printed, "")


def span(id: str, kind: str, parent: str | None = "root", **attributes: Any) -> Span:
    return Span(id=id, parent_id=parent, kind=kind, name=id, metadata={"attributes": attributes})


def call(id: str, **attributes: Any) -> Span:
    flat = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "When?"}
    return span(id, "llm", **flat, **attributes)


def test_the_call_behind_a_printed_answer_is_the_conversation_with_its_messages() -> None:
    said = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": ANSWER}
    wrapper = span("wrapper", "llm", **said)
    printed = f"StopEvent(result=Output(text={ANSWER!r}))"
    trace = a_trace(
        "t1", input="Workflow()", output=printed, spans=[span("root", "chain", None), wrapper, call("c", **said)]
    )
    read = conversation_of(trace)
    assert [text_of(message) for message in (*read.messages, *read.turn)] == ["When?", ANSWER]


def test_a_call_whose_only_argument_is_the_answer_gave_it() -> None:
    made = "llm.output_messages.0.message.tool_calls.0.tool_call.function"
    given = {"llm.output_messages.0.message.role": "assistant", f"{made}.name": "submit"}
    last = call("c", **given, **{f"{made}.arguments": json.dumps({"text": ANSWER})})
    read = conversation_of(a_trace("t1", input="{}", output=ANSWER, spans=[span("root", "agent", None), last]))
    assert text_of(read.messages[-1]) == "When?" and read.turn[0]["tool_calls"][0]["function"]["name"] == "submit"


@pytest.mark.parametrize("key", ["automatic_function_calling_history", "automaticFunctionCallingHistory"])
def test_calls_that_a_client_of_google_made_itself_are_kept(key: str) -> None:
    history = [
        {"role": "user", "parts": [{"text": "When?"}]},
        {"role": "model", "parts": [{"function_call": {"name": "hours", "args": {"day": "Sunday"}}}]},
        {"role": "user", "parts": [{"function_response": {"name": "hours", "response": {"result": "closed"}}}]},
    ]
    reply = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Closed."}]}}], key: history}
    read = messages_in(json.dumps(reply), "output")
    assert [(one["role"], text_of(one)) for one in read] == [
        ("user", "When?"),
        ("assistant", ""),
        ("tool", '{"result":"closed"}'),
        ("assistant", "Closed."),
    ]


@each_row(
    ("parameters", "arguments"),
    [
        ({"properties": {"day": {"type": "string"}}, "type": "object"}, {"day": "Sunday"}),
        ({"day": {"type": "string", "description": "which"}}, {"day": "Sunday"}),
        ({"day": "Monday"}, {"day": "Monday"}),
    ],
)
def test_the_schema_of_a_tool_is_not_taken_for_its_arguments(parameters: Any, arguments: Any) -> None:
    passed = {"args": [], "checked": True, "kwargs": {"day": "Sunday"}}
    named = {"tool.name": "hours", "tool.parameters": json.dumps(parameters), "input.value": json.dumps(passed)}
    tool = span("hours", "tool", None, **named, **{"output.value": "closed"})
    (made, _, _) = conversation_of(a_trace("t1", input="When?", output="Closed.", spans=[tool])).turn
    assert json.loads(made["tool_calls"][0]["function"]["arguments"]) == arguments


def test_a_printed_object_gives_its_fields_back() -> None:
    printed = (
        "Message(role=<Role.USER: 'user'>, at=<object>, parts=[Text(text='a <b: 1> \\'c\\' \"d\"'), Text('e')], n=-1)"
    )
    assert parse_printed(printed) == {
        "role": "user",
        "at": None,
        "parts": [{"text": "a <b: 1> 'c' \"d\"", PRINTED_AS: "Text"}, ["e"]],
        "n": -1,
        PRINTED_AS: "Message",
    }


@each_row(
    "text",
    [
        "Hello (name=you)",
        "Message(role='user'",
        "f(x=1)(y=2) and more",
        "M(a=" * 5000 + "1",
        "M(a=b.c)",
        "M(a='" + "\\'" * 90_000,
    ],
)
def test_a_text_that_is_no_printed_object_stays_as_it_is(text: str) -> None:
    assert parse_printed(text) == text


@given(
    st.recursive(st.text() | st.integers() | st.none(), lambda some: st.lists(some) | st.dictionaries(st.text(), some))
)
def test_whatever_python_prints_is_read_back(value: Any) -> None:
    assert parse_printed(f"Message(content={value!r})") == {"content": value, PRINTED_AS: "Message"}


@each_row(
    ("stream", "output"),
    [
        (
            "Delta(content='It ', calls=None)Delta(content='is.', calls=None)FinalStep(output='It is open.')",
            "It is open.",
        ),
        ("Delta(content='It ', calls=None)Delta(content='is.', calls=None)", None),
        ("Step(output='a', final=True)Step(output='b', final=False)", None),
        ("FinalStep(output='It is open.')", None),
        ("It is open (see)Hours(day='Sunday')", None),
    ],
)
def test_a_stream_of_printed_objects_ends_with_its_output(stream: str, output: str | None) -> None:
    assert final_output(stream) == output


def test_printed_messages_of_a_list_are_read() -> None:
    call = "ToolCall(tool_name='hours', arguments={'day': 'Sunday'}, id='c1', extra=None)"
    printed = [
        "ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='When?')], _name=None, _meta={})",
        f"ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[{call}], _name=None, _meta={{}})",
        f"ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[ToolCallResult(result='closed', origin={call}, error=False)])",
        "ChatMessage(role=<MessageRole.ASSISTANT: 'assistant'>, blocks=[TextBlock(block_type='text', text='Closed.')])",
    ]
    read = messages_in({"messages": printed}, "input")
    assert [(one["role"], text_of(one)) for one in read] == [
        ("user", "When?"),
        ("assistant", ""),
        ("tool", "closed"),
        ("assistant", "Closed."),
    ]
    assert read[1]["tool_calls"][0]["function"] == {"name": "hours", "arguments": '{"day":"Sunday"}'}


def test_tools_that_are_the_only_text_of_a_list_are_read() -> None:
    offered = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("lookup", "renew")]
    assert [tool["function"]["name"] for tool in tools_in([json.dumps(offered)])] == ["lookup", "renew"]
    assert tools_in([[{"type": "human", "content": "Open?"}]]) == []


def test_tools_that_are_offered_among_the_messages_are_no_messages() -> None:
    schema = {"name": "hours", "description": "Opening hours", "parameters": {"type": "object", "properties": {}}}
    asked = [
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": "", "additional_kwargs": {"refusal": None}, "tool_calls": [CALL]},
        {"role": "tool", "content": "closed", "tool_call_id": "c1"},
        {"role": "tool", "content": {"type": "function", "function": schema}},
    ]
    read = messages_in(json.dumps(asked), "input")
    assert [message["role"] for message in read] == ["user", "assistant", "tool"]
    assert read[1]["tool_calls"][0]["function"]["name"] == "hours"
    assert tools_in(json.dumps(asked)) == [{"type": "function", "function": schema}]


def test_calls_that_flattened_messages_leave_out_are_read_from_the_request() -> None:
    asked: list[dict[str, Any]] = [
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "content": "closed", "tool_call_id": "c1"},
    ]
    flat = {"openinference.span.kind": "LLM", "input.value": json.dumps({"messages": asked})}
    for number, message in enumerate(asked):
        flat[f"llm.input_messages.{number}.message.role"] = message["role"]
        if message["content"]:
            flat[f"llm.input_messages.{number}.message.content"] = message["content"]
    said = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "Closed."}
    read = conversation_of(
        a_trace("t1", input="When?", output="Closed.", spans=[span("c", "llm", None, **flat, **said)])
    )
    assert [message["role"] for message in (*read.messages, *read.turn)] == ["user", "assistant", "tool", "assistant"]
    assert read.turn[0]["tool_calls"][0]["id"] == read.turn[1]["tool_call_id"] and not read.problems


def test_a_root_that_says_its_answer_alone_does_not_hide_the_tools_at_work() -> None:
    root = span(
        "root", "agent", None, **{"gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "Closed."}])}
    )
    given = {"gen_ai.tool.name": "hours", "gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "closed"}
    trace = a_trace("t1", input="When?", output="Closed.", spans=[root, span("execute_tool", "tool", "root", **given)])
    read = conversation_of(trace)
    assert [(one["role"], text_of(one)) for one in (*read.messages, *read.turn)] == [
        ("user", "When?"),
        ("assistant", ""),
        ("tool", "closed"),
        ("assistant", "Closed."),
    ]
