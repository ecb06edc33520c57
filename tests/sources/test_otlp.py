import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from evergold.errors import BadInput, TooLarge, Unsupported
from evergold.sources.spans import Wire, shorten_texts, unpack_body, wire_of
from tests.otlp import TRACE, a_span, json_body, protobuf_body, read_logs, read_traces, span_id
from tests.rows import each_row

MB = 1 << 20
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(texts, values, max_size=5))
def test_protobuf_and_json_say_the_same(attributes: dict[str, object]) -> None:
    span = a_span(1, parent=0, attributes=attributes, events=[("note", attributes)], failed=True)
    from_protobuf = read_traces(protobuf_body(span), Wire.PROTOBUF)
    from_json = read_traces(json_body(span), Wire.JSON)
    assert from_protobuf == from_json
    (read,) = from_protobuf.spans
    assert read.attributes == attributes
    assert (read.trace_id, read.span_id, read.parent_id) == (TRACE, span_id(1), span_id(0))
    assert read.failed and read.status_message == "boom" and read.scope == "tests"
    assert read.resource == {"service.name": "shop"}


def test_a_resource_sent_behind_its_spans_is_theirs() -> None:
    resource = ExportTraceServiceRequest()
    resource.resource_spans.add().resource.attributes.add(key="service.name").value.string_value = "shop"
    spans = ExportTraceServiceRequest()
    spans.resource_spans.add().scope_spans.add().spans.append(a_span())
    joined = spans.resource_spans[0].SerializeToString() + resource.resource_spans[0].SerializeToString()
    (span,) = read_traces(b"\x0a" + bytes([len(joined)]) + joined, Wire.PROTOBUF).spans
    assert span.resource == {"service.name": "shop"}


def test_a_json_id_is_hex_and_not_base64() -> None:
    (span,) = read_traces(json_body(a_span()), Wire.JSON).spans
    assert span.trace_id == TRACE
    assert span.parent_id is None


def test_one_bad_span_does_not_sink_the_others() -> None:
    document = json.loads(json_body(a_span(0), a_span(1), a_span(2)))
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans[0]["traceId"] = "not hex"
    spans[1]["spanId"] = "00"
    spans.append("a text")
    received = read_traces(json.dumps(document).encode(), Wire.JSON)
    assert [span.span_id for span in received.spans] == [span_id(2)]
    assert received.refused == [
        "resourceSpans[0].scopeSpans[0].spans: 1 items are not objects",
        "resourceSpans[0].scopeSpans[0].spans[0]: traceId 'not hex' is not hex",
        "span 'step 1': span id '00' has 2 hex digits, not 16",
    ]


def test_an_id_of_zeros_is_refused() -> None:
    received = read_traces(protobuf_body(a_span(trace="0" * 32)), Wire.PROTOBUF)
    assert received.spans == []
    assert received.refused == ["span 'step 0': trace id is all zeros"]


@each_row(
    ("body", "wire", "message"),
    [
        (b"\xff\xff\xff", Wire.PROTOBUF, "not an OTLP protobuf message"),
        (b"{", Wire.JSON, "not JSON"),
        (b"[]", Wire.JSON, "an object with resourceSpans"),
        (b'{"resourceSpans": 3}', Wire.JSON, "resourceSpans must be a list"),
    ],
)
def test_a_body_that_cannot_be_read_is_bad_input(body: bytes, wire: Wire, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_traces(body, wire)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_readers(body: bytes) -> None:
    for wire in Wire:
        try:
            read_traces(body, wire)
            read_logs(body, wire)
        except BadInput as problem:
            assert "\n" not in problem.message or wire is Wire.PROTOBUF


def test_content_types() -> None:
    assert wire_of("application/x-protobuf") is Wire.PROTOBUF
    assert wire_of("Application/JSON; charset=utf-8") is Wire.JSON
    with pytest.raises(Unsupported, match="text/plain is not OTLP"):
        wire_of("text/plain")
    with pytest.raises(Unsupported, match="none"):
        wire_of(None)


def test_gzip_of_several_members_is_unpacked() -> None:
    packed = gzip.compress(b"one ") + gzip.compress(b"two")
    assert unpack_body(packed, "gzip", MB) == b"one two"
    assert unpack_body(b"plain", None, MB) == b"plain"


def test_a_gzip_bomb_is_given_up_at_the_limit() -> None:
    bomb = gzip.compress(bytes(64 * MB))
    assert len(bomb) < MB
    with pytest.raises(TooLarge, match="unpacks to more than 1048576 bytes"):
        unpack_body(bomb, "gzip", MB)


@each_row(
    "body", [b"not gzip", gzip.compress(b"cut short")[:-6], gzip.compress(b"x") + b"tail"], ids=["none", "cut", "tail"]
)
def test_broken_gzip_is_bad_input(body: bytes) -> None:
    with pytest.raises(BadInput, match="gzip"):
        unpack_body(body, "gzip", MB)


def test_other_encodings_and_large_bodies_are_refused() -> None:
    with pytest.raises(Unsupported, match="zstd"):
        unpack_body(b"x", "zstd", MB)
    with pytest.raises(TooLarge, match="at most 2 are taken"):
        unpack_body(b"xxx", None, 2)


def test_a_long_text_is_cut_and_says_so() -> None:
    cuts: list[int] = []
    value = shorten_texts({"a": "x" * 12, "b": ["y" * 5, {"c": "z" * 11}], "d": 7}, 10, lambda: cuts.append(1))
    assert value["a"] == "x" * 10 + "… [2 more characters were cut on arrival]"
    assert value["b"][0] == "yyyyy" and value["b"][1]["c"].startswith("z" * 10 + "…")
    assert len(cuts) == 2


def test_log_records_of_both_encodings() -> None:
    record = {
        "traceId": TRACE,
        "spanId": span_id(0),
        "timeUnixNano": "5",
        "eventName": "gen_ai.evaluation.result",
        "body": {"stringValue": "hello"},
        "attributes": [{"key": "n", "value": {"intValue": "3"}}],
    }
    body = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}).encode()
    (log,) = read_logs(body, Wire.JSON).logs
    assert (log.trace_id, log.span_id, log.event.name, log.event.time_ns) == (TRACE, span_id(0), record["eventName"], 5)
    assert log.event.attributes == {"n": 3} and log.body == "hello"
