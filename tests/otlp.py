"""OTLP requests for tests: spans written as keyword arguments, sent as protobuf or as JSON."""

import json
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from evergold.sources.otlp import json as otlp_json
from evergold.sources.otlp import protobuf
from evergold.sources.spans import Received, Wire

TRACE = "0af7651916cd43dd8448eb211c80319c"
NOON = 1_767_225_600_000_000_000  # 2026-01-01T00:00:00Z


def span_id(number: int) -> str:
    return f"{number + 1:016x}"


def a_span(number: int = 0, *, trace: str = TRACE, parent: int | None = None, **fields: Any) -> Span:
    """Span `number` of a trace; one second long, starting `number` seconds after the first."""
    start = fields.pop("start", NOON + number * 10**9)
    span = Span(
        trace_id=bytes.fromhex(trace),
        span_id=bytes.fromhex(span_id(number)),
        parent_span_id=b"" if parent is None else bytes.fromhex(span_id(parent)),
        name=fields.pop("name", f"step {number}"),
        start_time_unix_nano=start,
        end_time_unix_nano=fields.pop("end", start + 10**9),
        attributes=pairs(fields.pop("attributes", {})),
    )
    if fields.pop("failed", False):
        span.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR, message="boom"))
    for name, attributes in fields.pop("events", []):
        span.events.add(name=name, time_unix_nano=start, attributes=pairs(attributes))
    assert not fields, fields
    return span


def an_llm_span(number: int = 0, *, question: str = "why?", answer: str = "because", **fields: Any) -> Span:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "small-1",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": question}]}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": answer}]}]),
    }
    return a_span(number, attributes=attributes | fields.pop("attributes", {}), name="chat small-1", **fields)


def a_request(*spans: Span, service: str = "shop") -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    by_resource = request.resource_spans.add()
    by_resource.resource.attributes.extend(pairs({"service.name": service}))
    by_scope = by_resource.scope_spans.add()
    by_scope.scope.name = "tests"
    by_scope.spans.extend(spans)
    return request


def protobuf_body(*spans: Span, service: str = "shop") -> bytes:
    body: bytes = a_request(*spans, service=service).SerializeToString()
    return body


def json_body(*spans: Span) -> bytes:
    """The same request in OTLP's JSON: hex ids, 64-bit numbers as texts."""
    listed = [
        {
            "traceId": span.trace_id.hex(),
            "spanId": span.span_id.hex(),
            "parentSpanId": span.parent_span_id.hex(),
            "name": span.name,
            "startTimeUnixNano": str(span.start_time_unix_nano),
            "endTimeUnixNano": str(span.end_time_unix_nano),
            "attributes": _json_pairs(span.attributes),
            "events": [
                {"name": e.name, "timeUnixNano": str(e.time_unix_nano), "attributes": _json_pairs(e.attributes)}
                for e in span.events
            ],
            "status": {"code": span.status.code, "message": span.status.message},
        }
        for span in spans
    ]
    resource = {"attributes": _json_pairs(pairs({"service.name": "shop"}))}
    scopes = [{"scope": {"name": "tests"}, "spans": listed}]
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]}).encode()


def pairs(attributes: dict[str, Any]) -> list[KeyValue]:
    return [KeyValue(key=key, value=_any(value)) for key, value in attributes.items()]


def _any(value: Any) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case list():
            return AnyValue(array_value=ArrayValue(values=[_any(item) for item in value]))
        case dict():
            return AnyValue(kvlist_value=KeyValueList(values=pairs(value)))
        case None:
            return AnyValue()
    return AnyValue(string_value=value)


def _json_pairs(attributes: Any) -> list[dict[str, Any]]:
    return [{"key": pair.key, "value": _json_value(pair.value)} for pair in attributes]


def _json_value(value: AnyValue) -> dict[str, Any]:
    match value.WhichOneof("value"):
        case "int_value":
            return {"intValue": str(value.int_value)}
        case "double_value":
            return {"doubleValue": value.double_value}
        case "bool_value":
            return {"boolValue": value.bool_value}
        case "array_value":
            return {"arrayValue": {"values": [_json_value(item) for item in value.array_value.values]}}
        case "kvlist_value":
            return {"kvlistValue": {"values": _json_pairs(value.kvlist_value.values)}}
        case "string_value":
            return {"stringValue": value.string_value}
    return {}


def read_traces(body: bytes, wire: Wire) -> Received:
    """Decode a trace request in either encoding."""
    return protobuf.read_traces(body) if wire is Wire.PROTOBUF else otlp_json.read_traces(body)


def read_logs(body: bytes, wire: Wire) -> Received:
    """Decode a log request in either encoding."""
    return protobuf.read_logs(body) if wire is Wire.PROTOBUF else otlp_json.read_logs(body)
