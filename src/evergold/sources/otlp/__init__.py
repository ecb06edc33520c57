"""OTLP over HTTP: protobuf or JSON bytes in, wire spans and logs out."""

from evergold.sources.otlp.body import Wire, unpacked, wire_of
from evergold.sources.spans import Received

__all__ = ["Wire", "read_logs", "read_traces", "unpacked", "wire_of"]


def read_traces(body: bytes, wire: Wire) -> Received:
    """The spans of an export request in either encoding."""
    if wire is Wire.PROTOBUF:
        from evergold.sources.otlp import protobuf

        return protobuf.read_traces(body)
    from evergold.sources.otlp import json

    return json.read_traces(body)


def read_logs(body: bytes, wire: Wire) -> Received:
    """The log records of an export request in either encoding."""
    if wire is Wire.PROTOBUF:
        from evergold.sources.otlp import protobuf

        return protobuf.read_logs(body)
    from evergold.sources.otlp import json

    return json.read_logs(body)
