"""OTLP protobuf → wire spans and logs. The message is parsed once and walked once."""

from base64 import b64encode
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from evergold.errors import BadInput
from evergold.model.nesting import MOST_KEYS
from evergold.sources.spans import Attributes, Received, WireEvent, WireLog, WireSpan

STATUS_ERROR = 2


def read_traces(body: bytes) -> Received:
    """Every span of an export request."""
    request = _parse(ExportTraceServiceRequest, body)
    received = Received()
    for by_resource in request.resource_spans:
        resource = attributes_of(by_resource.resource.attributes)
        for by_scope in by_resource.scope_spans:
            scope = by_scope.scope.name or None
            for span in by_scope.spans:
                # Counted before they are converted: a dict of a million attributes is what the limit protects from.
                if len(span.attributes) > MOST_KEYS or len(span.events) > MOST_KEYS:
                    received.refused.append(f"span {span.name!r}: more than {MOST_KEYS} attributes or events")
                else:
                    received.check(_span(span, resource, scope))
    return received


def read_logs(body: bytes) -> Received:
    """Every log record of an export request."""
    request = _parse(ExportLogsServiceRequest, body)
    received = Received()
    for by_resource in request.resource_logs:
        resource = attributes_of(by_resource.resource.attributes)
        for by_scope in by_resource.scope_logs:
            for record in by_scope.log_records:
                if len(record.attributes) > MOST_KEYS:
                    received.refused.append(f"log record {record.event_name!r}: more than {MOST_KEYS} attributes")
                    continue
                attributes = attributes_of(record.attributes)
                # Older SDKs have no field for it and send it as an attribute.
                name = record.event_name or str(attributes.get("event.name", ""))
                received.logs.append(
                    WireLog(
                        record.trace_id.hex() or None,
                        record.span_id.hex() or None,
                        WireEvent(name, record.time_unix_nano or record.observed_time_unix_nano, attributes),
                        _value(record.body),
                        resource,
                    )
                )
    return received


def _parse(kind: Any, body: bytes) -> Any:
    try:
        return kind.FromString(body)
    except DecodeError as error:
        raise BadInput(f"the body is not an OTLP protobuf message: {error}") from None


def _span(span: Any, resource: Attributes, scope: str | None) -> WireSpan:
    status = span.status
    return WireSpan(
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex() or None,
        span.name,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        status.code == STATUS_ERROR,
        status.message or None,
        attributes_of(span.attributes),
        [WireEvent(event.name, event.time_unix_nano, attributes_of(event.attributes)) for event in span.events],
        resource,
        scope,
    )


def attributes_of(pairs: Any) -> Attributes:
    """Key-value pairs as a plain dict. Most values are texts or numbers, which is tried before asking which kind it is."""
    attributes: Attributes = {}
    for pair in pairs:
        value = pair.value
        # An unset field of a oneof reads as "" or 0; a real empty text or zero falls through to `_value`, which asks.
        attributes[pair.key] = value.string_value or value.int_value or _value(value)
    return attributes


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return {pair.key: _value(pair.value) for pair in value.kvlist_value.values}
    if kind == "bytes_value":
        return b64encode(value.bytes_value).decode("ascii")
    return getattr(value, kind)
