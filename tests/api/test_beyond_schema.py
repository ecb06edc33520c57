"""Every route with values that no description allows: each is answered, and never with a 500.

One request of eleven is sent, spread over routes, parameters and values; `EVERGOLD_EXHAUSTIVE=1` sends them all (several
minutes), as `python -m tests.faults fuzz` does with values of its own.
"""

import os
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from evergold.api.app import create_app
from evergold.settings import Settings
from tests.conftest import empty_database

pytestmark = pytest.mark.slow

# Without a divisor in common with the number of values, so that each of them is met on one route or another.
STEP = 1 if os.environ.get("EVERGOLD_EXHAUSTIVE") else 11
BIG = "9" * 23
VALUES = [
    "",
    "%00",
    "a%00b",
    "%FF%FE",
    "%ED%A0%80",
    "x" * 300,
    "x" * 5000,
    BIG,
    f"-{BIG}",
    "9" * 5000,
    "1e999",
    "NaN",
    "%2F..%2F..%2Fetc",
    "%E2%80%AE%F0%9F%92%A9",
    "'%22;--",
    "[::1",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999%2B23:59",
]
TEXTS: list[Any] = [
    "a\x00b",
    "x" * 5000,
    int(BIG),
    -int(BIG),
    2**63,
    1e308,
    None,
    [],
    {},
    [[]],
    True,
    "\U0001f4a9",
    "(" * 5000,
]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    home: Path = tmp_path_factory.mktemp("beyond")
    server = request.getfixturevalue("postgres_server") if request.param == "postgresql" else ""
    with (
        empty_database(server) if server else nullcontext("") as url,
        TestClient(
            create_app(Settings(home=home, database_url=url)),
            base_url="http://localhost",
            raise_server_exceptions=False,
        ) as made,
    ):
        made.post("/api/v1/traces", json={"id": "t", "input": "x", "output": "y"})
        yield made


def operations(client: TestClient) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        for method, described in methods.items():
            if not path.endswith("/events"):
                yield method.upper(), path, described


def failures(client: TestClient, requests: Iterator[tuple[str, str, Any]]) -> list[str]:
    found = []
    for method, url, body in islice(requests, 0, None, STEP):
        answer = client.request(method, url, json=body) if body is not None else client.request(method, url)
        if answer.status_code >= 500:
            found.append(f"{method} {url[:120]} {str(body)[:80]} -> {answer.status_code} {answer.text[:80]}")
    return found


def filled(path: str, value: str) -> str:
    parts = path.split("{")
    return parts[0] + "".join(value + part.partition("}")[2] for part in parts[1:])


def test_parts_of_paths(client: TestClient) -> None:
    assert not failures(
        client,
        (
            (method, filled(path, value), {} if method in ("POST", "PUT", "PATCH") else None)
            for method, path, _ in operations(client)
            if "{" in path
            for value in VALUES
        ),
    )


def test_values_of_queries(client: TestClient) -> None:
    def requests() -> Iterator[tuple[str, str, Any]]:
        for method, path, described in operations(client):
            names = [p["name"] for p in described.get("parameters", ()) if p["in"] == "query"]
            required = [p["name"] for p in described.get("parameters", ()) if p["in"] == "query" and p["required"]]
            for name in names:
                for value in VALUES:
                    rest = "".join(f"&{other}=x" for other in required if other != name)
                    body: Any = {} if method in ("POST", "PUT", "PATCH") else None
                    yield method, f"{filled(path, 't')}?{quote(name)}={value}{rest}", body

    assert not failures(client, requests())


def test_fields_of_bodies(client: TestClient) -> None:
    document = client.get("/openapi.json").json()

    def properties(schema: Any) -> dict[str, Any]:
        schema = schema or {}
        if "$ref" in schema:
            return properties(document["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
        for form in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
            if properties(form):
                return properties(form)
        return dict(schema.get("properties", {}))

    def requests() -> Iterator[tuple[str, str, Any]]:
        for method, path, described in operations(client):
            content = described.get("requestBody", {}).get("content", {}).get("application/json", {})
            fields = properties(content.get("schema"))
            for name in fields:
                for value in TEXTS:
                    yield method, filled(path, "t"), {**dict.fromkeys(fields, "x"), name: value}
                    yield method, filled(path, "t"), {name: value, "id": "t", "input": "q"}

    assert not failures(client, requests())


@pytest.mark.parametrize(
    "path",
    ["/" + "x" * 300, "/" + "x" * 8000, "/%00", "/a%00.js", "/%FF", "/assets/" + "x" * 300, "/assets/%00", "/..%2F.."],
)
def test_pages(client: TestClient, path: str) -> None:
    assert client.get(path).status_code < 500


@pytest.mark.parametrize("pattern", ["(" * 5000, "(?P<", "\x00", "[" * 500, "a{1,999999999}"])
def test_patterns_of_metrics(client: TestClient, pattern: str) -> None:
    spec = {
        "dataset": "live",
        "model": "recorded",
        "metrics": [f'regex:{{"pattern": "{pattern}"}}', "regex:pattern=" + pattern],
    }
    assert client.post("/api/v1/benchmarks/runs", json=spec).status_code < 500
