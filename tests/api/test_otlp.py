"""OTLP over real HTTP: the real exporter, the real instrumentation of a real client, and what a hostile sender may try."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tests.api.serving import calling, served
from tests.openai_server import Reply, serving
from tests.otlp import TRACE, a_span, an_llm_span, json_body, protobuf_body
from tests.patience import PATIENCE
from tests.rows import each_row

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json; charset=utf-8"}
FLUSH_MS = int(PATIENCE * 1000)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder: Path = tmp_path_factory.mktemp("server")
    with served(folder, EVERGOLD_SERVER_MAX_BODY_MB="2") as url, calling(url) as client:
        yield client


@pytest.fixture
def provider(server: httpx.Client) -> Iterator[TracerProvider]:
    """An app's tracing as its documentation says to set it up, pointed here."""
    provider = TracerProvider(resource=Resource.create({"service.name": "travel"}))
    exporter = OTLPSpanExporter(endpoint=str(server.base_url.join("/v1/traces")), timeout=PATIENCE)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    yield provider
    provider.shutdown()


def one_trace(server: httpx.Client, **wanted: str) -> dict[str, Any]:
    (listed,) = server.get("/api/v1/traces", params=wanted).json()["traces"]
    trace: dict[str, Any] = server.get(f"/api/v1/traces/{listed['id']}").json()
    return trace


def test_the_opentelemetry_sdk_and_exporter(server: httpx.Client, provider: TracerProvider) -> None:
    tracer = provider.get_tracer("app")
    with tracer.start_as_current_span("answer", attributes={"session.id": "sdk"}) as root:
        root.set_attribute("input.value", "Where is Lima?")
        with tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}) as call:
            call.set_attribute("gen_ai.response.model", "small")
            result: dict[str, str | float] = {
                "gen_ai.evaluation.name": "grounded",
                "gen_ai.evaluation.score.value": 0.9,
            }
            call.add_event("gen_ai.evaluation.result", result)
        provider.force_flush(FLUSH_MS)  # the child travels first, its root in a later request
        root.set_attribute("output.value", "In Peru.")
    provider.force_flush(FLUSH_MS)
    trace = one_trace(server, session_id="sdk")
    assert (trace["input"], trace["output"], trace["status"]) == ("Where is Lima?", "In Peru.", "completed")
    assert [span["name"] for span in trace["spans"]] == ["answer", "chat"]
    assert trace["metadata"]["services"] == ["travel"]
    assert [(score["name"], score["value"], score["source"]) for score in trace["scores"]] == [
        ("grounded", 0.9, "system")
    ]


def test_the_openinference_instrumentation_of_the_openai_package(
    server: httpx.Client, provider: TracerProvider
) -> None:
    from openai import OpenAI
    from openinference.instrumentation.openai import OpenAIInstrumentor

    instrumentor = OpenAIInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        with serving(Reply("The capital of Peru is Lima.", usage=(21, 7))) as model:
            client = OpenAI(base_url=model.url, api_key="not-needed")
            client.chat.completions.create(
                model="tiny-1",
                messages=[
                    {"role": "system", "content": "Answer shortly."},
                    {"role": "user", "content": "Capital of Peru, openinference?"},
                ],
            )
        provider.force_flush(FLUSH_MS)
    finally:
        instrumentor.uninstrument()
    trace = one_trace(server, search="openinference")
    assert (trace["input"], trace["output"]) == ("Capital of Peru, openinference?", "The capital of Peru is Lima.")
    assert trace["metadata"]["model"] == "tiny-1"
    assert (trace["metadata"]["input_tokens"], trace["metadata"]["output_tokens"]) == (21, 7)
    (span,) = trace["spans"]
    assert span["kind"] == "llm"


@each_row("packed", [False, True], ids=["plain", "gzip"])
@each_row("kind", ["protobuf", "json"])
def test_the_reply_has_the_content_type_of_the_request(server: httpx.Client, kind: str, packed: bool) -> None:
    trace_id = f"{hash((kind, packed)) & (2**127 - 1) | 1:032x}"
    make, headers = (protobuf_body, PROTOBUF) if kind == "protobuf" else (json_body, JSON)
    body = make(an_llm_span(0, trace=trace_id))
    if packed:
        body, headers = gzip.compress(body), {**headers, "content-encoding": "gzip"}
    answer = server.post("/v1/traces", content=body, headers=headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == ("application/x-protobuf" if kind == "protobuf" else "application/json")
    assert answer.content == (b"" if kind == "protobuf" else b"{}")
    assert server.get(f"/api/v1/traces/{trace_id}").json()["output"] == "because", "accepted is stored"


def test_a_partial_success_is_told_in_both_encodings(server: httpx.Client) -> None:
    trace_id = "77" * 16
    server.post("/v1/traces", content=protobuf_body(an_llm_span(0, trace=trace_id)), headers=PROTOBUF)
    changed = an_llm_span(0, trace=trace_id, answer="changed"), an_llm_span(1, trace=trace_id, parent=0)
    answer = server.post("/v1/traces", content=protobuf_body(*changed), headers=PROTOBUF)
    partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert (answer.status_code, partial.rejected_spans) == (200, 1)
    assert "known with other content; the first is kept" in partial.error_message
    told = server.post("/v1/traces", content=json_body(*changed), headers=JSON).json()["partialSuccess"]
    assert told["rejectedSpans"] == "1"
    assert len(server.get(f"/api/v1/traces/{trace_id}").json()["spans"]) == 2


BOMB = gzip.compress(bytes(50_000_000))


@each_row(
    ("body", "headers", "status", "said"),
    [
        (b"\xff\xff", PROTOBUF, 400, "not an OTLP protobuf"),
        (b"{]", JSON, 400, "not JSON"),
        (b"[1]", JSON, 400, "resourceSpans"),
        (b"hello", {"content-type": "text/plain"}, 415, "application/x-protobuf or application/json"),
        (b"hello", {}, 415, "is not OTLP"),
        (b"not gzip", {**PROTOBUF, "content-encoding": "gzip"}, 400, "not valid gzip"),
        (b"x", {**PROTOBUF, "content-encoding": "br"}, 415, "send gzip or none"),
        (BOMB, {**PROTOBUF, "content-encoding": "gzip"}, 413, "unpacks to more than"),
        (bytes(50_000_000), PROTOBUF, 413, "at most"),
    ],
    ids=["protobuf", "json", "list", "text", "no type", "gzip", "brotli", "bomb", "50 MB"],
)
def test_bad_requests_get_one_clear_line(
    server: httpx.Client, body: bytes, headers: dict[str, str], status: int, said: str
) -> None:
    answer = server.post("/v1/traces", content=body, headers=headers)
    assert answer.status_code == status
    assert said in answer.json()["error"]
    assert "\n" not in answer.json()["error"]
    assert server.get("/api/v1/health").status_code == 200


def test_a_long_attribute_is_cut_and_the_rest_of_the_batch_is_stored(server: httpx.Client) -> None:
    trace_id = "99" * 16
    spans = (
        a_span(0, trace=trace_id, attributes={"input.value": "x" * 1_500_000}),
        an_llm_span(1, trace=trace_id, parent=0),
    )
    told = server.post("/v1/traces", content=json_body(*spans), headers=JSON).json()["partialSuccess"]
    assert told == {"rejectedSpans": "0", "errorMessage": "1 texts were longer than server.max_text_kb and were cut"}
    trace = server.get(f"/api/v1/traces/{trace_id}").json()
    assert len(trace["spans"]) == 2
    assert trace["input"].endswith("… [476000 more characters were cut on arrival]")


def test_an_attribute_of_ten_megabytes_is_cut_and_the_server_goes_on(tmp_path: Path) -> None:
    trace_id = "98" * 16
    spans = (
        an_llm_span(0, trace=trace_id, question="y" * 10_000_000),
        an_llm_span(1, trace=trace_id, parent=0, answer="short"),
    )
    with served(tmp_path) as url, calling(url) as client:
        answer = client.post("/v1/traces", content=protobuf_body(*spans), headers=PROTOBUF)
        partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
        assert (answer.status_code, partial.rejected_spans) == (200, 0)
        assert partial.error_message == "1 texts were longer than server.max_text_kb and were cut"
        trace = client.get(f"/api/v1/traces/{trace_id}").json()
        assert [span["output"] for span in trace["spans"]] == ["because", "short"]
        assert len(trace["input"]) < 1_100_000
        assert client.post("/v1/traces", content=protobuf_body(an_llm_span(2)), headers=PROTOBUF).status_code == 200


def test_logs_are_taken_and_metrics_answered(server: httpx.Client) -> None:
    record = {
        "traceId": TRACE,
        "eventName": "gen_ai.evaluation.result",
        "attributes": [
            {"key": "gen_ai.evaluation.name", "value": {"stringValue": "late"}},
            {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 1}},
        ],
    }
    logs = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]})
    assert server.post("/v1/logs", content=logs, headers=JSON).json() == {}
    assert server.post("/v1/metrics", content=b"{}", headers=JSON).json() == {}
    server.post("/v1/traces", content=json_body(an_llm_span(0)), headers=JSON)
    (score,) = server.get(f"/api/v1/traces/{TRACE}").json()["scores"]
    assert (score["name"], score["value"]) == ("late", 1.0)
