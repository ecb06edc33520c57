"""Requests read by compiled code are read as the protobuf package reads them; what is unusual is left to that."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from evergold.model.nesting import MOST_KEYS
from evergold.sources.otlp import protobuf
from tests.sources.otlp_bytes import broken, difference, ordinary

is_compiled = protobuf.read_ordinary(b"") is not None
compiled_only = pytest.mark.skipif(not is_compiled, reason="no compiler was present at installation")
seeds = st.integers(0, 1 << 40)


def a_request(**fields: Any) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    span = {"trace_id": b"\x01" * 16, "span_id": b"\x02" * 8, "name": "step", **fields}
    request.resource_spans.add().scope_spans.add().spans.add(**span)
    return request


@given(seeds)
def test_ordinary_requests_are_read_alike(seed: int) -> None:
    body = ordinary(random.Random(seed))
    assert difference(body) is None
    assert not is_compiled or protobuf.read_ordinary(body) is not None


@given(seeds)
def test_broken_requests_are_read_alike_or_left(seed: int) -> None:
    assert difference(broken(random.Random(seed))) is None


@given(st.binary(max_size=300))
def test_any_bytes_are_read_alike_or_left(body: bytes) -> None:
    assert difference(body) is None


def test_a_resource_behind_its_spans_is_theirs() -> None:
    resource = ExportTraceServiceRequest()
    resource.resource_spans.add().resource.attributes.add(key="service.name").value.string_value = "shop"
    joined = a_request().resource_spans[0].SerializeToString() + resource.resource_spans[0].SerializeToString()
    body = b"\x0a" + bytes([len(joined)]) + joined
    (span,) = protobuf.read_traces(body).spans
    assert span.resource == {"service.name": "shop"}
    assert difference(body) is None


@compiled_only
def test_what_is_unusual_is_left() -> None:
    of_bytes = a_request()
    of_bytes.resource_spans[0].scope_spans[0].spans[0].attributes.add(key="k").value.bytes_value = b"\x00\x01"
    many = a_request()
    for number in range(MOST_KEYS + 1):
        many.resource_spans[0].scope_spans[0].spans[0].attributes.add(key=f"k{number}").value.int_value = 1
    deep = a_request()
    value = deep.resource_spans[0].scope_spans[0].spans[0].attributes.add(key="k").value
    for _ in range(40):
        value = value.array_value.values.add()
    unusual = (of_bytes, many, deep, a_request(trace_id=b"\x01"), a_request(span_id=b"\x00" * 8))
    bodies = [request.SerializeToString() for request in unusual]
    twice = (
        a_request().resource_spans[0].scope_spans[0].spans[0].SerializeToString() + b"\x2a\x04\xff\xff\xff\xff\x2a\x01a"
    )
    scope = b"\x12" + bytes([len(twice)]) + twice
    outer = b"\x12" + bytes([len(scope)]) + scope
    bodies += [
        b"\x0a" + bytes([len(outer)]) + outer,
        a_request(name="x").SerializeToString().replace(b"\x01x", b"\x01\xff"),
    ]
    assert [protobuf.read_ordinary(body) for body in bodies] == [None] * len(bodies)
    assert all(difference(body) is None for body in bodies)


@compiled_only
def test_names_of_attributes_are_the_same_object_each_time() -> None:
    request = a_request()
    request.resource_spans[0].scope_spans[0].spans[0].attributes.add(key="a.name.of.the.app").value.int_value = 1
    names = [next(iter(protobuf.read_traces(request.SerializeToString()).spans[0].attributes)) for _ in range(2)]
    assert names[0] is names[1]
