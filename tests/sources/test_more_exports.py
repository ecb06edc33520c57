"""Files of Langfuse's page, LangSmith and MLflow, and Langfuse's batches: stored with every message, and read as one shape."""

import json
from io import BytesIO
from typing import Any

from evergold.conversation import conversation_of
from evergold.model.trace import Trace
from evergold.settings import Settings
from evergold.sources.langfuse import records_of_batch
from evergold.workspace import Workspace

AT = "2026-01-01T00:00:0{}.000Z"
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "You know the weather."},
    {"role": "user", "content": "Weather in Lima?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Lima"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "21"},
]
ANSWER = {"role": "assistant", "content": "21 degrees."}
GENERATION = {
    "id": "g1",
    "traceId": "t1",
    "type": "GENERATION",
    "name": "ChatOpenAI",
    "startTime": AT.format(1),
    "endTime": AT.format(2),
    "model": "gpt-x",
    "modelParameters": {"temperature": 0.5},
    "input": MESSAGES,
    "output": ANSWER,
}
TRACE = {"id": "t1", "name": "agent", "timestamp": AT.format(0), "userId": "ana", "sessionId": "s1", "tags": ["a"]}


def stored(settings: Settings, value: Any, trace_id: str) -> Trace:
    with Workspace.open(settings) as workspace:
        report = workspace.intake.ingest([BytesIO(json.dumps(value, indent=1).encode())])
        assert report.rejected == 0, report.problems
        return workspace.intake.get(trace_id)


def check(trace: Trace) -> None:
    found = conversation_of(trace)
    assert list(found.messages) == MESSAGES[:2]
    assert [message["role"] for message in found.turn] == ["assistant", "tool", "assistant"]
    assert found.turn[1]["content"] == "21"
    assert (trace.input, trace.output) == ("Weather in Lima?", "21 degrees.")


def test_a_trace_as_langfuse_downloads_it(settings: Settings) -> None:
    download = {"trace": {**TRACE, "input": {"messages": MESSAGES}, "output": ANSWER}, "observations": [GENERATION]}
    trace = stored(settings, download, "t1")
    check(trace)
    assert (trace.user_id, trace.session_id, trace.tags) == ("ana", "s1", ("a",))
    assert conversation_of(trace).parameters["temperature"] == 0.5


def test_a_batch_of_langfuse_events(settings: Settings) -> None:
    create = {key: GENERATION[key] for key in ("id", "traceId", "name", "startTime", "model", "input")}
    batch = [
        {"id": "e1", "type": "trace-create", "timestamp": AT.format(0), "body": TRACE},
        {"id": "e2", "type": "generation-create", "timestamp": AT.format(1), "body": create},
        {"id": "e3", "type": "generation-update", "body": {"id": "g1", "output": ANSWER, "endTime": AT.format(2)}},
        {"id": "e4", "type": "score-create", "body": {"id": "x", "traceId": "t1", "name": "thumb", "value": 1}},
        {"id": "e5", "type": "score-create", "body": "nothing"},
    ]
    records = dict(records_of_batch(batch))
    assert set(records) == {"e1", "e2", "e3", "e4", "e5"}  # those of one observation are merged when they are stored
    with Workspace.open(settings) as workspace:
        report = workspace.intake.accept(records.values())
        assert (report.spans, report.scores, report.rejected) == (2, 1, 1)
        check(workspace.intake.get("t1"))


def test_runs_of_langsmith(settings: Settings) -> None:
    kwargs: list[dict[str, Any]] = [
        {"type": {"user": "human", "assistant": "ai"}.get(str(m["role"]), m["role"]), **m} for m in MESSAGES
    ]
    inner: list[dict[str, Any]] = [{"lc": 1, "id": ["x", "HumanMessage"], "kwargs": one} for one in kwargs]
    for one, message in zip(inner, MESSAGES, strict=True):
        one["id"] = ["langchain", "schema", f"{str(message['role']).title().replace('User', 'Human')}Message"]
        if message["role"] == "assistant":
            one["id"] = ["langchain", "schema", "AIMessage"]
    call = {
        "id": "r2",
        "name": "ChatOpenAI",
        "run_type": "llm",
        "inputs": {"messages": [inner]},
        "outputs": {"generations": [[{"text": "21 degrees.", "message": {"type": "ai", "content": "21 degrees."}}]]},
        "start_time": AT.format(1),
        "end_time": AT.format(2),
        "extra": {"invocation_params": {"model": "gpt-x"}, "metadata": {"thread_id": "s1"}},
    }
    root = {
        "id": "r1",
        "trace_id": "r1",
        "dotted_order": "1",
        "name": "agent",
        "run_type": "chain",
        "inputs": {"messages": kwargs[1:2]},
        "outputs": {"output": "21 degrees."},
        "start_time": AT.format(0),
        "end_time": AT.format(3),
        "parent_run_id": None,
        "child_runs": [call],
    }
    trace = stored(settings, root, "r1")
    check(trace)
    assert trace.session_id == "s1"


def test_traces_of_mlflow(settings: Settings) -> None:
    attributes = {
        "mlflow.spanType": '"CHAT_MODEL"',
        "mlflow.spanInputs": json.dumps({"messages": MESSAGES, "model": "m"}),
        "mlflow.spanOutputs": json.dumps({"choices": [{"index": 0, "message": ANSWER, "finish_reason": "stop"}]}),
    }
    span = {"name": "Completions", "span_id": "a1", "parent_span_id": None, "attributes": attributes}
    times = {"start_time_unix_nano": 1_767_225_600_000_000_000, "end_time_unix_nano": 1_767_225_601_000_000_000}
    assessment = {"assessment_name": "right", "feedback": {"value": True}, "source": {"source_type": "HUMAN"}}
    info = {"trace_id": "tr-1", "trace_metadata": {"mlflow.trace.session": "s1"}, "assessments": [assessment]}
    trace = stored(settings, {"info": info, "data": {"spans": [span | times]}}, "tr-1")
    check(trace)
    assert (trace.session_id, [score.value for score in trace.scores]) == ("s1", [1.0])
