"""One value of the wrong shape, anywhere in an export, costs at most its own record: reading never raises."""

import json
from typing import Any

from pydantic import BaseModel

from evergold.model.faults import Rejected
from evergold.model.trace import SpanLine
from evergold.seams import Source
from evergold.sources.agents.trajectories import AgentLogs
from evergold.sources.jsonl import NativeLines
from evergold.sources.langfuse import LangfuseExport, merge_lines, records_of_batch
from evergold.sources.langsmith import LangSmithExport
from evergold.sources.mlflow import MlflowTraces
from evergold.sources.otlp_file import OtlpFile
from evergold.sources.phoenix import PhoenixExport
from tests.mutations import mutations
from tests.rows import each_row

AT = "2026-01-01T00:00:00Z"
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]},
]
LANGFUSE = {
    "id": "t1",
    "timestamp": AT,
    "latency": 1.5,
    "tags": ["a"],
    "metadata": {"k": "v"},
    "input": MESSAGES,
    "observations": [
        {
            "id": "o1",
            "type": "GENERATION",
            "startTime": AT,
            "endTime": AT,
            "usage": {"input": 1},
            "costDetails": {"total": 1},
        }
    ],
    "scores": [{"id": "s1", "name": "ok", "value": 1, "dataType": "NUMERIC", "source": "API", "timestamp": AT}],
}
LANGSMITH = {
    "id": "r1",
    "trace_id": "r1",
    "run_type": "chain",
    "inputs": {"messages": MESSAGES},
    "outputs": {"output": "x"},
    "extra": {"metadata": {"session_id": "s"}, "invocation_params": {"model": "m"}},
    "start_time": AT,
    "end_time": AT,
    "child_runs": [{"id": "r2", "run_type": "tool", "name": "f", "inputs": {"a": 1}, "prompt_tokens": 3}],
}
MLFLOW = {
    "info": {
        "trace_id": "tr-1",
        "trace_metadata": {"mlflow.trace.session": "s"},
        "tags": {"k": "v"},
        "assessments": [{"assessment_name": "ok", "feedback": {"value": 1}, "source": {"source_type": "HUMAN"}}],
    },
    "data": {
        "spans": [
            {
                "span_id": "1",
                "name": "n",
                "start_time_unix_nano": 1,
                "end_time_unix_nano": 2,
                "status": {"code": "STATUS_CODE_OK", "message": ""},
                "attributes": {"mlflow.spanInputs": json.dumps({"messages": MESSAGES})},
                "events": [{"name": "e", "attributes": {"a": 1}}],
            }
        ]
    },
}
PHOENIX = {
    "spans": [
        {
            "name": "n",
            "context": {"trace_id": "1" * 32, "span_id": "1" * 16},
            "span_kind": "LLM",
            "start_time": AT,
            "end_time": AT,
            "status_code": "OK",
            "attributes": {"llm": {"input_messages": [{"message": {"role": "user", "content": "Hi"}}]}},
            "events": [{"name": "e", "timestamp": AT, "attributes": {"a": 1}}],
            "annotations": [{"name": "ok", "annotator_kind": "HUMAN", "result": {"score": 1, "label": "good"}}],
        }
    ]
}
OTLP = {
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "app"}}]},
            "scopeSpans": [
                {
                    "scope": {"name": "lib"},
                    "spans": [
                        {
                            "traceId": "1" * 32,
                            "spanId": "2" * 16,
                            "name": "n",
                            "startTimeUnixNano": "1",
                            "endTimeUnixNano": "2",
                            "status": {"code": 2, "message": "bad"},
                            "attributes": [
                                {"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps(MESSAGES)}},
                                {"key": "list", "value": {"arrayValue": {"values": [{"intValue": "1"}]}}},
                                {"key": "map", "value": {"kvlistValue": {"values": [{"key": "a", "value": {}}]}}},
                            ],
                            "events": [{"name": "e", "timeUnixNano": "1", "attributes": []}],
                        }
                    ],
                }
            ],
        }
    ]
}
ATIF = {
    "schema_version": "ATIF-v1.2",
    "session_id": "s",
    "agent": {"name": "a", "model_name": "m", "tool_definitions": [{"type": "function", "function": {"name": "f"}}]},
    "steps": [
        {"step_id": 1, "source": "user", "message": "Fix it", "timestamp": AT},
        {
            "step_id": 2,
            "source": "agent",
            "message": [{"type": "text", "text": "ok"}],
            "tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": {"x": 1}}],
            "observation": {"results": [{"source_call_id": "c", "content": "done"}]},
        },
    ],
    "final_metrics": {"reward": 1},
}
CLAUDE = {
    "type": "assistant",
    "uuid": "1",
    "sessionId": "s",
    "timestamp": AT,
    "message": {"id": "m", "model": "x", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}]},
}
OPENHANDS = {
    "instance_id": "i",
    "history": [
        {"id": 1, "source": "user", "action": "message", "args": {"content": "Fix it"}},
        {
            "kind": "ActionEvent",
            "source": "agent",
            "thought": [{"type": "text", "text": "hm"}],
            "action": {"x": 1},
            "tool_name": "f",
            "tool_call_id": "c",
        },
        {"id": 3, "source": "agent", "observation": "run", "cause": 2, "content": "out", "tool_call_metadata": {}},
    ],
    "test_result": {"report": {"resolved": True}},
}
NATIVE = {
    "id": "t1",
    "input": "Hi",
    "tags": ["a"],
    "metadata": {"messages": MESSAGES},
    "spans": [{"id": "s1", "kind": "tool", "started_at": AT}],
    "scores": [{"name": "ok", "value": 1, "source": "user"}],
}
EXPORTS: dict[str, tuple[type[Source], dict[str, Any]]] = {
    "langfuse": (LangfuseExport, LANGFUSE),
    "langsmith": (LangSmithExport, LANGSMITH),
    "mlflow": (MlflowTraces, MLFLOW),
    "phoenix": (PhoenixExport, PHOENIX),
    "otlp": (OtlpFile, OTLP),
    "atif": (AgentLogs, ATIF),
    "claude-code": (AgentLogs, CLAUDE),
    "openhands": (AgentLogs, OPENHANDS),
    "native": (NativeLines, NATIVE),
}


def read(name: str, document: Any) -> list[BaseModel]:
    source, _ = EXPORTS[name]
    return list(source().read([json.dumps(document).encode()], "file"))


@each_row("name", EXPORTS)
def test_a_whole_export_is_read(name: str) -> None:
    records = read(name, EXPORTS[name][1])
    assert records and not any(isinstance(record, Rejected) for record in records)


@each_row("name", EXPORTS)
def test_one_odd_value_anywhere_never_raises(name: str) -> None:
    for document in mutations(EXPORTS[name][1]):
        for record in read(name, document):
            assert isinstance(record, BaseModel), document


@each_row("name", ["langfuse", "langsmith", "mlflow", "phoenix", "otlp", "native"])
def test_a_record_that_cannot_be_read_leaves_the_next_line_alone(name: str) -> None:
    source, whole = EXPORTS[name]
    good = json.dumps(whole).encode()
    records = list(source().read([good + b"\n", b"{broken\n", good], "file"))
    assert [type(record) is Rejected for record in records].count(True) == 1
    assert len(records) == 2 * len(read(name, whole)) + 1


def test_a_bad_span_of_a_phoenix_trace_costs_no_other() -> None:
    document = {"spans": [{"name": "bad"}, *PHOENIX["spans"]]}
    records = read("phoenix", document)
    assert [str(record) for record in records if isinstance(record, Rejected)] == [
        "file:1.spans[0]: missing key 'trace_id'"
    ]
    assert any(isinstance(record, SpanLine) for record in records)


@each_row("time", [-5, 10**30, 1e308, str(2**64)])
def test_a_time_that_no_date_has_is_refused_by_its_place(time: Any) -> None:
    document = json.loads(json.dumps(OTLP))
    document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["endTimeUnixNano"] = time
    (record,) = read("otlp", document)
    assert "spans[0]: endTimeUnixNano" in str(record) and "is no time in nanoseconds since 1970" in str(record)


def test_an_assessment_without_a_name_is_refused() -> None:
    document = json.loads(json.dumps(MLFLOW))
    del document["info"]["assessments"][0]["assessment_name"]
    assert [record for record in read("mlflow", document) if isinstance(record, Rejected)]


def events(**body: Any) -> list[dict[str, Any]]:
    return [{"id": "e1", "type": "trace-create", "timestamp": AT, "body": {"id": "t", **body}}]


def part(**body: Any) -> SpanLine:
    ((_, line),) = records_of_batch(events(**body))
    assert isinstance(line, SpanLine)
    return line


def test_events_of_a_batch_never_raise_and_can_be_merged() -> None:
    whole = events(name="n", tags=["a"], metadata={"k": {"x": 1}}, input=MESSAGES, userId="u", timestamp=AT)
    first = part(name="m", tags=["b"], metadata={"k": {"y": 2}}, input="x", userId="v")
    for changed in mutations(whole):
        for _, record in records_of_batch(changed):
            if isinstance(record, SpanLine):
                assert merge_lines(first, record).id == first.id
                assert merge_lines(record, first).id == record.id


@each_row(
    ("before", "after", "both"),
    [
        (["a"], ["b", "a", "b"], ["a", "b"]),
        ([{"x": 1}], [{"x": 1}, {"y": 2}], [{"x": 1}, {"y": 2}]),
        ("vip", "vip", "vip"),
        (["a"], "vip", "vip"),
    ],
)
def test_tags_of_two_events_are_united(before: Any, after: Any, both: Any) -> None:
    assert merge_lines(part(tags=before), part(tags=after)).metadata["tags"] == both
