"""What an error tells whoever sent the request: of the request, nothing of Python, its libraries or the machine."""

import getpass
import gzip
import logging
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import create_engine, make_url, text

from evergold.api.app import create_app
from evergold.settings import Settings

PROTOBUF, JSON = {"content-type": "application/x-protobuf"}, {"content-type": "application/json"}
PACKED = {**PROTOBUF, "content-encoding": "gzip"}
INTERNAL = re.compile(
    r"opentelemetry\.|Error -?\d|\bint\(\)|float\(\)|NoneType|\bobject (?:is|has)|'(?:str|dict|list|int)'|\bdict\b|Traceback"
    r"|File \"|sqlite|psycopg|sqlalchemy|surrogate|codec|literal|\(fd\)|/(?:usr|tmp|home|root|work|var)/",
    re.IGNORECASE,
)
SPAN = b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"%s","spanId":"%s",%%b}]}]}]}' % (b"a" * 32, b"b" * 16)
BODIES: dict[str, tuple[str, bytes, dict[str, str]]] = {
    "no protobuf": ("/v1/traces", b"\xff\xff\xff", PROTOBUF),
    "half a protobuf": ("/v1/logs", b"\x0a\x05abc", PROTOBUF),
    "no json": ("/v1/traces", b"{bad", JSON),
    "no utf-8": ("/v1/traces", b"\x80abc", JSON),
    "a list": ("/v1/traces", b"[]", JSON),
    "a number": ("/v1/traces", b'{"resourceSpans": 5}', JSON),
    "no gzip": ("/v1/traces", b"abc", PACKED),
    "half a gzip": ("/v1/traces", gzip.compress(b"abc" * 99)[:-9], PACKED),
    "no time": ("/v1/traces", SPAN % b'"startTimeUnixNano":"soon"', JSON),
    "a list as time": ("/v1/traces", SPAN % b'"startTimeUnixNano":[1]', JSON),
    "attributes of another kind": ("/v1/traces", SPAN % b'"attributes":[5]', JSON),
    "no number": ("/v1/traces", SPAN % b'"attributes":[{"key":"k","value":{"intValue":"x"}}]', JSON),
    "an object as number": ("/v1/traces", SPAN % b'"attributes":[{"key":"k","value":{"doubleValue":{}}}]', JSON),
    "a text as list": ("/v1/traces", SPAN % b'"attributes":[{"key":"k","value":{"arrayValue":"x"}}]', JSON),
    "events of another kind": ("/v1/traces", SPAN % b'"events":["x"]', JSON),
    "a status of another kind": ("/v1/traces", SPAN % b'"status":"x"', JSON),
    "no json for rest": ("/api/v1/traces", b"{bad", JSON),
    "no utf-8 for rest": ("/api/v1/traces", b"\xff\xfe", JSON),
    "too deep": ("/api/v1/traces", b"[" * 500 + b"]" * 500, JSON),
    "another kind": ("/api/v1/traces", b'{"id": 5}', JSON),
    "a batch of nothing": ("/api/public/ingestion", b'{"batch": [{"type": "trace-create", "body": 5}]}', JSON),
    "a number over 64 bits": ("/api/v1/scores", b'{"trace_id": "a", "name": "x", "value": 1' + b"0" * 400 + b"}", JSON),
}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    app = create_app(Settings(home=tmp_path / "home", eval_auto_curate=False))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_cannot_be_read_is_told_in_words_of_the_request(
    client: TestClient, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    path, body, headers = BODIES[name]
    answer = client.post(path, content=body, headers=headers)
    told = answer.text
    assert answer.status_code in (400, 200, 207) and len(told) > 20, told
    assert INTERNAL.search(told) is None, told
    if (ident := answer.json().get("id")) is not None:
        assert ident in caplog.text


def test_what_a_parser_said_stands_in_the_log_under_the_id_of_the_answer(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    answer = client.post("/v1/traces", content=b"\xff\xff\xff", headers=PROTOBUF).json()
    assert answer["error"] == "the body is not an OTLP protobuf message"
    line = next(line for line in caplog.messages if answer["id"] in line)
    assert "ExportTraceServiceRequest" in line


def _private(url: str) -> list[str]:
    return [
        word for word in (url, getpass.getuser(), socket.gethostname(), str(Path.home()), "psycopg") if len(word) > 3
    ]


def test_a_database_that_is_gone_is_told_without_its_place(
    tmp_path: Path, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    url = make_url(postgres_url.replace("postgresql://", "postgresql+psycopg://"))
    name = str(url.database)
    admin = create_engine(url.set(database="postgres"), isolation_level="AUTOCOMMIT")
    app = create_app(Settings(home=tmp_path / "home", database_url=postgres_url, eval_auto_curate=False))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        with admin.connect() as connection:
            connection.execute(text(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false'))
            connection.execute(text(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"))
        try:
            answers: list[Any] = [client.get("/api/v1/traces"), client.get("/api/v1/ready")]
            answers.append(client.post("/api/v1/traces", json={"id": "a", "input": "x", "output": "y"}))
        finally:
            with admin.connect() as connection:
                connection.execute(text(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true'))
            admin.dispose()
    for answer in answers:
        assert answer.status_code == 503 and answer.headers["retry-after"], answer.text
        assert not [word for word in (*_private(postgres_url), name) if word in answer.text], answer.text
        assert answer.json()["id"] in caplog.text
    assert name in caplog.text


def test_a_defect_is_told_by_its_id_alone(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    app: Any = client.app

    def fail() -> None:
        raise KeyError("/home/somebody/secret.py")

    app.get("/api/v1/broken")(fail)
    app.router.routes.insert(0, app.router.routes.pop())
    with caplog.at_level(logging.ERROR):
        answer = client.get("/api/v1/broken")
    told = answer.json()
    assert (answer.status_code, told["problems"]) == (500, [])
    assert told["error"] == f"the server failed at this request; its log has more under {told['id']}"
    assert "secret.py" in caplog.text and told["id"] in caplog.text


def test_folders_of_the_server_are_not_told(client: TestClient, tmp_path: Path) -> None:
    from evergold.errors import NotFound

    app: Any = client.app

    def fail() -> None:
        raise NotFound(f"no file {str(tmp_path / 'home' / 'builds' / 'x.json')!r}; freeze the dataset again")

    app.get("/api/v1/broken")(fail)
    app.router.routes.insert(0, app.router.routes.pop())
    assert client.get("/api/v1/broken").json()["error"] == "no file '…'; freeze the dataset again"


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "javascript:x=1",
        "JaVaScRiPt:alert`1`",
        "//evil.example/x=1",
        "/traces?a=1",
        "https://evil.example/?a=1",
        "data:text/html,x",
        "\\\\evil.example",
        "a=1&//evil.example",
        "a=1#//evil.example",
        "a=1\n&b=2",
        'a="><script>',
        "../../x",
    ],
)
def test_a_view_keeps_an_address_within_its_page_only(client: TestClient, address: str) -> None:
    refused = client.put("/api/v1/views", json={"page": "traces", "name": "mine", "address": address})
    assert (refused.status_code, refused.json()["problems"][0][:8]) == (400, "address:")
    for good in ("", "status=failed", "status=failed&tag=a%2Fb&search=javascript%3Aalert(1)", "a=x:y&b[]=1&c"):
        kept = client.put("/api/v1/views", json={"page": "traces", "name": "mine", "address": good})
        assert kept.status_code < 300 and kept.json()["address"] == good
