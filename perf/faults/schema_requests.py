"""Requests to the REST interface: what its own description allows, and the same with something that it does not allow."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from perf.faults.twisting import TEXTS, twisted

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
                value = twisted(value, source)
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
