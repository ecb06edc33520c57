"""One exchange in every convention of spans, and the reply of a trace that states none."""

import json
from typing import Any

from evergold.conversation.assembly import conversation_of, reply_of, split_turn
from evergold.conversation.conventions import exchange_of
from evergold.model.trace import Span, Trace
from tests.builders import a_trace
from tests.rows import each_row

ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
ANSWERED = [{"role": "assistant", "content": "Hello"}]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def flat(prefix: str, messages: list[dict[str, Any]], inner: str = "") -> dict[str, Any]:
    return {
        f"{prefix}.{number}{inner}.{key}": value for number, one in enumerate(messages) for key, value in one.items()
    }


CONVENTIONS: dict[str, dict[str, Any]] = {
    "gen_ai": {
        "gen_ai.input.messages": json.dumps(ASKED),
        "gen_ai.output.messages": ANSWERED,
        "gen_ai.tool.definitions": json.dumps([TOOL]),
        "gen_ai.request.temperature": 0.5,
    },
    "openinference": {
        **flat("llm.input_messages", ASKED, ".message"),
        **flat("llm.output_messages", ANSWERED, ".message"),
        "llm.tools.0.tool.json_schema": json.dumps(TOOL),
        "llm.invocation_parameters": '{"temperature": 0.5}',
    },
    "traceloop": {
        **flat("gen_ai.prompt", ASKED),
        **flat("gen_ai.completion", ANSWERED),
        "llm.request.functions.0.name": "f",
        "llm.request.functions.0.parameters": '{"type": "object"}',
    },
    "vercel": {
        "ai.prompt.messages": json.dumps(ASKED),
        "ai.response.text": "Hello",
        "ai.prompt.tools": [json.dumps({"type": "function", "name": "f", "inputSchema": {"type": "object"}})],
        "ai.settings.temperature": 0.5,
    },
    "langfuse": {
        "langfuse.observation.input": json.dumps({"messages": ASKED, "tools": [TOOL]}),
        "langfuse.observation.output": json.dumps(ANSWERED[0]),
        "langfuse.observation.model.parameters": '{"temperature": 0.5}',
    },
    "mlflow": {
        "mlflow.spanInputs": json.dumps({"messages": ASKED, "tools": [TOOL]}),
        "mlflow.spanOutputs": json.dumps({"choices": [{"message": ANSWERED[0]}]}),
    },
    "generic": {
        "genkit:input": json.dumps({"messages": ASKED, "tools": [TOOL], "config": {"temperature": 0.5}}),
        "genkit:output": json.dumps({"message": ANSWERED[0]}),
    },
}


def span(attributes: dict[str, Any] | None = None, **more: Any) -> Span:
    fields: dict[str, Any] = {"id": "s", "kind": "llm", "output": "Hello", **more}
    metadata = {"attributes": attributes or {}, **fields.pop("metadata", {})}
    return Span(**fields, metadata=metadata)


@each_row("name", CONVENTIONS)
def test_the_same_exchange_is_read_from_every_convention(name: str) -> None:
    exchange = exchange_of(span(CONVENTIONS[name]))
    assert exchange.input == ASKED and exchange.output == ANSWERED
    assert [tool["function"]["name"] for tool in exchange.tools] == ["f"]
    if name not in ("traceloop", "mlflow"):
        assert exchange.parameters["temperature"] == 0.5


@each_row("name", CONVENTIONS)
def test_a_conversation_is_split_at_its_last_question(name: str) -> None:
    trace = a_trace(input="Hi", output="Hello", spans=(span(CONVENTIONS[name]),))
    conversation = conversation_of(trace)
    assert list(conversation.messages) == ASKED and [one["content"] for one in conversation.turn] == ["Hello"]
    assert conversation.problems == ()


def test_instructions_beside_the_messages_come_first_and_once() -> None:
    attributes = {**CONVENTIONS["gen_ai"], "gen_ai.system_instructions": "Be brief."}
    assert exchange_of(span(attributes)).input == ASKED
    attributes["gen_ai.system_instructions"] = "Be kind."
    assert [one["content"] for one in exchange_of(span(attributes)).input] == ["Be kind.", "Be brief.", "Hi"]


def test_one_convention_may_hold_the_question_and_another_the_answer() -> None:
    attributes = {"gen_ai.input.messages": json.dumps(ASKED), "ai.response.text": "Hello"}
    exchange = exchange_of(span(attributes))
    assert exchange.input == ASKED and exchange.output == ANSWERED


def test_messages_under_a_name_that_says_which_side_they_are() -> None:
    said = {"acme.turn.input": json.dumps({"body": {"messages": ASKED}}), "acme.turn.output": json.dumps(ANSWERED)}
    exchange = exchange_of(span(said))
    assert (exchange.input, exchange.output) == (ASKED, ANSWERED)
    assert not exchange_of(span({"acme.metadata.input": said["acme.turn.input"], "acme.turn.seen": "x"}, output=None))


def test_a_reply_without_content_beside_an_answer_and_no_question() -> None:
    empty = json.dumps([{"role": "assistant", "parts": []}])
    exchange = exchange_of(span({"acme.output": json.dumps(ANSWERED), "gen_ai.output.messages": empty}))
    assert (exchange.input, exchange.output) == ([], ANSWERED)


def test_only_the_first_choice_is_the_answer() -> None:
    events = [
        {"name": "gen_ai.user.message", "attributes": {"content": "Hi"}},
        *(
            {"name": "gen_ai.choice", "attributes": {"message": json.dumps({"content": text})}}
            for text in ("Hello", "Hey")
        ),
    ]
    exchange = exchange_of(span(metadata={"events": events}))
    assert [one["content"] for one in (*exchange.input, *exchange.output)] == ["Hi", "Hello"]


def test_calls_in_the_name_of_a_tool_are_the_assistants() -> None:
    parts = [{"type": "tool_call", "id": "c", "name": "f", "arguments": {}}]
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    written = json.dumps([{"role": "Tool", "parts": parts}])
    assert exchange_of(span({"gen_ai.output.messages": written})).output[0]["role"] == "assistant"
    named = [
        ("gen_ai.user.message", {"content": "Hi"}),
        ("gen_ai.choice", {"role": "tool", "tool_calls": json.dumps(calls), "finish_reason": "tool_calls"}),
        ("gen_ai.tool.message", {"content": "42", "id": "c"}),
        ("gen_ai.assistant.message", {"content": "Hello"}),
    ]
    exchange = exchange_of(span(metadata={"events": [{"name": name, "attributes": own} for name, own in named]}))
    assert [one["role"] for one in exchange.input] == ["user", "assistant", "tool"]
    assert exchange.input[1]["tool_calls"] == calls and exchange.output == [{"role": "assistant", "content": "Hello"}]


def test_a_span_that_says_nothing_has_no_exchange() -> None:
    assert not exchange_of(span(output=None)) and not exchange_of(span({"http.method": "GET"}, output="x"))


USER, REPLY, SYSTEM = {"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}, ASKED[0]
THANKS = {"role": "user", "content": "Thanks"}


@each_row(
    ("whole", "output", "sizes"),
    [
        ([SYSTEM, USER, REPLY], "A", (2, 1, 0)),
        ([USER, REPLY, USER], None, (3, 0, 0)),
        ([USER, REPLY, THANKS], "A", (1, 1, 1)),
        ([USER, REPLY, THANKS], "other", (3, 0, 0)),
        ([SYSTEM, REPLY], "A", (1, 1, 0)),
        ([SYSTEM], None, (1, 0, 0)),
        ([], "A", (0, 0, 0)),
    ],
)
def test_what_was_asked_what_was_done_and_what_came_after(
    whole: list[dict[str, Any]], output: str | None, sizes: tuple[int, int, int]
) -> None:
    parts = split_turn(whole, output)
    assert tuple(map(len, parts)) == sizes and [one for part in parts for one in part] == whole


CALLING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}],
}


@each_row(
    ("fields", "reply"),
    [
        ({"output": "stated"}, "stated"),
        ({"status": "failed", "metadata": {"messages": [USER, REPLY]}}, None),
        ({"metadata": {"messages": [USER, REPLY]}}, "A"),
        ({"metadata": {"messages": [USER, REPLY, THANKS]}}, "A"),
        ({"metadata": {"messages": [USER, CALLING]}}, '[{"name":"f","arguments":{}}]'),
        ({"spans": [span(CONVENTIONS["gen_ai"])]}, "Hello"),
        ({"spans": [span(output="plain")]}, "plain"),
        ({"spans": [span(kind="tool")]}, None),
        ({}, None),
    ],
)
def test_the_reply_of_a_trace_that_states_none(fields: dict[str, Any], reply: str | None) -> None:
    assert reply_of(Trace(id="t", **fields)) == reply


def test_the_call_that_ended_last_gives_the_reply() -> None:
    moment = "2026-01-01T00:00:0{}Z".format
    late = span(output="late", id="a", started_at=moment(1), ended_at=moment(9))
    early = span(output="early", id="b", started_at=moment(2), ended_at=moment(3))
    assert reply_of(Trace(id="t", spans=(late, early))) == "late"
    assert reply_of(Trace(id="t", spans=(late, span(output="no time", id="c")))) == "no time"
