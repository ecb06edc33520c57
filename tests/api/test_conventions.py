"""Every name of the conventions that are spoken, one row each, over the real route and in both encodings of OTLP.

A row is a convention, what a span of it carries, and where that must be found: a field of the trace (`trace.input`), or of
the span as it is told (`span.kind`). The rows below the table are what senders do with these names on a bad day.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest

from tests.api.serving import served
from tests.otlp import a_span, json_body, protobuf_body
from tests.rows import each_row

Q, A = "What is the capital of Peru?", "Lima."
USER, REPLY = {"role": "user", "content": Q}, {"role": "assistant", "content": A}
PARTS_Q = [{"role": "user", "parts": [{"type": "text", "content": Q}]}]
PARTS_A = [{"role": "assistant", "parts": [{"type": "text", "content": A}]}]
CALL = {"role": "assistant", "tool_calls": [{"function": {"name": "weather", "arguments": '{"city": "Lima"}'}}]}
CALLED = '[{"name":"weather","arguments":{"city":"Lima"}}]'
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
TEXT = {"type": "text", "text": Q}
GEN_AI, EVENTS, INFERENCE = "gen_ai", "gen_ai events", "OpenInference"
LLMETRY, LANGFUSE, VERCEL, MLFLOW, PYDANTIC = "OpenLLMetry", "Langfuse", "Vercel AI", "MLflow", "Pydantic AI"
Row = tuple[str, dict[str, Any], str, Any]


def declared(side: str, value: Any) -> dict[str, Any]:
    """A value of OpenInference that says it is JSON."""
    return {f"{side}.value": json.dumps(value), f"{side}.mime_type": "application/json"}


def one(name: str, value: Any, field: str, expected: Any, convention: str = GEN_AI) -> Row:
    return convention, {name: value}, field, expected


TABLE: list[Row] = [
    one("gen_ai.input.messages", json.dumps(PARTS_Q), "trace.input", Q),
    one("gen_ai.input.messages", PARTS_Q, "trace.input", Q),
    one("gen_ai.system_instructions", json.dumps([{"type": "text", "content": "Be brief."}]), "trace.input", ""),
    one("gen_ai.tool.call.arguments", '{"query":"Lima"}', "span.input", '{"query":"Lima"}'),
    one("gen_ai.tool.call.arguments", {"city": "Lima"}, "span.input", '{"city":"Lima"}'),
    one("gen_ai.prompt.0.content", Q, "trace.input", Q),
    one("gen_ai.retrieval.query.text", Q, "span.input", Q),
    one("gen_ai.output.messages", json.dumps(PARTS_A), "trace.output", A),
    one("gen_ai.output.messages", PARTS_A, "trace.output", A),
    one("gen_ai.tool.call.result", "19 °C", "span.output", "19 °C"),
    one("gen_ai.completion.0.content", A, "trace.output", A),
    one("gen_ai.operation.name", "chat", "span.kind", "llm"),
    one("gen_ai.operation.name", "execute_tool", "span.kind", "tool"),
    one("gen_ai.operation.name", "invoke_agent", "span.kind", "agent"),
    one("gen_ai.operation.name", "embeddings", "span.kind", "embedding"),
    one("gen_ai.response.model", "m", "trace.metadata.model", "m"),
    one("gen_ai.request.model", "m", "trace.metadata.model", "m"),
    one("gen_ai.provider.name", "openai", "span.metadata.provider", "openai"),
    one("gen_ai.system", "openai", "span.metadata.provider", "openai"),
    one("gen_ai.usage.input_tokens", 7, "trace.metadata.input_tokens", 7),
    one("gen_ai.usage.input_tokens", "7", "trace.metadata.input_tokens", 7),
    one("gen_ai.usage.output_tokens", 7.0, "trace.metadata.output_tokens", 7),
    one("gen_ai.usage.total_tokens", 9, "trace.metadata.total_tokens", 9),
    one("gen_ai.usage.cost", "0.25", "trace.metadata.cost", 0.25),
    one("gen_ai.conversation.id", "s", "trace.session_id", "s"),
    one("gen_ai.conversation.id", 42, "trace.session_id", "42"),
    one("gen_ai.retrieval.documents", '[{"id":"d"}]', "span.metadata.documents", [{"id": "d"}]),
    one("gen_ai.retrieval.documents", [{"id": "d"}], "span.metadata.documents", [{"id": "d"}]),
    one("input.value", Q, "trace.input", Q, INFERENCE),
    (
        INFERENCE,
        declared("input", {"messages": [USER]}),
        "trace.input",
        Q,
    ),
    one("llm.input_messages.0.message.content", Q, "trace.input", Q, INFERENCE),
    one("output.value", A, "trace.output", A, INFERENCE),
    one("llm.output_messages.0.message.content", A, "trace.output", A, INFERENCE),
    one("llm.prompts.0.prompt.text", Q, "trace.input", Q, INFERENCE),
    one("llm.choices.0.completion.text", A, "trace.output", A, INFERENCE),
    *(
        one("openinference.span.kind", kind, "span.kind", kind.lower(), INFERENCE)
        for kind in ("LLM", "CHAIN", "TOOL", "RETRIEVER", "AGENT", "EMBEDDING", "RERANKER", "GUARDRAIL", "EVALUATOR")
    ),
    one("llm.model_name", "m", "trace.metadata.model", "m", INFERENCE),
    one("llm.provider", "openai", "span.metadata.provider", "openai", INFERENCE),
    one("llm.token_count.prompt", 7, "trace.metadata.input_tokens", 7, INFERENCE),
    one("llm.token_count.completion", "7", "trace.metadata.output_tokens", 7, INFERENCE),
    one("llm.token_count.total", 9, "trace.metadata.total_tokens", 9, INFERENCE),
    one("llm.cost.total", 0.5, "trace.metadata.cost", 0.5, INFERENCE),
    (INFERENCE, {"llm.cost.prompt": "0.25", "llm.cost.completion": 0.5}, "trace.metadata.cost", 0.75),
    one("session.id", "s", "trace.session_id", "s", INFERENCE),
    one("user.id", "u", "trace.user_id", "u", INFERENCE),
    one("tag.tags", ["a", "b, c"], "trace.tags", ["a", "b, c"], INFERENCE),
    one("metadata", '{"plan":"pro"}', "trace.metadata.plan", "pro", INFERENCE),
    (
        INFERENCE,
        {
            "retrieval.documents.0.document.id": "d",
            "retrieval.documents.0.document.content": "c",
            "retrieval.documents.0.document.score": 0.5,
            "retrieval.documents.0.document.metadata": '{"page": 1}',
        },
        "span.metadata.documents",
        [{"id": "d", "content": "c", "score": 0.5, "metadata": {"page": 1}}],
    ),
    one("langfuse.observation.input", json.dumps([USER]), "trace.input", Q, LANGFUSE),
    one("langfuse.trace.input", Q, "trace.input", Q, LANGFUSE),
    one("langfuse.observation.output", json.dumps(REPLY), "trace.output", A, LANGFUSE),
    one("langfuse.trace.output", A, "trace.output", A, LANGFUSE),
    one("langfuse.observation.type", "generation", "span.kind", "llm", LANGFUSE),
    one("langfuse.observation.type", "tool", "trace.metadata.tools", ["step 0"], LANGFUSE),
    one("langfuse.observation.usage_details", '{"input":7,"output":2}', "trace.metadata.input_tokens", 7, LANGFUSE),
    one("langfuse.observation.usage_details", '{"total":9}', "trace.metadata.total_tokens", 9, LANGFUSE),
    one("langfuse.observation.cost_details", '{"input":"0.25","output":0.5}', "trace.metadata.cost", 0.75, LANGFUSE),
    one("langfuse.session.id", "s", "trace.session_id", "s", LANGFUSE),
    one("langfuse.user.id", "u", "trace.user_id", "u", LANGFUSE),
    one("langfuse.trace.tags", ["a"], "trace.tags", ["a"], LANGFUSE),
    one("langfuse.trace.name", "ask", "trace.name", "ask", LANGFUSE),
    one("traceloop.entity.input", json.dumps({"args": [Q], "kwargs": {}}), "trace.input", Q, LLMETRY),
    one(
        "traceloop.entity.input",
        json.dumps({"args": [], "kwargs": {"city": "Lima"}}),
        "trace.input",
        '{"city":"Lima"}',
        LLMETRY,
    ),
    one("traceloop.entity.output", json.dumps(A), "trace.output", A, LLMETRY),
    one("traceloop.span.kind", "workflow", "span.kind", "chain", LLMETRY),
    one("traceloop.association.properties.session_id", "s", "trace.session_id", "s", LLMETRY),
    one("traceloop.association.properties.user_id", "u", "trace.user_id", "u", LLMETRY),
    one("llm.usage.total_tokens", 9, "trace.metadata.total_tokens", 9, LLMETRY),
    one("ai.prompt", json.dumps({"system": "Be brief.", "prompt": Q}), "trace.input", Q, VERCEL),
    one("ai.prompt", json.dumps({"messages": [USER]}), "trace.input", Q, VERCEL),
    one("ai.response.text", A, "trace.output", A, VERCEL),
    one(
        "ai.response.toolCalls",
        '[{"toolCallId":"1","toolName":"weather","input":"{\\"city\\":\\"Lima\\"}"}]',
        "trace.output",
        CALLED,
        VERCEL,
    ),
    one("ai.model.id", "m", "trace.metadata.model", "m", VERCEL),
    one("ai.usage.promptTokens", 7, "trace.metadata.input_tokens", 7, VERCEL),
    one("ai.operationId", "ai.generateText.doGenerate", "span.kind", "llm", VERCEL),
    one("ai.telemetry.functionId", "ask", "trace.name", "ask", VERCEL),
    one("ai.value", json.dumps(Q), "trace.input", Q, VERCEL),
    one("mlflow.spanInputs", json.dumps({"messages": [USER]}), "trace.input", Q, MLFLOW),
    one("mlflow.spanOutputs", json.dumps({"choices": [{"message": REPLY}]}), "trace.output", A, MLFLOW),
    one("pydantic_ai.all_messages", json.dumps(PARTS_Q + PARTS_A), "trace.input", Q, PYDANTIC),
    one("pydantic_ai.all_messages", json.dumps(PARTS_Q + PARTS_A), "trace.output", A, PYDANTIC),
]
BAD_DAYS: list[Row] = [
    (
        "messages out of order",
        {
            "gen_ai.prompt.2.content": Q,
            "gen_ai.prompt.2.role": "user",
            "gen_ai.prompt.0.content": "sys",
            "gen_ai.prompt.0.role": "system",
        },
        "trace.input",
        Q,
    ),
    (
        "a list that begins at one",
        {"llm.input_messages.1.message.role": "user", "llm.input_messages.1.message.content": Q},
        "trace.input",
        Q,
    ),
    (
        "the tenth after the ninth",
        {f"gen_ai.completion.{n}.content": A if n == 10 else "no" for n in (10, 9, 2)},
        "trace.output",
        A,
    ),
    (
        "documents with a gap",
        {"retrieval.documents.3.document.content": "c"},
        "span.metadata.documents",
        [{"content": "c"}],
    ),
    (
        "a role and no content, the value beside it",
        {
            "llm.input_messages.0.message.role": "user",
            "input.value": json.dumps({"messages": [USER]}),
            "input.mime_type": "application/json",
        },
        "trace.input",
        Q,
    ),
    ("parts that were left out", {"gen_ai.input.messages": '[{"role": "user", "parts": []}]'}, "trace.input", ""),
    (
        "an empty name of one convention, a full one of another",
        {"gen_ai.output.messages": "[]", "output.value": A},
        "trace.output",
        A,
    ),
    (
        "two conventions that agree",
        {
            "gen_ai.input.messages": json.dumps(PARTS_Q),
            "input.value": json.dumps({"messages": [USER], "model": "m"}),
            "input.mime_type": "application/json",
        },
        "trace.input",
        Q,
    ),
    (
        "a picture beside the text",
        {"gen_ai.input.messages": json.dumps([{"role": "user", "content": [IMAGE, TEXT]}])},
        "trace.input",
        Q,
    ),
    (
        "a message of LangChain",
        declared(
            "output",
            {
                "messages": [
                    {"type": "human", "data": {"content": Q}},
                    {"type": "ai", "data": {"content": A, "type": "ai"}},
                ]
            },
        ),
        "trace.output",
        A,
    ),
    (
        "a command of LangGraph",
        declared(
            "output", [{"graph": None, "update": {"messages": [{"type": "ai", "data": {"content": A}}]}, "goto": []}]
        ),
        "trace.output",
        A,
    ),
    (
        "the result of a tool in LangChain",
        declared("output", {"type": "tool", "data": {"content": "19 °C"}}),
        "trace.output",
        "19 °C",
    ),
    (
        "a message with data of its own",
        {"gen_ai.input.messages": json.dumps([{**USER, "data": {"content": "no"}}])},
        "trace.input",
        Q,
    ),
    ("only calls", {"gen_ai.output.messages": json.dumps([CALL])}, "trace.output", CALLED),
    (
        "an item of the responses interface",
        declared("output", {"output": [{"type": "function_call", "name": "weather", "arguments": '{"city": "Lima"}'}]}),
        "trace.output",
        CALLED,
    ),
    (
        "the session of one convention and another",
        {"session.id": "", "gen_ai.conversation.id": "s"},
        "trace.session_id",
        "s",
    ),
    ("a count that is none", {"gen_ai.usage.input_tokens": "many"}, "trace.metadata.input_tokens", None),
]
EVALUATION = "gen_ai.evaluation."
SCORES: list[tuple[str, dict[str, Any], list[tuple[str, float, str | None]]]] = [
    (
        "value and explanation",
        {"score.value": 0.5, "score.label": "half", "explanation": "so so"},
        [("x", 0.5, "so so")],
    ),
    ("an integer", {"score.value": 1}, [("x", 1.0, None)]),
    ("a text", {"score.value": "0.5"}, [("x", 0.5, None)]),
    ("a label of two kinds", {"score.label": "Not relevant"}, [("x", 0.0, "Not relevant")]),
    ("a label that is no number", {"score.label": "friendly"}, []),
    ("out of range", {"score.value": 5}, []),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(tmp_path_factory.mktemp("server")) as url, httpx.Client(base_url=url, timeout=30) as client:
        yield client


def sent(server: httpx.Client, encoding: str, path: str = "/v1/traces", **fields: Any) -> tuple[dict[str, Any], str]:
    """The trace that one span makes, and what the answer complains of."""
    trace_id = hashlib.sha256(f"{encoding}{fields}".encode()).hexdigest()[:32]
    span = a_span(0, trace=trace_id, **fields)
    body = protobuf_body(span) if encoding == "x-protobuf" else json_body(span)
    answer = server.post(path, content=body, headers={"content-type": f"application/{encoding}"})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = server.get(f"/api/v1/traces/{trace_id}").json()
    return told, answer.content.decode("utf-8", "replace")


def found(trace: dict[str, Any], field: str) -> Any:
    place, *path = field.split(".")
    value: Any = trace if place == "trace" else trace["spans"][0]
    for step in path:
        value = value.get(step)
    return value


@each_row("encoding", ["x-protobuf", "json"])
@each_row(("convention", "attributes", "field", "expected"), TABLE + BAD_DAYS)
def test_a_name_ends_in_its_field(
    server: httpx.Client, convention: str, attributes: dict[str, Any], field: str, expected: Any, encoding: str
) -> None:
    trace, complaint = sent(server, encoding, attributes=attributes)
    assert found(trace, field) == expected, f"{convention}: {attributes}"
    assert complaint in ("", "{}")


@each_row("encoding", ["x-protobuf", "json"])
@each_row("name", ["system", "user", "assistant", "tool"])
def test_messages_and_choices_as_events_of_the_span(server: httpx.Client, encoding: str, name: str) -> None:
    events = [(f"gen_ai.{name}.message", {"content": Q}), ("gen_ai.choice", {"index": 0, "message": json.dumps(REPLY)})]
    trace, _ = sent(server, encoding, events=events)
    assert (trace["input"], trace["output"]) == (Q, A)


@each_row("encoding", ["x-protobuf", "json"])
@each_row(("_case", "given", "scores"), SCORES, ids=[row[0] for row in SCORES])
def test_evaluation_results_as_events(
    server: httpx.Client, encoding: str, _case: str, given: dict[str, Any], scores: list[Any]
) -> None:
    event = (
        "gen_ai.evaluation.result",
        {f"{EVALUATION}name": "x", **{EVALUATION + key: v for key, v in given.items()}},
    )
    trace, complaint = sent(server, encoding, events=[event])
    assert [(s["name"], s["value"], s["comment"]) for s in trace["scores"]] == scores
    assert ("a score is a number from 0 to 1" in complaint) == (not scores)
    assert "None" not in complaint


def test_the_address_of_langfuse_s_own_library(server: httpx.Client) -> None:
    trace, _ = sent(server, "x-protobuf", "/api/public/otel/v1/traces", attributes={"langfuse.observation.input": Q})
    assert trace["input"] == Q


@each_row("encoding", ["x-protobuf", "json"])
@each_row("place", [0, 3])
def test_annotations_whatever_their_number(server: httpx.Client, encoding: str, place: int) -> None:
    given = {"name": "x", "score": "0.5", "label": "half", "explanation": "so so", "annotator_kind": "HUMAN"}
    trace, _ = sent(
        server, encoding, attributes={f"annotations.{place}.annotation.{key}": value for key, value in given.items()}
    )
    (score,) = trace["scores"]
    assert (score["name"], score["value"], score["comment"], score["source"]) == ("x", 0.5, "so so", "human")
