"""Requests of the fuzz campaign: OTLP, exports of real packages, and REST by its own description, with values changed."""

import gzip
import json
import random
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from tests.conversation.recorded_exchanges import exchanges
from tests.faults.server import JSON

TEXTS: tuple[str, ...] = (
    *(
        "",
        "\x00",
        "a\x00b",
        "\ud800",
        "9" * 30,
        "-1",
        "1e999",
        "NaN",
        "null",
        "'\";--",
        "../../etc/passwd",
        "%2F%00",
        "[::1",
    ),
    *(
        "x" * 300,
        "x" * 5000,
        "é" * 300,
        "\u202e\U0001f4a9",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59+23:59",
        "(" * 2000,
    ),
    *(
        "a@" * 50,
        "(a+)+$",
        "{{}}",
        "{}",
        "[]",
        "*",
        "%",
        "_",
        "\\",
        "\r\nX: y",
        " ",
        "0x10",
        "١٢٣",
        "v999999999999999999999",
    ),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 10**30, -(10**30), 2**63, 2**64, 1e308, -1e308, 1e-320, [], {}, [[]], {"": ""}, *TEXTS),
    *({"stringValue": 5}, {"intValue": "x"}, {"doubleValue": "NaN"}, {"kvlistValue": {"values": [{}]}}, [None] * 50),
    {"a": {"b": {"c": {"d": {"e": {"f": [[[[[[]]]]]]}}}}}},
)

FRAGMENTS: tuple[str, ...] = (*"{}[]()<>'\"\\=,:\n", "{{1}}", "{[]: 1}", "None", "1e999", "\u202e")


def twist(value: Any, source: random.Random) -> Any:
    """A copy with one value somewhere in it replaced, dropped, doubled or renamed."""
    if isinstance(value, dict) and value and source.random() < 0.9:
        key = source.choice(list(value))
        chance = source.random()
        if chance < 0.15:
            return {name: inner for name, inner in value.items() if name != key}
        if chance < 0.2:
            return {**value, source.choice(TEXTS): value[key]}
        return {**value, key: twist(value[key], source)}
    if isinstance(value, list) and value and source.random() < 0.9:
        at = source.randrange(len(value))
        if source.random() < 0.1:
            return [*value, value[at]]
        return [*value[:at], twist(value[at], source), *value[at + 1 :]]
    if isinstance(value, str) and source.random() < 0.7:
        return _twist_text(value, source)
    return source.choice(VALUES)


def _twist_text(text: str, source: random.Random) -> str:
    """A text with something else in one place of it; JSON in a text is twisted as what it stands for."""
    if text[:1] in ("{", "[") and source.random() < 0.8:
        with suppress(ValueError, RecursionError):
            return json.dumps(twist(json.loads(text), source))
    at = source.randrange(len(text) + 1)
    return text[:at] + source.choice(FRAGMENTS) + text[at + source.randrange(4) :]


PROTOBUF = {"content-type": "application/x-protobuf"}
NAMES = (
    *("input.value", "output.value", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.usage.input_tokens"),
    *("gen_ai.request.model", "session.id", "user.id", "llm.input_messages.0.message.content", "gen_ai.tool.name"),
    *(
        "retrieval.documents.0.document.content",
        "langfuse.observation.type",
        "gen_ai.evaluation.score.value",
        "",
        "tag.tags",
    ),
)
NUMBERS = (0, 1, -1, 2**31, 2**63 - 1, -(2**63))
FLOATS = (0.0, 0.5, float("nan"), float("inf"), -float("inf"), 1e308, 5e-324)


@dataclass(frozen=True)
class OtlpRequest:
    path: str
    body: bytes
    headers: dict[str, str]


def draw_otlp(source: random.Random) -> OtlpRequest:
    path = source.choice(("/v1/traces", "/v1/traces", "/v1/logs", "/v1/metrics"))
    if source.random() < 0.5:
        body, headers = _json(source, path), dict(JSON)
    else:
        body, headers = _protobuf(source, path), dict(PROTOBUF)
    chance = source.random()
    if chance < 0.08:
        body = body[: source.randrange(len(body) + 1)]
    elif chance < 0.2:
        body = _other_bytes(body, source)
    if source.random() < 0.1:
        body, headers["content-encoding"] = gzip.compress(body, 1) * source.randint(1, 3), "gzip"
    if source.random() < 0.03:
        headers = {"content-type": source.choice(("text/plain", "application/json", "application/x-protobuf", "", "é"))}
    return OtlpRequest(path, body, headers)


def _json(source: random.Random, path: str) -> bytes:
    document: Any = _document(source, path)
    for _ in range(source.randint(0, 4)):
        document = twist(document, source)
    return json.dumps(document).encode()


def _document(source: random.Random, path: str) -> dict[str, Any]:
    ids = {"traceId": f"{source.getrandbits(128):032x}", "spanId": f"{source.getrandbits(64):016x}"}
    attributes = [{"key": name, "value": {"stringValue": source.choice(TEXTS)}} for name in source.sample(NAMES, 4)]
    moment = "1767225600000000000"
    if path == "/v1/traces":
        span = {**ids, "name": "ask", "attributes": attributes, "startTimeUnixNano": moment, "endTimeUnixNano": moment}
        return {"resourceSpans": [{"resource": {"attributes": attributes}, "scopeSpans": [{"spans": [span] * 2}]}]}
    if path == "/v1/logs":
        record = {**ids, "timeUnixNano": moment, "attributes": attributes, "body": {"stringValue": "hello"}}
        return {
            "resourceLogs": [{"scopeLogs": [{"logRecords": [{**record, "eventName": "gen_ai.evaluation.result"}]}]}]
        }
    return {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "m"}]}]}]}


def _protobuf(source: random.Random, path: str) -> bytes:
    request: Any = ExportTraceServiceRequest() if path == "/v1/traces" else ExportLogsServiceRequest()
    if path == "/v1/traces":
        spans = request.resource_spans.add().scope_spans.add().spans
        for _ in range(source.randint(1, 3)):
            span = spans.add()
            span.trace_id = source.randbytes(source.choice((16, 16, 16, 0, 8, 17)))
            span.span_id = source.randbytes(source.choice((8, 8, 8, 0, 9)))
            span.parent_span_id = source.choice((b"", span.span_id, source.randbytes(8)))
            span.name = source.choice(("ask", "", "x" * 5000))
            span.start_time_unix_nano = source.choice((0, 1_767_225_600_000_000_000, 2**64 - 1))
            span.end_time_unix_nano = source.choice((0, 1_767_225_601_000_000_000, 2**64 - 1))
            span.kind = source.choice((0, 1, 3))
            span.attributes.extend(_attributes(source))
            span.events.add(name="gen_ai.choice").attributes.extend(_attributes(source))
            span.status.code = source.choice((0, 1, 2))
    else:
        record = request.resource_logs.add().scope_logs.add().log_records.add()
        record.trace_id, record.span_id = source.randbytes(16), source.randbytes(8)
        record.event_name = source.choice(("gen_ai.evaluation.result", "gen_ai.user.message", ""))
        record.attributes.extend(_attributes(source))
        record.body.CopyFrom(_any(source, 4))
    packed: bytes = request.SerializeToString()
    return packed


def _attributes(source: random.Random) -> list[KeyValue]:
    return [KeyValue(key=name, value=_any(source, 4)) for name in source.sample(NAMES, source.randint(0, 5))]


def _any(source: random.Random, depth: int) -> AnyValue:
    kind = source.randrange(7 if depth else 5)
    if kind == 0:
        return AnyValue(string_value=source.choice(TEXTS).encode("utf-8", "replace").decode())
    if kind == 1:
        return AnyValue(int_value=source.choice(NUMBERS))
    if kind == 2:
        return AnyValue(double_value=source.choice(FLOATS))
    if kind == 3:
        return AnyValue(bytes_value=source.randbytes(20))
    if kind == 4:
        return AnyValue()
    value = AnyValue()
    for _ in range(source.randint(0, 3)):
        if kind == 5:
            value.array_value.values.add().CopyFrom(_any(source, depth - 1))
        else:
            value.kvlist_value.values.add(key=source.choice(NAMES)).value.CopyFrom(_any(source, depth - 1))
    return value


def _other_bytes(body: bytes, source: random.Random) -> bytes:
    """Some bytes replaced, or numbers in the places of lengths and tags."""
    raw = bytearray(body or b"\x00")
    for _ in range(source.randint(1, 5)):
        at = source.randrange(len(raw))
        with_what = source.choice((source.randbytes(1), b"\xff\xff\xff\xff\x0f", struct.pack("<q", -1), b"\x80" * 12))
        raw[at : at + len(with_what)] = with_what
    return bytes(raw)


def draw_recorded(source: random.Random) -> tuple[OtlpRequest, str]:
    """A request and the id of its trace, whose conversation is then to be asked for."""
    trace_id = f"{source.getrandbits(128):032x}"
    document = json.loads(source.choice(_recorded()))
    for by_resource in document["resourceSpans"]:
        for by_scope in by_resource["scopeSpans"]:
            by_scope["spans"] = [_span(span, trace_id, source) for span in by_scope["spans"]]
    return OtlpRequest("/v1/traces", json.dumps(document).encode(), dict(JSON)), trace_id


def _span(span: dict[str, Any], trace_id: str, source: random.Random) -> dict[str, Any]:
    """The span under another trace; its ids and times stay good, so that what it holds is read."""
    held = {name: span[name] for name in ("attributes", "events") if span.get(name)}
    for _ in range(source.randint(0, 3)):
        name = source.choice(list(held) or ["attributes"])
        held[name] = twist(held.get(name, []), source)
    return {**span, **held, "traceId": trace_id}


@cache
def _recorded() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in exchanges()]


LEFT_OUT = ("/events",)  # answers that go on for as long as somebody listens
RARE = ("/benchmarks/runs", "/curation/", "/generate", "/calibrat")  # each of them begins work in the background
DEPTH = 5


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    parameters: list[dict[str, Any]]
    body: dict[str, Any] | None


@dataclass(frozen=True)
class RestRequest:
    method: str
    path: str
    body: bytes | None


class SchemaRequests:
    """Draws requests from an OpenAPI document. `known`: names of things that exist, so that routes get past their lookup."""

    def __init__(self, document: dict[str, Any], known: list[str]) -> None:
        self._document = document
        self._known = known
        self._operations = [
            _operation(method, path, described)
            for path, methods in document["paths"].items()
            for method, described in methods.items()
            if not path.endswith(LEFT_OUT)
        ]
        self._weights = [0.05 if _is_rare(one) else 1.0 for one in self._operations]

    def __len__(self) -> int:
        return len(self._operations)

    def draw(self, source: random.Random) -> RestRequest:
        (operation,) = source.choices(self._operations, self._weights)
        path, query = operation.path, []
        for parameter in operation.parameters:
            value = self._parameter(parameter, source)
            if parameter["in"] == "path":
                path = path.replace("{" + parameter["name"] + "}", quote(value, safe="", errors="surrogatepass"))
            elif parameter["in"] == "query" and (parameter.get("required") or source.random() < 0.4):
                query.append(f"{parameter['name']}={quote(value, safe='', errors='surrogatepass')}")
        body = self._body(operation, source)
        return RestRequest(operation.method, path + ("?" + "&".join(query) if query else ""), body)

    def _parameter(self, parameter: Mapping[str, Any], source: random.Random) -> str:
        chance = source.random()
        if chance < 0.25:
            return str(source.choice(TEXTS))
        if parameter["in"] == "path" and chance < 0.8:
            return source.choice(self._known)
        value = self._value(parameter.get("schema", {}), source, DEPTH)
        return value if isinstance(value, str) else json.dumps(value)

    def _body(self, operation: Operation, source: random.Random) -> bytes | None:
        if operation.body is None:
            return None
        value = self._value(operation.body, source, DEPTH)
        if source.random() < 0.6:
            for _ in range(source.randint(1, 3)):
                value = twist(value, source)
        raw = json.dumps(value).encode("utf-8", "surrogatepass")
        return raw[: source.randrange(len(raw) + 1)] if source.random() < 0.05 else raw

    def _value(self, schema: Mapping[str, Any], source: random.Random, depth: int) -> Any:
        """A value that the schema allows, as far as types, choices and required fields go."""
        while "$ref" in schema:
            schema = self._document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return source.choice(schema["enum"])
        for several in ("anyOf", "oneOf"):
            if several in schema:
                return self._value(source.choice(schema[several]), source, depth)
        if "allOf" in schema:
            return self._value(schema["allOf"][0], source, depth)
        return self._of_type(schema, source, depth)

    def _of_type(self, schema: Mapping[str, Any], source: random.Random, depth: int) -> Any:
        kind = schema.get("type")
        if kind == "object" or "properties" in schema:
            required = schema.get("required", ())
            properties = schema.get("properties", {}) if depth else {}
            return {
                name: self._value(inner, source, depth - 1)
                for name, inner in properties.items()
                if name in required or source.random() < 0.5
            }
        if kind == "array":
            count = source.randint(0, 3) if depth else 0
            return [self._value(schema.get("items", {}), source, depth - 1) for _ in range(count)]
        if kind == "integer":
            return source.choice((0, 1, 5, 100, int(schema.get("minimum", 0)), int(schema.get("maximum", 50))))
        if kind == "number":
            return source.choice((0, 0.5, 1, 1.5, schema.get("maximum", 0.25)))
        if kind == "boolean":
            return source.random() < 0.5
        return None if kind == "null" else self._text(schema, source)

    def _text(self, schema: Mapping[str, Any], source: random.Random) -> str:
        if schema.get("format") == "date-time":
            return "2026-01-02T03:04:05Z"
        return source.choice((*self._known, "text", "", "a b c", "exact_match", "recorded", "2026-01-01"))


def _operation(method: str, path: str, described: Mapping[str, Any]) -> Operation:
    contents = described.get("requestBody", {}).get("content", {})
    schema = next((content.get("schema", {}) for kind, content in contents.items() if "json" in kind), None)
    return Operation(method.upper(), path, list(described.get("parameters", ())), schema)


def _is_rare(operation: Operation) -> bool:
    return operation.method != "GET" and any(part in operation.path for part in RARE)
