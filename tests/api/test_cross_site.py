"""Requests that a page of another site makes through the user's browser, and tokens that protect nothing."""

from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from evergold.api.access import configured_tokens, given_token
from evergold.api.app import create_app
from evergold.api.middleware import known_host
from evergold.errors import BadInput
from evergold.model.access import Holder, Role
from evergold.settings import Settings, load_settings
from tests.api.serving import calling, served
from tests.rows import each_row

TRACE = {"id": "t", "input": "x"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(tmp_path_factory.mktemp("server")) as url, calling(url) as client:
        yield client


@each_row(
    "host",
    [
        "localhost",
        "LocalHost:8321",
        "localhost.",
        "127.0.0.1",
        "127.0.0.9:1",
        "[::1]",
        "[::1]:8321",
        "eval.example.org",
    ],
)
def test_names_that_mean_this_server(host: str) -> None:
    assert known_host(Settings(server_hosts=("Eval.Example.org:443",)))(host.encode())


@each_row(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "evil.example@127.0.0.1",
        "localhost, evil.example",
        "[::1",
        "::1",
        "[::1]x",
        "127.0.0.1:x",
        "0.0.0.0",
        "10.0.0.1",
        "",
        ":8321",
        ".",
    ],
)
def test_names_that_do_not(host: str) -> None:
    assert not known_host(Settings())(host.encode())


@given(st.binary(max_size=60))
def test_any_bytes_as_a_host_are_decided(header: bytes) -> None:
    assert known_host(Settings(server_host="0.0.0.0"))(header) in (True, False)


def test_the_address_the_server_listens_on_is_one_of_its_names() -> None:
    assert known_host(Settings(server_host="192.168.1.7"))(b"192.168.1.7:8321")
    assert not known_host(Settings(server_host="0.0.0.0"))(b"0.0.0.0")


@each_row("entry", ["*", "*.example.org", "http://example.org", "a b", "[::1"])
def test_an_entry_of_the_setting_that_is_no_name_stops_the_start(entry: str) -> None:
    with pytest.raises(BadInput, match="is not a host name"):
        create_app(Settings(server_hosts=(entry,)))


@each_row("path", ["/", "/cases", "/openapi.json", "/api/docs", "/api/v1/cases", "/v1/traces", "/nothing"])
def test_every_address_is_closed_to_a_rebound_name(server: httpx.Client, path: str) -> None:
    answer = server.get(path, headers={"Host": "evil.example:8321"})
    assert answer.status_code == 403
    assert "server.hosts" in answer.json()["error"]


def test_health_answers_whatever_the_server_is_called(server: httpx.Client) -> None:
    assert server.get("/api/v1/health", headers={"Host": "10.1.2.3:8321"}).status_code == 200


def test_the_names_hold_with_a_token_too(tmp_path: Path) -> None:
    with (
        served(tmp_path, EVERGOLD_SERVER_TOKEN="s3cret", EVERGOLD_SERVER_HOSTS="eval.example.org") as url,
        calling(url, headers={"Authorization": "bearer  s3cret"}) as client,
    ):
        assert client.get("/api/v1/cases", headers={"Host": "evil.example"}).status_code == 403
        assert client.get("/api/v1/cases", headers={"Host": "eval.example.org"}).status_code == 200
        assert client.get("/api/v1/cases", headers={"Authorization": "BEARER s3cret"}).status_code == 200
        assert client.get("/api/v1/cases", headers={"Authorization": "s3cret"}).status_code == 401


@each_row(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://[::1"}, 403),
        ({"Origin": "http://[::1]x:y"}, 403),
        ({"Origin": "\xff\xfe"}, 403),
        ({"Origin": "file://"}, 403),
        ({"Origin": ""}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost:5173"}, 201),
        ({"Sec-Fetch-Site": "none"}, 201),
        ({}, 201),
    ],
)
def test_what_a_page_of_another_site_may_not_change(server: httpx.Client, headers: dict[str, str], status: int) -> None:
    sent = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    assert server.post("/api/v1/traces", json=TRACE, headers=sent).status_code == status


def test_the_page_of_this_server_may(server: httpx.Client) -> None:
    origin = str(server.base_url).rstrip("/")
    assert server.post("/api/v1/traces", json=TRACE, headers={"Origin": origin}).status_code == 201


def test_a_page_of_another_site_reads_nothing_but_a_link_from_it_opens(server: httpx.Client) -> None:
    cross = {"Sec-Fetch-Site": "cross-site"}
    assert server.get("/api/v1/cases", headers={**cross, "Sec-Fetch-Mode": "no-cors"}).status_code == 403
    assert server.get("/api/v1/cases", headers={**cross, "Sec-Fetch-Mode": "navigate"}).status_code == 200
    assert server.get("/cases", headers={**cross, "Sec-Fetch-Mode": "navigate"}).status_code == 200


def test_two_host_headers_are_refused(tmp_path: Path) -> None:
    with TestClient(create_app(Settings(home=tmp_path / "home")), base_url="http://localhost") as client:
        twice = [("host", "localhost"), ("host", "evil.example")]
        assert client.get("/api/v1/cases", headers=twice).status_code in (400, 403)


@each_row("token", ["", " ", "\t", " \n", "two words", "pässword", "a\x00b"])
def test_a_token_that_protects_nothing_stops_the_start(token: str) -> None:
    chosen = load_settings(environ={"EVERGOLD_SERVER_TOKEN": token}, folder=Path("/nonexistent"))
    with pytest.raises(BadInput, match="EVERGOLD_SERVER_TOKEN"):
        create_app(chosen)


@each_row("entry", ["ana", "ana:", "ana: ", ":token", " :token"])
def test_a_reviewer_without_a_token_stops_the_start(entry: str) -> None:
    with pytest.raises(BadInput, match=r"review\.reviewers"):
        create_app(Settings(review_reviewers=("bo:token-b", entry)))


def test_blanks_around_a_token_are_not_part_of_it() -> None:
    assert configured_tokens(Settings(server_token=" s3cret\n")) == [(b"s3cret", Holder(name="owner", role=Role.OWNER))]


@given(st.text(st.characters(max_codepoint=255), max_size=40))
def test_any_header_gives_a_token_or_none(header: str) -> None:
    assert isinstance(given_token(header), bytes)
