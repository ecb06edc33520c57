"""OTLP protobuf of which one record cannot be parsed, or which holds too many parts: the others are read."""

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from evergold.errors import BadInput, TooLarge
from evergold.sources import spans as limits
from evergold.sources.otlp import json as otlp_json
from evergold.sources.otlp import protobuf
from tests.otlp import a_span, pairs
from tests.rows import each_row

MARK = "to be replaced"
NOT_UTF8 = b"\xff" * len(MARK)


def request_of(*names: str, resource: str = "svc") -> bytes:
    """Spans of these names; a text that is the mark is no UTF-8 in what is sent."""
    request = ExportTraceServiceRequest()
    by_resource = request.resource_spans.add()
    by_resource.resource.attributes.extend(pairs({"service.name": resource}))
    spans = [a_span(number, name="n", attributes={"input.value": name}) for number, name in enumerate(names)]
    by_resource.scope_spans.add().spans.extend(spans)
    sent: bytes = request.SerializeToString()
    return sent.replace(MARK.encode(), NOT_UTF8)


def deep(levels: int) -> bytes:
    value = b"\x0a\x01x"
    for _ in range(levels):
        inner = b"\x0a" + _length(value) + value
        value = b"\x2a" + _length(inner) + inner
    return value


def _length(value: bytes) -> bytes:
    size, parts = len(value), []
    while size > 127:
        parts.append(size & 127 | 128)
        size >>= 7
    return bytes([*parts, size])


@given(st.lists(st.booleans(), min_size=1, max_size=8))
def test_spans_that_are_no_utf8_are_refused_and_the_others_kept(good: list[bool]) -> None:
    received = protobuf.read_traces(request_of(*("fine" if each else MARK for each in good)))
    assert [span.attributes["input.value"] for span in received.spans] == ["fine"] * sum(good)
    assert received.refused == [f"span 'n': {protobuf.REASON}"] * good.count(False)


def test_a_resource_that_is_no_utf8_costs_its_attributes_alone() -> None:
    body = request_of("fine", MARK, resource=MARK)
    (kept,) = protobuf.read_traces(body).spans
    assert (kept.attributes, kept.resource) == ({"input.value": "fine"}, {})


@pytest.mark.parametrize("part", ["resource", "scope"])
def test_where_only_a_resource_or_scope_is_no_utf8_all_spans_are_kept(part: str) -> None:
    request = ExportTraceServiceRequest.FromString(request_of("fine", "good"))
    (by_resource,) = request.resource_spans
    if part == "resource":
        by_resource.resource.attributes[0].value.string_value = MARK
    else:
        by_resource.scope_spans[0].scope.name = MARK
    received = protobuf.read_traces(request.SerializeToString().replace(MARK.encode(), NOT_UTF8))
    assert [span.attributes["input.value"] for span in received.spans] == ["fine", "good"]
    assert received.refused == [f"{part} of spans is left out: {protobuf.REASON}"]


def test_a_value_nested_too_deep_costs_its_span_alone() -> None:
    attribute = b"\x0a\x01k\x12" + _length(deep(200)) + deep(200)
    span = a_span(1, name="deep").SerializeToString() + b"\x4a" + _length(attribute) + attribute
    scope = b"\x12" + _length(span) + span
    whole = request_of("fine") + b"\x0a" + _length(b"\x12" + _length(scope) + scope) + b"\x12" + _length(scope) + scope
    received = protobuf.read_traces(whole)
    assert len(received.spans) == 1 and received.refused == [f"span 'deep': {protobuf.REASON}"]


def test_log_records_too() -> None:
    request = ExportLogsServiceRequest()
    records = request.resource_logs.add().scope_logs.add().log_records
    records.add(event_name="good").body.string_value = "fine"
    records.add(event_name="bad").body.string_value = MARK
    received = protobuf.read_logs(request.SerializeToString().replace(MARK.encode(), NOT_UTF8))
    assert [log.body for log in received.logs] == ["fine"]
    assert received.refused == [f"log record 'bad': {protobuf.REASON}"]


@each_row("body", [b"\x0a\x03abc", b"\x0a\xff", b"\x0b", b"\xff" * 30, request_of("fine")[:-3]])
def test_what_is_no_request_is_refused_whole(body: bytes) -> None:
    with pytest.raises(BadInput, match="not an OTLP protobuf message"):
        protobuf.read_traces(body)


@given(st.integers(0, 1000), st.integers(0, 255))
def test_a_request_with_one_changed_byte_is_read_or_refused(at: int, byte: int) -> None:
    body = bytearray(request_of("fine", "good"))
    body[at % len(body)] = byte
    try:
        received = protobuf.read_traces(bytes(body))
    except BadInput:
        return
    assert all((len(span.trace_id), len(span.span_id)) == (32, 16) for span in received.spans)
    assert received.spans or received.refused


@given(st.binary(max_size=200))
def test_any_bytes_are_taken_apart_or_refused(body: bytes) -> None:
    try:
        parts = list(protobuf.wire_fields(body))
    except DecodeError:
        return
    assert b"".join(part.raw for part in parts) == body


def test_too_many_parts_are_refused_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_RECORDS", 5)
    monkeypatch.setattr(protobuf, "MOST_PARTS", 5)
    for body in (b"\x0a\x00" * 6, request_of(*["x"] * 6)):
        with pytest.raises(TooLarge, match=r"6 .* in one request; at most 5 are taken"):
            protobuf.read_traces(body)
    with pytest.raises(TooLarge, match="6 resourceSpans in one request"):
        otlp_json.read_traces(b'{"resourceSpans":[{},{},{},{},{},{}]}')
    with pytest.raises(BadInput):
        protobuf.read_traces(request_of(*[MARK] * 6))


def test_an_attribute_of_too_many_values_costs_its_span_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protobuf, "MOST_VALUES", 5)
    monkeypatch.setattr(otlp_json, "MOST_VALUES", 5)
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    spans.append(a_span(0, attributes={"a": [[1, 2], [3]]}))
    spans.append(a_span(1, name="many", attributes={"a": [[1, 2], [3, 4]]}))
    received = protobuf.read_traces(request.SerializeToString())
    assert [span.attributes["a"] for span in received.spans] == [[[1, 2], [3]]]
    assert received.refused == ["span 'many': an attribute holds more than 5 values; write a long list as a text"]
