"""OTLP protobuf → wire spans and logs. The message is parsed once and walked once.

The parser gives up on the whole request for one text that is not UTF-8 and for one value nested too deep. `salvage_records`
then takes the request apart by the wire format alone, into resources, scopes and records, and parses each of them by itself.
"""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from evergold.errors import BadInput
from evergold.model.limits import MOST_KEYS, MOST_VALUES
from evergold.sources.spans import Attributes, Received, WireEvent, WireLog, WireSpan, require_few, require_few_records

REASON = "a text is not UTF-8, or values are nested too deep"
LONGEST_VARINT = 10
MOST_PARTS = 100_000  # some microseconds each
SHOWN = 100
STATUS_ERROR = 2


class Field(NamedTuple):
    """One field as it was sent: its number, all of its bytes, and the bytes of its value where it has a length."""

    number: int
    raw: bytes
    value: bytes


@dataclass(frozen=True)
class Layout:
    """Where the records of a request are: the repeated field of each level by name and number, and their name's number."""

    noun: str
    levels: Sequence[tuple[str, int]]
    name: int


SPANS = Layout("span", (("resource_spans", 1), ("scope_spans", 2), ("spans", 2)), 5)
LOGS = Layout("log record", (("resource_logs", 1), ("scope_logs", 2), ("log_records", 2)), 12)


def salvage_records(kind: type[Message], body: bytes, layout: Layout) -> tuple[Any, list[str]]:
    """Read a request without the parts that cannot be read, and name those. Raises DecodeError where none is named."""
    message = kind()
    taking_apart = _Salvage(layout)
    taking_apart.fill(message, body, layout.levels)
    if not taking_apart.refused:
        raise DecodeError("no record in it can be told from the others")
    return message, taking_apart.refused


class _Salvage:
    """One request: what was refused of it, and how many parts may still be looked at one by one."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._left = MOST_PARTS
        self.refused: list[str] = []

    def fill(self, message: Any, body: bytes, levels: Sequence[tuple[str, int]]) -> None:
        """Put into a message what can be read of its bytes."""
        for field in wire_fields(body):
            self._left -= 1
            if self._left < 0:
                raise DecodeError(f"more than {MOST_PARTS} parts")
            try:
                message.MergeFrom(type(message).FromString(field.raw))
            except DecodeError:
                if levels and field.number == levels[0][1]:
                    self._part(getattr(message, levels[0][0]), field.value, levels[1:])
                elif (known := message.DESCRIPTOR.fields_by_number.get(field.number)) is not None:
                    # A resource or scope that cannot be read is left out; its records are kept.
                    self.refused.append(f"{known.name} of {self._layout.noun}s is left out: {REASON}")

    def _part(self, parts: Any, value: bytes, levels: Sequence[tuple[str, int]]) -> None:
        if levels:
            self.fill(parts.add(), value, levels)
        else:
            self.refused.append(f"{self._layout.noun} {_record_name(value, self._layout.name)!r}: {REASON}")


def _record_name(record: bytes, number: int) -> str:
    try:
        names = [field.value for field in wire_fields(record) if field.number == number]
    except DecodeError:
        names = []
    return names[-1].decode("utf-8", "replace")[:SHOWN] if names else ""


def wire_fields(body: bytes) -> Iterator[Field]:
    """Take a message apart without parsing what is in it."""
    at = 0
    while at < len(body):
        start = at
        tag, at = _varint(body, at)
        value = b""
        match tag & 7:
            case 0:
                _, at = _varint(body, at)
            case 1:
                at += 8
            case 2:
                size, at = _varint(body, at)
                value = body[at : at + size]
                at += size
            case 5:
                at += 4
            case other:
                raise DecodeError(f"wire type {other} at byte {start}")
        if at > len(body):
            raise DecodeError(f"the message ends within the field at byte {start}")
        yield Field(tag >> 3, body[start:at], value)


def _varint(body: bytes, at: int) -> tuple[int, int]:
    number = 0
    for shift in range(LONGEST_VARINT):
        if at >= len(body):
            break
        byte = body[at]
        at += 1
        number |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return number, at
    raise DecodeError(f"no number ends at byte {at}")


def read_traces(body: bytes) -> Received:
    """Read every span of an export request; one line for each span that cannot be kept."""
    request, unread = _parse(ExportTraceServiceRequest, body, SPANS)
    received = Received(refused=unread)
    for span, resource, scope in _records(request, SPANS, received):
        try:
            received.check(_span(span, resource, scope))
        except ValueError as problem:
            received.refused.append(f"span {span.name!r}: {problem}")
    return received


def read_logs(body: bytes) -> Received:
    """Every log record of an export request."""
    request, unread = _parse(ExportLogsServiceRequest, body, LOGS)
    received = Received(refused=unread)
    for record, resource, _ in _records(request, LOGS, received):
        try:
            received.logs.append(_log(record, resource))
        except ValueError as problem:
            received.refused.append(f"log record {record.event_name!r}: {problem}")
    return received


def _records(request: Any, layout: Layout, received: Received) -> Iterator[tuple[Any, Attributes, str | None]]:
    """Every record with the attributes of its resource and the name of its scope."""
    outer, middle, inner = (name for name, _ in layout.levels)
    require_few_records(len(getattr(request, outer)), "resources")
    for by_resource in getattr(request, outer):
        resource = _resource(by_resource.resource.attributes, received)
        require_few_records(len(getattr(by_resource, middle)), "scopes")
        for by_scope in getattr(by_resource, middle):
            records, scope = getattr(by_scope, inner), by_scope.scope.name or None
            known = len(received.spans) + len(received.logs) + len(received.refused)
            require_few_records(len(records) + known, f"{layout.noun}s")
            for record in records:
                yield record, resource, scope


def _parse(kind: Any, body: bytes, layout: Layout) -> tuple[Any, list[str]]:
    """Parse a request; of one that cannot be parsed as a whole, what can be, and a line for each record that cannot."""
    try:
        return kind.FromString(body), []
    except DecodeError as error:
        # Garbage is told from a request with bad records in it by taking it apart.
        with suppress(DecodeError):
            return salvage_records(kind, body, layout)
        raise BadInput(f"the body is not an OTLP protobuf message: {error}") from None


def _span(span: Any, resource: Attributes, scope: str | None) -> WireSpan:
    status, attributes, events = span.status, span.attributes, span.events
    # Counted before they are converted: a dict of a million attributes is what the limit protects from.
    if len(attributes) > MOST_KEYS or len(events) > MOST_KEYS:
        raise ValueError(f"more than {MOST_KEYS} attributes or events")
    return WireSpan(
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex() or None,
        span.name,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        status.code == STATUS_ERROR,
        status.message or None,
        attributes_of(attributes),
        [WireEvent(event.name, event.time_unix_nano, attributes_of(event.attributes)) for event in events],
        resource,
        scope,
    )


def _log(record: Any, resource: Attributes) -> WireLog:
    if len(record.attributes) > MOST_KEYS:
        raise ValueError(f"more than {MOST_KEYS} attributes")
    attributes = attributes_of(record.attributes)
    # Older SDKs have no field for it and send it as an attribute.
    name = record.event_name or str(attributes.get("event.name", ""))
    event = WireEvent(name, record.time_unix_nano or record.observed_time_unix_nano, attributes)
    return WireLog(record.trace_id.hex() or None, record.span_id.hex() or None, event, _value(record.body), resource)


def _resource(pairs: Any, received: Received) -> Attributes:
    """The attributes of a resource; too many are left out, since its records are good without them."""
    try:
        return attributes_of(require_few(pairs))
    except ValueError as problem:
        received.refused.append(f"resource: {problem}; its attributes are left out")
        return {}


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
    if kind in ("array_value", "kvlist_value"):
        return _convert_many(value, [MOST_VALUES])
    if kind == "bytes_value":
        return b64encode(value.bytes_value).decode("ascii")
    return getattr(value, kind)


def _convert_many(value: Any, room: list[int]) -> Any:
    """Convert a list or an object; `room` is how many values one attribute may still hold."""
    inner = value.array_value.values if value.HasField("array_value") else value.kvlist_value.values
    room[0] -= len(inner)
    if room[0] < 0:
        raise ValueError(f"an attribute holds more than {MOST_VALUES} values; write a long list as a text")
    if value.HasField("array_value"):
        return [_inner(item, room) for item in inner]
    return {pair.key: _inner(pair.value, room) for pair in inner}


def _inner(value: Any, room: list[int]) -> Any:
    return _convert_many(value, room) if value.WhichOneof("value") in ("array_value", "kvlist_value") else _value(value)
