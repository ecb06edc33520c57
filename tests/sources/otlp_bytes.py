"""Random export requests of spans, ordinary, odd and broken, read by the compiled reader and by the protobuf package.

python -m tests.sources.otlp_bytes 60    # a minute of new requests; any difference between the two ends it
"""

import random
import sys
import time
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from evergold.errors import EvergoldError
from evergold.sources.otlp import protobuf
from evergold.sources.spans import Received

TEXTS = ("", "a", "chat", "gen_ai.request.model", "größe", "漢字", "x" * 70, "\x00", "🎉 fine")
NUMBERS = (0, 1, -1, 127, 128, 2**31, -(2**63), 2**63 - 1)


def ordinary(source: random.Random) -> bytes:
    """A request that only has what exporters send; also links, schema addresses and lists."""
    request = ExportTraceServiceRequest()
    for _ in range(source.randint(0, 2)):
        by_resource = request.resource_spans.add(schema_url=source.choice(TEXTS))
        _fill(source, by_resource.resource.attributes)
        for _ in range(source.randint(0, 2)):
            by_scope = by_resource.scope_spans.add(schema_url=source.choice(TEXTS))
            if source.random() < 0.8:
                by_scope.scope.name = source.choice(TEXTS)
                by_scope.scope.version = source.choice(TEXTS)
                _fill(source, by_scope.scope.attributes)
            for _ in range(source.randint(0, 3)):
                _fill_span(source, by_scope.spans.add())
    body: bytes = request.SerializeToString()
    return body


def _fill_span(source: random.Random, span: Any) -> None:
    span.trace_id, span.span_id = source.randbytes(15) + b"\x01", source.randbytes(7) + b"\x01"
    span.parent_span_id = source.choice((b"", source.randbytes(7) + b"\x01"))
    span.name, span.trace_state = source.choice(TEXTS), source.choice(TEXTS)
    span.start_time_unix_nano, span.end_time_unix_nano = source.randrange(2**64), source.randrange(2**64)
    span.kind, span.flags = source.randint(0, 5), source.randrange(2**32)
    span.dropped_attributes_count = source.randint(0, 300)
    if source.random() < 0.5:
        span.status.code, span.status.message = source.randint(0, 2), source.choice(TEXTS)
    _fill(source, span.attributes)
    for _ in range(source.randint(0, 2)):
        event = span.events.add(name=source.choice(TEXTS), time_unix_nano=source.randrange(2**64))
        _fill(source, event.attributes)
    for _ in range(source.randint(0, 1)):
        link = span.links.add(trace_id=source.randbytes(16), span_id=source.randbytes(8), trace_state="x")
        _fill(source, link.attributes)


def _fill(source: random.Random, pairs: Any) -> None:
    for _ in range(source.randint(0, 4)):
        _fill_value(source, pairs.add(key=source.choice(TEXTS)).value, 0)


def _fill_value(source: random.Random, value: Any, depth: int) -> None:
    kind = source.randint(0, 4 if depth > 3 else 6)
    if kind == 1:
        value.string_value = source.choice(TEXTS)
    elif kind == 2:
        value.bool_value = source.random() < 0.5
    elif kind == 3:
        value.int_value = source.choice(NUMBERS)
    elif kind == 4:
        value.double_value = source.choice((0.0, -1.5, float("nan"), float("inf"), 1e300))
    elif kind == 5:
        value.array_value.SetInParent()
        for _ in range(source.randint(0, 3)):
            _fill_value(source, value.array_value.values.add(), depth + 1)
    elif kind == 6:
        value.kvlist_value.SetInParent()
        for _ in range(source.randint(0, 3)):
            _fill_value(source, value.kvlist_value.values.add(key=source.choice(TEXTS)).value, depth + 1)


def broken(source: random.Random) -> bytes:
    """A request of which some bytes were changed, taken out, repeated or put in."""
    body = bytearray(ordinary(source))
    for _ in range(source.randint(1, 3)):
        at, size = source.randrange(len(body) + 1), source.randint(1, 12)
        change = source.randint(0, 4)
        if change == 0 and at < len(body):
            body[at] = source.randrange(256)
        elif change == 1:
            del body[at : at + size]
        elif change == 2:
            body[at:at] = body[at : at + size]
        elif change == 3:
            body[at:at] = source.randbytes(size)
        elif at < len(body):
            body[at] ^= 1 << source.randrange(8)
    return bytes(body)


def difference(body: bytes) -> str | None:
    """What the two readers say differently of a request; None where the compiled one leaves it to the other."""
    read = protobuf.read_ordinary(body)
    if read is None:
        return None
    try:
        expected = protobuf.read_any_traces(body)
    except EvergoldError as problem:
        expected = Received(refused=[str(problem)])
    # By what they print: a number that is none is not equal to itself.
    return None if repr(read) == repr(expected) else f"{body!r}: {read!r} is not {expected!r}"


def main(seconds: float) -> None:
    until, count, taken = time.monotonic() + seconds, 0, 0
    while time.monotonic() < until:
        source = random.Random(count)
        body = broken(source) if count % 4 else ordinary(source)
        if (problem := difference(body)) is not None:
            raise SystemExit(f"seed {count}: {problem}")
        count, taken = count + 1, taken + (protobuf.read_ordinary(body) is not None)
    print(f"{count} requests, of which {taken} were read by compiled code, all alike")


if __name__ == "__main__":
    main(float(sys.argv[1]))
