"""OTLP JSON → wire spans and logs.

Read by hand and not by protobuf's JSON parser: OTLP writes trace and span ids as hex, that parser takes
them for base64 and turns them into other ids without a word. One record of the wrong shape is refused
by its place in the document; the others are kept.

Files are also written by protobuf's own JSON printer, which knows no better: names as in the .proto file
(`resource_spans`), ids in base64. Neither can be mistaken for the other spelling, so both are read.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import orjson

from evergold.errors import BadInput
from evergold.model.faults import describe_kind
from evergold.model.limits import LARGEST, MOST_KEYS, MOST_LEVELS, MOST_VALUES
from evergold.model.values import load_json
from evergold.sources.spans import (
    NO_SPAN,
    NO_TRACE,
    Attributes,
    Received,
    WireEvent,
    WireLog,
    WireSpan,
    require_few,
    require_few_records,
)

ERROR_CODES = (2, "STATUS_CODE_ERROR")
HEX = frozenset("0123456789abcdef")
BASE64 = {len(b64encode(bytes.fromhex(none))): len(none) for none in (NO_TRACE, NO_SPAN)}  # its length → that in hex
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError)  # what a value of another shape raises
SNAKE = ("resource_spans", "resource_logs")


def read_traces(body: bytes) -> Received:
    """Every span of an export request."""
    return _read(body, ("resourceSpans", "scopeSpans", "spans"), _keep_span)


def read_logs(body: bytes) -> Received:
    """Every log record of an export request."""
    return _read(body, ("resourceLogs", "scopeLogs", "logRecords"), _keep_log)


Keep = Callable[[Received, dict[str, Any], Attributes, str | None], None]


def _read(body: bytes, keys: tuple[str, str, str], keep: Keep) -> Received:
    try:
        document = load_json(body)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"the body is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise BadInput(f"an OTLP JSON body is an object with {keys[0]}, not {describe_kind(document)}")
    # The whole body is of another shape: refused as a request, not record by record.
    if not isinstance(document.get(keys[0]) or [], list):
        raise BadInput(f"{keys[0]} must be a list, not {describe_kind(document[keys[0]])}")
    # Renaming walks the whole document, so it is done only for files that need it.
    if not document.keys().isdisjoint(SNAKE):
        document = _camel(document)
    received = Received()
    for path, record, resource, scope in _records(document, keys, received):
        try:
            keep(received, record, resource, scope)
        except UNREADABLE as error:
            received.refused.append(f"{path}: {_reason(error)}")
    return received


def _camel(value: Any) -> Any:
    """A document with the names of the .proto file, spelled as OTLP spells them; keys of attributes are values there."""
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {_camel_name(key): _camel(item) for key, item in value.items()}


def _camel_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _records(
    document: dict[str, Any], keys: tuple[str, str, str], received: Received
) -> Iterator[tuple[str, dict[str, Any], Attributes, str | None]]:
    outer, middle, inner = keys
    for i, by_resource in enumerate(_objects(document, outer, outer, received)):
        resource = _resource(by_resource, f"{outer}[{i}].resource", received)
        for j, by_scope in enumerate(_objects(by_resource, middle, f"{outer}[{i}].{middle}", received)):
            scope = _scope_name(by_scope)
            path = f"{outer}[{i}].{middle}[{j}].{inner}"
            for k, record in enumerate(_objects(by_scope, inner, path, received)):
                yield f"{path}[{k}]", record, resource, scope


def _resource(by_resource: dict[str, Any], path: str, received: Received) -> Attributes:
    """The attributes of a resource, without those that cannot be read: its records are good without them."""
    resource = by_resource.get("resource")
    pairs = resource.get("attributes") if isinstance(resource, dict) else None
    attributes: Attributes = {}
    if isinstance(pairs, list) and len(pairs) > MOST_KEYS:
        received.refused.append(f"{path}: {len(pairs)} attributes; at most {MOST_KEYS} are taken, all are left out")
        return attributes
    for number, pair in enumerate(pairs if isinstance(pairs, list) else ()):
        try:
            # Pair by pair, so that a bad one costs only itself.
            attributes |= attributes_of([pair])
        except UNREADABLE as error:
            received.refused.append(f"{path}.attributes[{number}]: {_reason(error)}; it is left out")
    return attributes


def _scope_name(by_scope: dict[str, Any]) -> str | None:
    scope = by_scope.get("scope")
    name = scope.get("name") if isinstance(scope, dict) else None
    return name if isinstance(name, str) and name else None


def _objects(parent: dict[str, Any], key: str, path: str, received: Received) -> list[dict[str, Any]]:
    objects = parent.get(key) or []
    if not isinstance(objects, list):
        received.refused.append(f"{path}: must be a list, not {describe_kind(objects)}")
        return []
    require_few_records(len(objects), key)
    good = [item for item in objects if isinstance(item, dict)]
    if len(good) < len(objects):
        received.refused.append(f"{path}: {len(objects) - len(good)} items are not objects")
    return good


def _keep_span(received: Received, span: dict[str, Any], resource: Attributes, scope: str | None) -> None:
    status = span.get("status") or {}
    events = [
        WireEvent(str(event.get("name") or ""), _nanos(event, "timeUnixNano"), attributes_of(event.get("attributes")))
        for event in require_few(span.get("events") or ())
    ]
    received.check(
        WireSpan(
            _hex(span, "traceId"),
            _hex(span, "spanId"),
            _hex(span, "parentSpanId") or None,
            str(span.get("name") or ""),
            _nanos(span, "startTimeUnixNano"),
            _nanos(span, "endTimeUnixNano"),
            status.get("code") in ERROR_CODES,
            str(status.get("message") or "") or None,
            attributes_of(span.get("attributes")),
            events,
            resource,
            scope,
        )
    )


def _keep_log(received: Received, record: dict[str, Any], resource: Attributes, _scope: str | None) -> None:
    attributes = attributes_of(record.get("attributes"))
    name = str(record.get("eventName") or attributes.get("event.name") or "")
    time_ns = _nanos(record, "timeUnixNano") or _nanos(record, "observedTimeUnixNano")
    event = WireEvent(name, time_ns, attributes)
    ids = (_hex(record, "traceId") or None, _hex(record, "spanId") or None)
    received.logs.append(WireLog(*ids, event, _value(record.get("body") or {}), resource))


def _hex(record: dict[str, Any], key: str) -> str:
    given = str(record.get(key) or "")
    text = given.lower()
    # Hex ids have 32 or 16 characters, base64 of the same bytes 24 or 12: the length tells them apart.
    if len(given) in BASE64:
        with suppress(Base64Error):
            decoded = b64decode(given, validate=True).hex()
            text = decoded if len(decoded) == BASE64[len(given)] else text
    if not HEX.issuperset(text):
        raise ValueError(f"{key} {given!r} is not hex")
    return text


def _nanos(record: dict[str, Any], key: str) -> int:
    """A time; the protocol has 64 bits without a sign for it, and a larger one is no date that can be stored."""
    nanoseconds = _read_whole(record.get(key) or 0, key)
    if not 0 <= nanoseconds < 2 * LARGEST:
        raise ValueError(f"{key} {str(record[key])[:30]} is no time in nanoseconds since 1970")
    return nanoseconds


def attributes_of(pairs: Any, level: int = 1) -> Attributes:
    """`[{"key": …, "value": {"stringValue": …}}]` as a plain dict."""
    require_few(pairs or ())
    return {str(pair["key"]): _value(pair.get("value") or {}, level) for pair in pairs or []}


def _value(value: dict[str, Any], level: int = 1) -> Any:
    if level > MOST_LEVELS:
        raise ValueError(f"an attribute is nested more than {MOST_LEVELS} levels deep")
    # A value has one key, its type. Unknown types (of a later protocol) become null.
    for kind, content in value.items():
        if kind in ("stringValue", "boolValue"):
            if not isinstance(content, str | bool):
                raise ValueError(f"{kind} must not be {describe_kind(content)}")
            return content
        if kind == "intValue":
            return _int64(content)
        if kind == "doubleValue":
            try:
                return float(content)
            except (TypeError, ValueError):
                raise ValueError(f"doubleValue must be a number, not {_show_content(content)}") from None
        if kind == "arrayValue":
            values = content.get("values") or []
            if len(values) > MOST_VALUES:
                raise ValueError(
                    f"a list has {len(values)} values; at most {MOST_VALUES} are taken: write it as a text"
                )
            return [_value(item, level + 1) for item in values]
        if kind == "kvlistValue":
            return attributes_of(content.get("values"), level + 1)
        if kind == "bytesValue":
            return _checked_base64(content)
    return None


def _int64(content: Any) -> int:
    number = _read_whole(content, "intValue")
    if not -LARGEST <= number < LARGEST:
        raise ValueError(f"intValue {str(content)[:30]} is over 64 bits")
    return number


def _read_whole(content: Any, name: str) -> int:
    try:
        return int(content)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a whole number, not {_show_content(content)}") from None


def _show_content(content: Any) -> str:
    return repr(content[:30]) if isinstance(content, str) else describe_kind(content)


def _checked_base64(content: str) -> str:
    try:
        b64decode(content, validate=True)
    except Base64Error:
        raise ValueError(f"bytesValue {content[:20]!r} is not base64") from None
    return content


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"missing key {error}"
    # What Python says of a value of the wrong kind means nothing to a sender.
    return str(error) if isinstance(error, ValueError) else "it has not the shape of OTLP: a value is of another kind"
