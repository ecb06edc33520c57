"""Each convention's own spelling of the same call: the same question, answer, model and tokens must be read."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.sources.conventions import read_span as names
from evergold.sources.conventions.read_span import MOST_PLANS, ParsedSpan, plan_for, raw_of, read_span
from evergold.sources.spans import Wire, WireEvent, WireSpan
from tests.otlp import a_span, protobuf_body, read_traces
from tests.rows import each_row

QUESTION, ANSWER = "What is the capital of Peru?", "Lima."
OPENAI_IN = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
OPENAI_OUT = [{"role": "assistant", "content": ANSWER}]
PARTS_IN = [
    {"role": "user", "parts": [{"type": "text", "content": "Hello"}]},
    {"role": "assistant", "parts": [{"type": "text", "content": "Hi!"}]},
    {"role": "user", "parts": [{"type": "text", "content": QUESTION}]},
]
PARTS_OUT = [{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}], "finish_reason": "stop"}]


def flat(prefix: str, messages: list[dict[str, str]], infix: str = "") -> dict[str, str]:
    return {f"{prefix}.{i}.{infix}{key}": value for i, item in enumerate(messages) for key, value in item.items()}


def read(attributes: dict[str, Any], events: list[WireEvent] | None = None) -> ParsedSpan:
    return read_span(WireSpan("t", "s", None, "call", 0, 1, attributes=attributes, events=events or []))


CALLS: dict[str, dict[str, Any]] = {
    "gen_ai, numbered attributes": {
        "gen_ai.system": "openai",
        "gen_ai.request.model": "gpt",
        "gen_ai.usage.prompt_tokens": 7,
        "gen_ai.usage.completion_tokens": 2,
        "llm.request.type": "chat",
        **flat("gen_ai.prompt", OPENAI_IN),
        **flat("gen_ai.completion", OPENAI_OUT),
    },
    "gen_ai, JSON attributes": {
        "gen_ai.provider.name": "openai",
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-latest",
        "gen_ai.response.model": "gpt",
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be brief."}]),
        "gen_ai.input.messages": json.dumps(PARTS_IN),
        "gen_ai.output.messages": json.dumps(PARTS_OUT),
    },
    "gen_ai, structured attributes": {
        "gen_ai.provider.name": "openai",
        "gen_ai.operation.name": "chat",
        "gen_ai.response.model": "gpt",
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.input.messages": PARTS_IN,
        "gen_ai.output.messages": PARTS_OUT,
    },
    "OpenInference": {
        "openinference.span.kind": "LLM",
        "llm.model_name": "gpt",
        "llm.provider": "openai",
        "llm.token_count.prompt": 7,
        "llm.token_count.completion": 2,
        "input.value": json.dumps({"messages": OPENAI_IN, "model": "gpt"}),
        "input.mime_type": "application/json",
        "output.value": json.dumps({"choices": [{"message": OPENAI_OUT[0]}]}),
        "output.mime_type": "application/json",
        **flat("llm.input_messages", OPENAI_IN, "message."),
        **flat("llm.output_messages", OPENAI_OUT, "message."),
    },
    "OpenInference, values only": {
        "openinference.span.kind": "LLM",
        "llm.model_name": "gpt",
        "llm.provider": "openai",
        "llm.token_count.prompt": 7,
        "llm.token_count.completion": 2,
        "input.value": json.dumps({"messages": OPENAI_IN, "model": "gpt"}),
        "input.mime_type": "application/json",
        "output.value": json.dumps({"id": "1", "choices": [{"message": OPENAI_OUT[0]}]}),
        "output.mime_type": "application/json",
    },
    "Langfuse": {
        "langfuse.observation.type": "generation",
        "langfuse.observation.model.name": "gpt",
        "gen_ai.system": "openai",
        "langfuse.observation.usage_details": json.dumps({"input": 7, "output": 2, "total": 9}),
        "langfuse.observation.input": json.dumps(OPENAI_IN),
        "langfuse.observation.output": json.dumps(OPENAI_OUT[0]),
    },
    "Vercel AI": {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.model.id": "gpt",
        "ai.model.provider": "openai",
        "ai.usage.promptTokens": 7,
        "ai.usage.completionTokens": 2,
        "ai.prompt.messages": json.dumps([{"role": "user", "content": [{"type": "text", "text": QUESTION}]}]),
        "ai.response.text": ANSWER,
    },
    "MLflow": {
        "mlflow.spanType": '"CHAT_MODEL"',
        "gen_ai.request.model": "gpt",
        "gen_ai.system": "openai",
        "mlflow.chat.tokenUsage": json.dumps({"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}),
        "mlflow.spanInputs": json.dumps({"model": "gpt", "messages": OPENAI_IN}),
        "mlflow.spanOutputs": json.dumps({"id": "1", "choices": [{"index": 0, "message": OPENAI_OUT[0]}]}),
    },
}


@each_row("convention", CALLS)
def test_a_model_call(convention: str) -> None:
    said = read(CALLS[convention])
    assert (said.kind, said.input, said.output) == ("llm", QUESTION, ANSWER)
    assert (said.model, said.provider, said.input_tokens, said.output_tokens) == ("gpt", "openai", 7, 2)


@each_row(
    "choice",
    [
        {"index": 0, "finish_reason": "stop", "message": json.dumps(OPENAI_OUT[0])},
        {"index": 0, "message": ANSWER},
        {"content": ANSWER},
    ],
)
def test_the_span_events_of_the_second_generation(choice: dict[str, Any]) -> None:
    events = [
        WireEvent("gen_ai.system.message", 1, {"content": "Be brief."}),
        WireEvent("gen_ai.user.message", 2, {"content": QUESTION}),
        WireEvent("gen_ai.choice", 3, choice),
    ]
    said = read({"gen_ai.operation.name": "chat"}, events)
    assert (said.kind, said.input, said.output) == ("llm", QUESTION, ANSWER)


def test_an_assistants_message_that_ends_the_events_is_the_answer() -> None:
    told = [
        ("gen_ai.user.message", {"content": QUESTION}),
        (
            "gen_ai.choice",
            {"role": "tool", "tool_calls": '[{"id": "c", "function": {"name": "f", "arguments": "{}"}}]'},
        ),
        ("gen_ai.tool.message", {"content": "42", "id": "c"}),
        ("gen_ai.assistant.message", {"content": ANSWER}),
    ]
    said = read({"gen_ai.operation.name": "chat"}, [WireEvent(name, 1, fields) for name, fields in told])
    assert (said.input, said.output) == (QUESTION, ANSWER)


def test_a_system_prompt_alone_does_not_hide_the_question() -> None:
    alone = flat("llm.input_messages", OPENAI_IN[:1], "message.")
    assert read(alone | {"ai.prompt": json.dumps({"system": "Be brief.", "prompt": QUESTION})}).input == QUESTION
    assert read(alone).input == "Be brief."


def test_the_older_content_events() -> None:
    events = [
        WireEvent("gen_ai.content.prompt", 1, {"gen_ai.prompt": json.dumps(OPENAI_IN)}),
        WireEvent("gen_ai.content.completion", 2, {"gen_ai.completion": json.dumps(OPENAI_OUT)}),
    ]
    said = read({"gen_ai.request.model": "gpt"}, events)
    assert (said.kind, said.input, said.output) == ("llm", QUESTION, ANSWER)


def test_pydantic_ai_agent_run() -> None:
    said = read({"pydantic_ai.all_messages": json.dumps(PARTS_IN + PARTS_OUT), "gen_ai.operation.name": "invoke_agent"})
    assert (said.kind, said.input, said.output) == ("agent", QUESTION, ANSWER)


@each_row(
    ("attributes", "tool", "arguments", "result"),
    [
        (
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "weather",
                "gen_ai.tool.call.arguments": '{"city":"Lima"}',
                "gen_ai.tool.call.result": "19 °C",
            },
            "weather",
            '{"city":"Lima"}',
            "19 °C",
        ),
        (
            {
                "ai.operationId": "ai.toolCall",
                "ai.toolCall.name": "w",
                "ai.toolCall.args": '{"a":1}',
                "ai.toolCall.result": "[2]",
            },
            "w",
            '{"a":1}',
            "[2]",
        ),
        (
            {
                "traceloop.span.kind": "tool",
                "traceloop.entity.name": "w",
                "traceloop.entity.input": '{"args":["Lima"],"kwargs":{}}',
                "traceloop.entity.output": '"warm"',
            },
            "w",
            "Lima",
            "warm",
        ),
        (
            {"openinference.span.kind": "TOOL", "tool.name": "w", "input.value": '{"a": 1}', "output.value": "x"},
            "w",
            '{"a": 1}',
            "x",
        ),
    ],
)
def test_tool_calls(attributes: dict[str, Any], tool: str, arguments: str, result: str) -> None:
    said = read(attributes)
    assert (said.kind, said.tool, said.input, said.output) == ("tool", tool, arguments, result)


def test_a_frameworks_own_names_say_what_its_span_was_given_and_gave() -> None:
    run = {"mastra.agent_run.input": "Is it open?", "mastra.agent_run.output": '{"text": "Yes.", "files": []}'}
    said = read({"gen_ai.operation.name": "invoke_agent", "gen_ai.system_instructions": "Be brief.", **run})
    assert (said.kind, said.input, said.output) == ("agent", "Is it open?", "Yes.")
    assert read(run | {"mastra.agent_run.output": '{"text": "", "files": []}'}).output is None
    assert read(run | {"input.value": "Open?", "app.tokens.input": "12"}).input == "Open?"
    state = {
        "langchain.inputs": '[[{"type": "human", "content": "Open?"}], {"tags": []}]',
        "langchain.outputs": '{"_type": "m"}',
    }
    assert (read(state).input, read(state).output) == ("Open?", None)
    assert read(state | {"langchain.outputs": "null"}).output is None
    assert read({"gen_ai.operation.name": "chat", "gen_ai.system_instructions": "Be brief."}).input is None


def test_calls_beside_an_answer_are_those_of_an_earlier_reply() -> None:
    call = {"gen_ai.completion.0.function_call.name": "w", "gen_ai.completion.0.function_call.arguments": "{}"}
    assert read(call).output == '[{"name":"w","arguments":{}}]'
    answer = {"gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Warm."}]}]'}
    assert read({**call, **answer}).output == "Warm."
    made = [{"id": "c", "type": "function", "function": {"name": "w", "arguments": "{}"}}]
    events = [
        WireEvent(
            "gen_ai.content.completion", 0, {"gen_ai.completion": json.dumps([{"role": "assistant", "content": made}])}
        )
    ]
    assert (
        read_span(WireSpan("t", "s", None, "chat", 0, 1, False, None, {}, events)).output
        == '[{"name":"w","arguments":{}}]'
    )


def test_an_answer_that_only_calls_tools_is_those_calls() -> None:
    openinference = {
        "openinference.span.kind": "LLM",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "weather",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"city": "Lima"}',
    }
    parts = [{"role": "assistant", "parts": [{"type": "tool_call", "name": "weather", "arguments": {"city": "Lima"}}]}]
    for attributes in (openinference, {"gen_ai.output.messages": json.dumps(parts)}):
        assert read(attributes).output == '[{"name":"weather","arguments":{"city":"Lima"}}]'


def test_an_answer_that_happens_to_be_json_is_kept_to_the_letter() -> None:
    answer = '{ "answer" : "Lima" }'
    assert read({"output.value": answer, "output.mime_type": "text/plain"}).output == answer
    assert read({"ai.response.text": answer}).output == answer


IMAGE = "iVBORw0KGgo="


@each_row(
    "content",
    [
        [{"type": "text", "content": QUESTION}, {"type": "blob", "modality": "image", "content": IMAGE}],
        [{"type": "file", "modality": "image", "file_id": "f"}, {"type": "text", "content": QUESTION}],
        [{"type": "reasoning", "content": "Hm."}, {"type": "text", "content": QUESTION}],
        [
            {"type": "tool_call_response", "id": "1", "result": "x", "content": "x"},
            {"type": "text", "content": QUESTION},
        ],
    ],
)
def test_only_texts_are_read_out_of_a_message_of_parts(content: list[dict[str, str]]) -> None:
    said = read({"gen_ai.input.messages": json.dumps([{"role": "user", "parts": content}])})
    assert said.input == QUESTION


def test_parts_written_into_a_text_are_read_as_parts() -> None:
    parts = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": "data:x"}}]
    said = read({"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": json.dumps(parts)})
    assert said.input == QUESTION
    table = json.dumps([{"type": "a"}, 5])
    assert read({"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": table}).input == table


def test_no_messages_are_no_answer() -> None:
    said = read({"gen_ai.input.messages": "[]", "gen_ai.output.messages": "[]"})
    assert (said.input, said.output) == (None, None)


def test_events_that_carry_their_content_as_one_text() -> None:
    asked = WireEvent("gen_ai.user.message", 1, {"gen_ai.event.content": json.dumps({"content": QUESTION})})
    told = {"index": 0, "finish_reason": "stop", "message": {"content": ANSWER}}
    answered = WireEvent("gen_ai.choice", 2, {"gen_ai.event.content": json.dumps(told)})
    said = read({"gen_ai.operation.name": "chat"}, [asked, answered])
    assert (said.input, said.output) == (QUESTION, ANSWER)


@each_row(
    ("question", "answer"),
    [
        ({"inputs": {"question": QUESTION}, "tags": [], "metadata": {}, "kwargs": {"name": "x"}}, {"outputs": ANSWER}),
        ({"args": [], "kwargs": {"question": QUESTION}}, {"outputs": ANSWER, "kwargs": {"tags": ["a"]}}),
        ({"input": QUESTION, "chat_history": []}, {"output": ANSWER, "error": None}),
        ({"messages": [["system", "Be brief."], ["user", QUESTION]]}, {"messages": [["ai", ANSWER]]}),
        ({"input": QUESTION, "model": "gpt", "temperature": 0}, ANSWER),
    ],
)
def test_what_chains_wrap_around_question_and_answer(question: Any, answer: Any) -> None:
    said = read({"traceloop.entity.input": json.dumps(question), "traceloop.entity.output": json.dumps(answer)})
    assert (said.input, said.output) == (QUESTION, ANSWER)


def test_an_observation_of_level_error_failed() -> None:
    attributes = {"langfuse.observation.level": "ERROR", "langfuse.observation.status_message": "no"}
    span = WireSpan("t", "s", None, "call", 0, 1, attributes=attributes)
    read_span(span)
    assert (span.failed, span.status_message) == (True, "no")


@pytest.mark.parametrize(
    ("attributes", "documents"),
    [
        (
            {
                "openinference.span.kind": "RETRIEVER",
                "retrieval.documents.0.document.id": "d1",
                "retrieval.documents.0.document.content": "Lima is the capital.",
                "retrieval.documents.0.document.score": 0.9,
                "retrieval.documents.0.document.metadata": '{"page": 3}',
                "retrieval.documents.10.document.content": "later",
                "retrieval.documents.2.document.content": "sooner",
            },
            [
                {"id": "d1", "content": "Lima is the capital.", "score": 0.9, "metadata": {"page": 3}},
                {"content": "sooner"},
                {"content": "later"},
            ],
        ),
        (
            {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": '[{"id":"d1","score":0.5}]'},
            [{"id": "d1", "score": 0.5}],
        ),
    ],
)
def test_retrieved_documents_in_rank_order(attributes: dict[str, Any], documents: list[dict[str, Any]]) -> None:
    said = read(attributes)
    assert said.kind == "retriever"
    assert said.documents == documents


@each_row(
    "attributes",
    [
        {"session.id": "s", "user.id": "u", "tag.tags": ["a", "b"], "metadata": '{"plan": "pro"}'},
        {"gen_ai.conversation.id": "s", "enduser.id": "u", "tag.tags": "a,b", "metadata": '{"plan": "pro"}'},
        {
            "langfuse.session.id": "s",
            "langfuse.user.id": "u",
            "langfuse.trace.tags": '["a","b"]',
            "langfuse.trace.metadata.plan": "pro",
        },
    ],
)
def test_whose_call_it_was(attributes: dict[str, Any]) -> None:
    said = read(attributes)
    assert (said.session_id, said.texts["user_id"], said.tags, said.metadata) == ("s", "u", ["a", "b"], {"plan": "pro"})


def test_the_openllmetry_association() -> None:
    said = read({"traceloop.association.properties.session_id": "s", "traceloop.association.properties.user_id": "u"})
    assert (said.session_id, said.texts["user_id"]) == ("s", "u")


def test_langfuse_may_state_the_trace_itself() -> None:
    said = read(
        {"langfuse.trace.name": "ask", "langfuse.trace.input": '{"question": "why?"}', "langfuse.trace.output": "so"}
    )
    assert (said.trace_name, said.trace_input, said.trace_output) == ("ask", "why?", "so")


@each_row("value", ["many", float("inf"), [1], {"a": 1}])
def test_a_count_that_is_none_is_not_zero(value: Any) -> None:
    assert read({"gen_ai.usage.input_tokens": value}).input_tokens is None


ODD: list[Any] = [
    None,
    "",
    "{",
    "[",
    0,
    True,
    [],
    {},
    [[]],
    [None],
    {"messages": 3},
    '{"messages":[1]}',
    "\x00",
    '"',
    "[[[]]]",
]


@each_row("value", ODD, ids=repr)
def test_odd_values_never_break_the_reading(value: Any) -> None:
    names = [name for call in CALLS.values() for name in call]
    read_span(read_traces(protobuf_body(a_span(attributes=dict.fromkeys(names, value))), Wire.PROTOBUF).spans[0])


NAMES = sorted({name for call in CALLS.values() for name in call})
VALUES = st.sampled_from([*ODD, "chat", "text", 7, 0.5, json.dumps(OPENAI_IN), json.dumps(PARTS_OUT), OPENAI_OUT])


@given(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=20), st.randoms())
def test_neither_order_nor_foreign_names_change_what_is_understood(attributes: dict[str, Any], chance: Any) -> None:
    names = [*attributes, "server.address", "thread.id"]
    chance.shuffle(names)
    assert read({name: attributes.get(name, "x") for name in names}) == read(attributes)


def test_a_way_of_reading_is_remembered_for_some_sets_of_names_only() -> None:
    known = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    assert plan_for(known) is plan_for(dict(known))
    plan_for({"x" * 10_000: 1})
    for number in range(2 * MOST_PLANS):
        plan_for({f"name {number}": 1})
    assert len(names._plans) <= MOST_PLANS
    assert not any("x" * 10_000 in known for known in names._plans)


def test_everything_a_span_carried_is_kept() -> None:
    attributes = {"input.value": "7", "output.value": "why " * 9, "seats": "7", "nothing": None}
    span = WireSpan("t", "s", None, "call", 0, 1, attributes=dict(attributes))
    assert raw_of(span)["attributes"] == attributes


@each_row("left", ["[Scrubbed due to 'session']", "<redacted>", "***", "None", "undefined", " ", "[REDACTED]"])
def test_what_a_scrubber_left_of_an_id_joins_nobody(left: str) -> None:
    parsed = read({"session.id": left, "gen_ai.conversation.id": "c-1", "user.id": left})
    assert (parsed.session_id, parsed.texts) == ("c-1", {})


@each_row("ident", ["[42]", "redacted-team", "none-of-yours", "nullable", "s1"])
def test_an_id_of_an_unusual_shape_is_an_id(ident: str) -> None:
    parsed = read({"session.id": ident})
    assert parsed.session_id == ident


@each_row("prefix", ["ai.settings.context.", "ai.telemetry.metadata.", "traceloop.association.properties."])
@each_row("names", [("sessionId", "userId"), ("thread_id", "user_id")])
def test_ids_among_the_properties_of_an_app(prefix: str, names: tuple[str, str]) -> None:
    parsed = read({prefix + names[0]: "s-1", prefix + names[1]: "u-1", prefix + "plan": "pro"})
    assert (parsed.session_id, parsed.texts, parsed.metadata["plan"]) == ("s-1", {"user_id": "u-1"}, "pro")


def test_a_model_that_is_written_as_json() -> None:
    parsed = read({"mlflow.spanType": '"CHAT_MODEL"', "mlflow.llm.model": '"small-1"', "mlflow.llm.provider": '"acme"'})
    assert (parsed.kind, parsed.model, parsed.provider) == ("llm", "small-1", "acme")


def test_a_question_without_text_is_not_replaced_by_the_instructions() -> None:
    said = [*PARTS_IN[:2], {"role": "user", "parts": []}]
    parsed = read(
        {"gen_ai.input.messages": json.dumps(said), "gen_ai.system_instructions": '[{"type":"text","content":"S"}]'}
    )
    assert parsed.input is None
    assert read({"gen_ai.input.messages": json.dumps(said), "langfuse.observation.input": QUESTION}).input == QUESTION


@pytest.mark.parametrize("key", ["pydantic_ai.all_messages", "all_messages_events"])
def test_a_run_that_failed_has_not_the_answer_of_an_earlier_turn(key: str) -> None:
    attributes = {key: json.dumps(PARTS_IN)}
    for failed, answer in ((True, None), (False, "Hi!")):
        span = WireSpan("t", "s", None, "run", 0, 1, attributes=attributes, failed=failed)
        parsed = read_span(span)
        assert (parsed.input, parsed.output) == (QUESTION, answer)


@each_row(
    ("output", "answer"),
    [
        ("RateLimit(lib.errors): no seats left\nContext: {}", None),
        ("no seats left", None),
        ({"error_message": "429 no seats left", "actions": {}}, None),
        ("There were no seats, so I", "There were no seats, so I"),
        ({"error": "no seats left", "content": "Row 4"}, '{"error": "no seats left", "content": "Row 4"}'),
    ],
)
def test_the_error_of_a_failed_span_is_no_answer(output: Any, answer: str | None) -> None:
    value = output if isinstance(output, str) else json.dumps(output)
    attributes = {"openinference.span.kind": "AGENT", "output.value": value, "output.mime_type": "application/json"}
    span = WireSpan("t", "s", None, "agent", 0, 1, True, "RateLimit: no seats left", attributes)
    assert read_span(span).output == answer
    span.failed = False
    assert read_span(span).output


@each_row(
    ("attributes", "fact", "value"),
    [
        ({"acme.step.input": QUESTION}, "input", QUESTION),
        ({"acme.input_text": QUESTION}, "input", QUESTION),
        ({"acme.agent.messages": json.dumps(OPENAI_IN)}, "input", QUESTION),
        ({"llm.input_messages": json.dumps(OPENAI_IN)}, "input", QUESTION),
        ({"acme.input": json.dumps({"type": "messages", "value": OPENAI_IN})}, "input", QUESTION),
        ({"acme.input": json.dumps({"type": "raw", "value": {"seat": 4}})}, "input", '{"seat":4}'),
        ({"acme.input": json.dumps([QUESTION, "Which year?"])}, "input", f"{QUESTION}\n\nWhich year?"),
        ({"acme.call.input": json.dumps({"body": {"model": "gpt", "messages": OPENAI_IN}})}, "model", "gpt"),
        ({"acme:output": json.dumps({"text": ANSWER})}, "output", ANSWER),
        ({"acme:output": json.dumps({"text": "", "object": {"seat": 4}})}, "output", '{"seat":4}'),
        ({"acme.response.text": ANSWER}, "output", ANSWER),
        ({"acme.span.type": "tool", "acme.tool.output": '{"sky":"grey"}'}, "output", '{"sky":"grey"}'),
        ({"acme.tool.result": "22 degrees"}, "output", "22 degrees"),
        ({"acme.tool.name": "weather", "acme.tool.arguments": '{"city":"Lima"}'}, "kind", "tool"),
        ({"acme.span.type": "llm"}, "kind", "llm"),
        ({"acme.turn.input_tokens": 7}, "input_tokens", 7),
        ({"acme.metrics": json.dumps({"type": "json", "value": {"promptTokens": 7}})}, "input_tokens", 7),
        ({"acme.output": json.dumps({"choices": [], "usage": {"prompt_tokens": 7}})}, "input_tokens", 7),
        ({"acme.llm.model": "gpt", "acme.llm.completion_tokens": 2}, "model", "gpt"),
        ({"acme.agent.session_id": "s-1"}, "session_id", "s-1"),
    ],
)
def test_names_that_nobody_agreed_on_say_by_their_last_word_what_they_hold(
    attributes: dict[str, Any], fact: str, value: object
) -> None:
    assert getattr(read(attributes), fact) == value


@each_row(
    "attributes",
    [
        {"acme.expected_output": "no"},
        {"ai.telemetry.metadata.question": "no"},
        {"http.request.input": "no", "db.output": "no", "cache.result": "no"},
        {"acme.usage.input": 7, "acme.usage.output": 2},
        {"gen_ai.output.type": "json", "gen_ai.prompt.name": "no", "acme.request": "no"},
        {"mcp.session.id": "no", "thread.id": 7, "device.model.name": "no", "car.model": "no"},
    ],
)
def test_words_of_protocols_figures_and_properties_are_neither_question_nor_answer(attributes: dict[str, Any]) -> None:
    parsed = read(attributes)
    assert (parsed.kind, parsed.input, parsed.output, parsed.model, parsed.session_id) == ("span", *[None] * 4)


def test_a_name_that_a_table_has_comes_before_one_that_only_sounds_so() -> None:
    parsed = read(
        {"acme.input": "no", "acme.llm.model": "no", "gen_ai.prompt": QUESTION, "gen_ai.request.model": "gpt"}
    )
    assert (parsed.input, parsed.model) == (QUESTION, "gpt")


def test_an_empty_object_does_not_hide_what_another_name_says() -> None:
    tool = {"gen_ai.operation.name": "execute_tool", "gcp.vertex.agent.llm_request": "{}"}
    parsed = read(
        {
            **tool,
            "gcp.vertex.agent.tool_call_args": '{"city":"Lima"}',
            "gcp.vertex.agent.llm_response": "{}",
            "gcp.vertex.agent.tool_response": '{"sky":"grey"}',
        }
    )
    assert (parsed.input, parsed.output) == ('{"city":"Lima"}', '{"sky":"grey"}')
    assert read(tool).input == "{}"


def test_messages_of_which_only_the_end_was_sent_are_no_answer() -> None:
    assert read({}, [WireEvent("gen_ai.choice", 1, {"finish_reason": "stop", "index": 0})]).output is None


def test_messages_that_were_written_as_json_twice() -> None:
    assert read({"gen_ai.input.messages": json.dumps(json.dumps(OPENAI_IN))}).input == QUESTION
