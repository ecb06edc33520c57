"""The load of the soak: OTLP requests of model calls in protobuf, each with ids of its own that a counter gives back.

Making a request must cost next to nothing beside reading it. So the bodies are made once, with ids that are easy to see, and
a request is a copy with other ids in their places. The id of trace n is n + 1 times an odd number modulo 2^128: it looks random
to an index, n can be had back from it, so that what was acknowledged is one bit a trace and not a set of ids.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from perf.otlp_load import words

TRACES, SPANS = 10, 5  # of a request: its traces, and the spans of each
BODIES = 200
PROTOBUF = {"content-type": "application/x-protobuf"}
_FACTOR, _IDS = 0x9E3779B97F4A7C15F39CC0605CEDC835, 1 << 128
_BACK = pow(_FACTOR, -1, _IDS)
_FIRST_NS = 1_767_225_600_000_000_000


def trace_id(number: int) -> bytes:
    return ((number + 1) * _FACTOR % _IDS).to_bytes(16, "big")


def number_of(ident: str) -> int:
    """The number whose trace id this is."""
    return int(ident, 16) * _BACK % _IDS - 1


@dataclass(frozen=True)
class Template:
    """A request, and where in it the ids of its traces stand."""

    body: bytes
    places: Sequence[Sequence[int]]

    def request(self, first: int) -> bytes:
        """Copy the request with the ids of the traces from number `first` on."""
        body = bytearray(self.body)
        for trace, places in enumerate(self.places):
            ident = trace_id(first + trace)
            for at in places:
                body[at : at + 16] = ident
        return bytes(body)


def templates(seed: int) -> list[Template]:
    source = random.Random(seed)
    return [_template(source) for _ in range(BODIES)]


def _template(source: random.Random) -> Template:
    marks = [source.randbytes(16) for _ in range(TRACES)]
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for trace, mark in enumerate(marks):
        for number in range(SPANS):
            span = scope.spans.add()
            span.trace_id, span.span_id = mark, bytes([*[trace] * 7, number + 1])
            if number:
                span.parent_span_id = bytes([*[trace] * 7, 1])
            span.name = "chat" if number == SPANS - 1 else f"step {number}"
            span.start_time_unix_nano = _FIRST_NS + source.randrange(86_400 * 10**9)
            span.end_time_unix_nano = span.start_time_unix_nano + 10**9
            span.attributes.extend(
                [_text("input.value", words(source, 300)), _text("output.value", words(source, 500))]
            )
    body: bytes = request.SerializeToString()
    return Template(body, [_places(body, mark) for mark in marks])


def _places(body: bytes, mark: bytes) -> list[int]:
    at, places = body.find(mark), []
    while at >= 0:
        places.append(at)
        at = body.find(mark, at + 16)
    return places


def _text(key: str, value: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=value))
