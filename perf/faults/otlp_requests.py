"""OTLP requests in JSON and protobuf, for traces, logs and metrics: good ones, twisted ones, cut ones, other bytes."""

import gzip
import json
import random
import struct
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from perf.faults.server import JSON
from perf.faults.twisting import TEXTS, twisted

PROTOBUF = {"content-type": "application/x-protobuf"}
NAMES = (
    *("input.value", "output.value", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.usage.input_tokens"),
    *("gen_ai.request.model", "session.id", "user.id", "llm.input_messages.0.message.content", "gen_ai.tool.name"),
    *(
        "retrieval.documents.0.document.content",
        "langfuse.observation.type",
        "gen_ai.evaluation.score.value",
        "",
        "tag.tags",
    ),
)
NUMBERS = (0, 1, -1, 2**31, 2**63 - 1, -(2**63))
FLOATS = (0.0, 0.5, float("nan"), float("inf"), -float("inf"), 1e308, 5e-324)


@dataclass(frozen=True)
class OtlpRequest:
    path: str
    body: bytes
    headers: dict[str, str]


def draw(source: random.Random) -> OtlpRequest:
    path = source.choice(("/v1/traces", "/v1/traces", "/v1/logs", "/v1/metrics"))
    if source.random() < 0.5:
        body, headers = _json(source, path), dict(JSON)
    else:
        body, headers = _protobuf(source, path), dict(PROTOBUF)
    chance = source.random()
    if chance < 0.08:
        body = body[: source.randrange(len(body) + 1)]
    elif chance < 0.2:
        body = _other_bytes(body, source)
    if source.random() < 0.1:
        body, headers["content-encoding"] = gzip.compress(body, 1) * source.randint(1, 3), "gzip"
    if source.random() < 0.03:
        headers = {"content-type": source.choice(("text/plain", "application/json", "application/x-protobuf", "", "é"))}
    return OtlpRequest(path, body, headers)


def _json(source: random.Random, path: str) -> bytes:
    document: Any = _document(source, path)
    for _ in range(source.randint(0, 4)):
        document = twisted(document, source)
    return json.dumps(document).encode()


def _document(source: random.Random, path: str) -> dict[str, Any]:
    ids = {"traceId": f"{source.getrandbits(128):032x}", "spanId": f"{source.getrandbits(64):016x}"}
    attributes = [{"key": name, "value": {"stringValue": source.choice(TEXTS)}} for name in source.sample(NAMES, 4)]
    moment = "1767225600000000000"
    if path == "/v1/traces":
        span = {**ids, "name": "ask", "attributes": attributes, "startTimeUnixNano": moment, "endTimeUnixNano": moment}
        return {"resourceSpans": [{"resource": {"attributes": attributes}, "scopeSpans": [{"spans": [span] * 2}]}]}
    if path == "/v1/logs":
        record = {**ids, "timeUnixNano": moment, "attributes": attributes, "body": {"stringValue": "hello"}}
        return {
            "resourceLogs": [{"scopeLogs": [{"logRecords": [{**record, "eventName": "gen_ai.evaluation.result"}]}]}]
        }
    return {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "m"}]}]}]}


def _protobuf(source: random.Random, path: str) -> bytes:
    request: Any = ExportTraceServiceRequest() if path == "/v1/traces" else ExportLogsServiceRequest()
    if path == "/v1/traces":
        spans = request.resource_spans.add().scope_spans.add().spans
        for _ in range(source.randint(1, 3)):
            span = spans.add()
            span.trace_id = source.randbytes(source.choice((16, 16, 16, 0, 8, 17)))
            span.span_id = source.randbytes(source.choice((8, 8, 8, 0, 9)))
            span.parent_span_id = source.choice((b"", span.span_id, source.randbytes(8)))
            span.name = source.choice(("ask", "", "x" * 5000))
            span.start_time_unix_nano = source.choice((0, 1_767_225_600_000_000_000, 2**64 - 1))
            span.end_time_unix_nano = source.choice((0, 1_767_225_601_000_000_000, 2**64 - 1))
            span.kind = source.choice((0, 1, 3))
            span.attributes.extend(_attributes(source))
            span.events.add(name="gen_ai.choice").attributes.extend(_attributes(source))
            span.status.code = source.choice((0, 1, 2))
    else:
        record = request.resource_logs.add().scope_logs.add().log_records.add()
        record.trace_id, record.span_id = source.randbytes(16), source.randbytes(8)
        record.event_name = source.choice(("gen_ai.evaluation.result", "gen_ai.user.message", ""))
        record.attributes.extend(_attributes(source))
        record.body.CopyFrom(_any(source, 4))
    packed: bytes = request.SerializeToString()
    return packed


def _attributes(source: random.Random) -> list[KeyValue]:
    return [KeyValue(key=name, value=_any(source, 4)) for name in source.sample(NAMES, source.randint(0, 5))]


def _any(source: random.Random, depth: int) -> AnyValue:
    kind = source.randrange(7 if depth else 5)
    if kind == 0:
        return AnyValue(string_value=source.choice(TEXTS).encode("utf-8", "replace").decode())
    if kind == 1:
        return AnyValue(int_value=source.choice(NUMBERS))
    if kind == 2:
        return AnyValue(double_value=source.choice(FLOATS))
    if kind == 3:
        return AnyValue(bytes_value=source.randbytes(20))
    if kind == 4:
        return AnyValue()
    value = AnyValue()
    for _ in range(source.randint(0, 3)):
        if kind == 5:
            value.array_value.values.add().CopyFrom(_any(source, depth - 1))
        else:
            value.kvlist_value.values.add(key=source.choice(NAMES)).value.CopyFrom(_any(source, depth - 1))
    return value


def _other_bytes(body: bytes, source: random.Random) -> bytes:
    """Some bytes replaced, or numbers in the places of lengths and tags."""
    raw = bytearray(body or b"\x00")
    for _ in range(source.randint(1, 5)):
        at = source.randrange(len(raw))
        with_what = source.choice((source.randbytes(1), b"\xff\xff\xff\xff\x0f", struct.pack("<q", -1), b"\x80" * 12))
        raw[at : at + len(with_what)] = with_what
    return bytes(raw)
