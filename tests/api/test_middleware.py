"""Layers of the server by themselves: tokens, hosts, lengths, paths, error bodies and the parts that are counted."""

import asyncio
import base64
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from evergold.api.access import configured_tokens, given_token, needed_role
from evergold.api.app import create_app
from evergold.api.middleware import (
    HIDDEN,
    Guard,
    InFlight,
    Instruments,
    Refusals,
    SlashesInNames,
    known_host,
    part_of,
)
from evergold.api.requests import list_records, restore_slashes
from evergold.errors import BadInput
from evergold.model.access import Role
from evergold.model.faults import Rejected
from evergold.model.trace import Score
from evergold.settings import Settings
from tests.rows import each_row


class Behind:
    """An application that keeps the scope it was given and answers 200."""

    def __init__(self) -> None:
        self.scope: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scope = scope
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def answered(layer: Any, path: str = "/api/v1/x", method: str = "GET", **more: Any) -> tuple[int, bytes]:
    """The status and the body of an answer to one request without a body."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(name.encode(), value.encode("latin-1")) for name, value in more.pop("headers", {}).items()]
    scope = {"type": "http", "method": method, "path": path, "headers": headers, "query_string": b"", **more}
    asyncio.run(layer(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@each_row(
    ("header", "token"),
    [
        ("Bearer abc", b"abc"),
        ("bearer   abc ", b"abc"),
        (basic("user:abc"), b"abc"),
        (basic("user:a:b"), b"a:b"),
        (basic("user"), b""),
        ("Basic not base64!", b""),
        ("Digest abc", b""),
        ("", b""),
    ],
)
def test_the_token_of_a_header(header: str, token: bytes) -> None:
    assert given_token(header) == token


@given(st.text(max_size=40))
def test_no_header_is_an_exception(header: str) -> None:
    assert isinstance(given_token(header), bytes)


def test_tokens_of_the_settings_are_the_owners_and_the_reviewers() -> None:
    settings = Settings(server_token=" abc ", review_reviewers=("ana:one", " bo :two"))
    assert [(token, holder.name, holder.role) for token, holder in configured_tokens(settings)] == [
        (b"abc", "owner", Role.OWNER),
        (b"one", "ana", Role.REVIEWER),
        (b"two", "bo", Role.REVIEWER),
    ]
    assert configured_tokens(Settings()) == []


@each_row(
    ("settings", "reason"),
    [
        ({"server_token": "  "}, "the token is blank"),
        ({"server_token": "a b"}, "no header carries"),
        ({"server_token": "é"}, "no header carries"),
        ({"review_reviewers": ("ana:",)}, "the token is blank"),
        ({"review_reviewers": (":one",)}, "an entry has no name"),
    ],
)
def test_a_token_that_protects_nothing_is_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        configured_tokens(Settings(**settings))


@each_row(
    ("header", "known"),
    [
        ("localhost", True),
        ("LOCALHOST:8321", True),
        ("127.0.0.1", True),
        ("127.9.9.9:1", True),
        ("[::1]:8321", True),
        ("eval.example.org", True),
        ("eval.example.org.", True),
        ("other.example.org", False),
        ("evil.example@localhost", False),
        ("localhost, evil.example", False),
        ("", False),
        ("[::1", False),
        ("localhost:port", False),
    ],
)
def test_a_host_is_known_by_its_name_whatever_its_port(header: str, known: bool) -> None:
    check = known_host(Settings(server_hosts=("eval.example.org:443",)))
    assert check(header.encode("latin-1")) is known


@each_row("entry", ["*.example.org", "a b", "http://x", "x/y", ""])
def test_an_entry_that_is_no_host_is_refused(entry: str) -> None:
    with pytest.raises(BadInput, match="is not a host name"):
        known_host(Settings(server_hosts=(entry,)))


LOCAL = {"host": "localhost:8321"}


@each_row(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/api/v1/x", LOCAL, 200),
        ("GET", "/api/v1/x", {}, 403),
        ("GET", "/api/v1/x", {"host": "evil.example"}, 403),
        ("GET", "/api/v1/health", {"host": "10.0.0.3"}, 200),
        ("GET", "/api/v1/ready", {"host": "10.0.0.3:8321"}, 200),
        ("POST", "/api/v1/x", {**LOCAL, "sec-fetch-site": "same-origin"}, 200),
        ("POST", "/api/v1/x", {**LOCAL, "sec-fetch-site": "cross-site"}, 403),
        ("GET", "/api/v1/x", {**LOCAL, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 200),
        ("POST", "/api/v1/x", {**LOCAL, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 403),
        ("POST", "/api/v1/x", {**LOCAL, "origin": "http://localhost:8321"}, 200),
        ("POST", "/api/v1/x", {**LOCAL, "origin": "https://evil.example"}, 403),
        ("POST", "/api/v1/x", {**LOCAL, "origin": "null"}, 403),
        ("POST", "/api/v1/x", {**LOCAL, "origin": "http://[broken"}, 403),
        ("POST", "/page", {**LOCAL, "origin": "https://evil.example"}, 200),
    ],
)
def test_requests_of_other_sites_are_refused(method: str, path: str, headers: dict[str, str], status: int) -> None:
    layer = Refusals(Behind(), known_host(Settings()))
    assert answered(layer, path, method, headers=headers)[0] == status


class NoTokens:
    stale = required = False


@each_row(
    ("length", "status"), [("0", 200), ("1048576", 200), ("1048577", 413), ("9" * 5000, 413), ("²", 200), ("-1", 200)]
)
def test_a_length_beyond_the_limit_is_refused_however_it_is_written(length: str, status: int) -> None:
    class State:
        workspace = type("W", (), {"access": NoTokens()})()

    app = type("App", (), {"state": State()})()
    settings = Settings(server_max_body_mb=1)
    layer = Guard(Behind(), settings, [])
    assert answered(layer, method="POST", headers={"content-length": length}, app=app)[0] == status
    held = answered(InFlight(Behind(), settings), method="POST", headers={"content-length": length})[0]
    assert held == (503 if length == "9" * 5000 else 200)


def test_a_slash_inside_a_name_is_hidden_from_routing_and_put_back() -> None:
    behind = Behind()
    answered(SlashesInNames(behind), "/api/v1/cases/team/faq/x", raw_path=b"/api/v1/cases/team%2ffaq/x")
    assert behind.scope["path"] == f"/api/v1/cases/team{HIDDEN}faq/x"
    assert restore_slashes(f"team{HIDDEN}faq") == "team/faq" and restore_slashes(5) == 5
    answered(SlashesInNames(behind), "/page/a/b", raw_path=b"/page/a%2Fb")
    assert behind.scope["path"] == "/page/a/b"


@each_row(("path", "query", "status"), [("/a\0b", b"", 400), ("/a", b"x=%00", 400), ("/a", b"x=1", 200)])
def test_a_nul_in_an_address_is_refused(path: str, query: bytes, status: int) -> None:
    assert answered(Refusals(Behind(), known_host(Settings())), path, headers=LOCAL, query_string=query)[0] == status


@each_row(
    ("path", "part"),
    [("/v1/traces", "otlp"), ("/api/public/otel/v1/traces", "langfuse"), ("/api/v1/x", "rest"), ("/review", "pages")],
)
def test_paths_are_counted_by_a_few_parts(path: str, part: str) -> None:
    assert part_of(path) == part


def test_records_without_a_number_leave_no_series() -> None:
    instruments = Instruments()
    instruments.count_records(stored=3, refused=0)
    names = {sample.labels.get("outcome") for metric in instruments.registry.collect() for sample in metric.samples}
    assert "stored" in names and "refused" not in names


@each_row(
    ("method", "path", "role"),
    [
        ("GET", "/api/v1/cases", Role.READER),
        ("POST", "/api/v1/traces", Role.INGEST),
        ("POST", "/api/v1/decisions", Role.REVIEWER),
        ("GET", "/api/v1/tokens", Role.OWNER),
        ("POST", "/api/v1/nobody-listed-this", Role.OWNER),
    ],
)
def test_a_route_that_nobody_listed_asks_for_the_owner(method: str, path: str, role: Role) -> None:
    assert needed_role(method, path) is role


def test_bad_records_of_a_list_are_named_by_their_position() -> None:
    good, bad = Score(name="x", value=1.0), Rejected(where="", reason="wrong")
    kept = list_records([good, bad])  # type: ignore[list-item]
    assert kept[0] is good and isinstance(kept[1], Rejected) and kept[1].where == "[1]"
    with pytest.raises(BadInput, match="no record of the list can be used"):
        list_records([bad, bad])
    assert list_records([]) == []


def test_answers_of_the_interface_are_kept_by_nobody_and_no_type_is_guessed(settings: Settings) -> None:
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        for path in ("/api/v1/me", "/api/v1/cases/export", "/api/v1/nothing", "/metrics"):
            answer = client.get(path)
            assert answer.headers["cache-control"] == "no-store", path
            assert answer.headers["x-content-type-options"] == "nosniff", path
        # Pages and the documentation of the interface have headers of their own, once.
        for path in ("/", "/api/docs"):
            assert client.get(path).headers.get_list("cache-control") == ["no-cache"]
