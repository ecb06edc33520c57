"""The thin thread over HTTP, against a real server."""

from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.api.serving import calling, served


@pytest.fixture
def server(tmp_path: Path) -> Iterator[httpx.Client]:
    with served(tmp_path) as url, calling(url) as client:
        yield client


def test_traces_in_and_out(server: httpx.Client) -> None:
    trace = {"id": "t1", "input": "hi", "output": "hello", "scores": [{"name": "ok", "value": 1.0}]}
    assert server.post("/api/v1/traces", json=trace).json()["traces"] == 1
    assert server.post("/api/v1/traces", json=[trace]).json()["duplicates"] == 1
    other = server.post("/api/v1/traces", json={**trace, "output": "other"}).json()
    assert (other["rejected"], other["traces"]) == (1, 0)
    held = server.get("/api/v1/traces/t1").json()
    assert (held["output"], held["scores"][0]["name"]) == ("hello", "ok")
    assert [row["id"] for row in server.get("/api/v1/traces").json()["traces"]] == ["t1"]


def test_a_score_waits_for_its_trace(server: httpx.Client) -> None:
    score = {"trace_id": "late", "name": "rating", "value": 1.0, "source": "user"}
    assert server.post("/api/v1/scores", json=score).json()["pending"] == 1
    again = server.post("/api/v1/scores", json=score).json()
    assert (again["pending"], again["duplicates"]) == (0, 1), "what waits already is told, like all that comes twice"
    server.post("/api/v1/traces", json={"id": "late", "input": "x", "output": "y"})
    assert [s["name"] for s in server.get("/api/v1/traces/late").json()["scores"]] == ["rating"]


def test_a_bad_record_does_not_sink_its_list(server: httpx.Client) -> None:
    given = [{"id": "good", "input": "x"}, {"id": "bad", "input": 5}, {"id": "twice", "spans": [{"id": "s"}] * 2}]
    answer = server.post("/api/v1/traces", json=given)
    told = answer.json()
    assert (answer.status_code, told["traces"], told["rejected"]) == (201, 1, 2)
    assert told["problems"][0] == "[1]: input: must be a text, not a number"
    assert "span id 's' is there twice" in told["problems"][1]
    scores = [{"trace_id": "good", "name": "n", "value": 1}, {"trace_id": "good", "name": "n", "value": 7}]
    assert server.post("/api/v1/scores", json=scores).json()["scores"] == 1
    assert server.post("/api/v1/scores", json=scores[1:]).status_code == 400


def test_a_body_that_is_not_said_to_be_json_is_answered_with_what_to_say(server: httpx.Client) -> None:
    answer = server.post("/api/v1/traces", content=b'{"id": "t"}', headers={"content-type": "text/plain"})
    assert (answer.status_code, answer.json()["error"]) == (
        400,
        "the request cannot be used: a body here is JSON; its content type is text/plain, send application/json",
    )


def test_an_id_may_hold_slashes(server: httpx.Client) -> None:
    server.post("/api/v1/traces", json={"id": "a/b c", "input": "x", "output": "y"})
    assert server.get("/api/v1/traces/a%2Fb%20c").json()["id"] == "a/b c"
    assert server.get("/api/v1/traces/a%2Fb%20c/explain").json()[0]["trace_id"] == "a/b c"


def test_an_empty_reaction_takes_the_reaction_away(server: httpx.Client) -> None:
    server.post("/api/v1/traces", json={"id": "r", "input": "x", "output": "y"})
    for emoji in ("👎", ""):
        assert server.post("/api/v1/reactions", json={"trace_id": "r", "emoji": emoji}).json()["reactions"] == 1
    assert server.get("/api/v1/traces/r").json()["scores"] == []


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "said"),
    [
        ("GET", "/api/v1/cases/live/none", None, 404, "no case 'none'"),
        ("GET", "/api/v1/traces/none", None, 404, "no trace 'none'"),
        ("GET", "/api/v1/cases?limit=0", None, 400, "limit"),
        ("GET", "/api/v1/cases?colour=red", None, 400, "colour"),
        ("GET", "/api/v1/nothing", None, 404, "no route"),
        ("POST", "/api/v1/scores", {"trace_id": "t", "name": "n", "value": 3}, 400, "value"),
        ("GET", "/api/v1/traces?since=yesterday", None, 400, "time 'yesterday' cannot be read"),
        ("POST", "/api/v1/traces", {"id": ""}, 400, "cannot be used: id: is empty"),
        ("POST", "/api/v1/traces", {"id": "t", "inptu": "x"}, 400, "unknown field 'inptu'; did you mean 'input'?"),
        ("POST", "/api/v1/traces", {"id": "t", "scores": [{"nam": "x"}]}, 400, "scores.0: unknown field 'nam'"),
        (
            "POST",
            "/api/v1/traces",
            [{"trace_id": "t"}],
            400,
            "[0]: unknown field 'trace_id' (valid: app, contexts, cost, cost_source, ended_at, ",
        ),
        ("POST", "/api/v1/scores", {"trace_id": "t", "nam": "x"}, 400, "(valid: comment, created_at, id, key, name,"),
        ("POST", "/api/v1/scores", [{"trace_id": "t", "nam": "x"}], 400, "(valid: comment, created_at, id, key, name,"),
        ("POST", "/api/v1/reactions", {"trace_id": "t"}, 400, "cannot be used: emoji: is missing"),
        ("POST", "/api/v1/traces", "x", 400, "must be an object, not a text"),
        ("POST", "/api/v1/traces", [], 201, "'problems': []"),
        ("POST", "/api/v1/traces", None, 400, "cannot be used: body: is missing"),
        ("POST", "/api/v1/traces", {"id": "a\x00"}, 400, "NUL"),
        (
            "POST",
            "/api/v1/corrections",
            {"trace_id": "t", "text": "  "},
            400,
            "cannot be used: text: there is nothing in it",
        ),
        ("POST", "/api/v1/traces", {"id": "t", "started_at": "0001-01-01T00:00:00+01:00"}, 400, "years 1 to 9999"),
    ],
)
def test_errors_are_one_line_with_the_right_status(
    server: httpx.Client, method: str, path: str, body: object, status: int, said: str
) -> None:
    answer = server.request(method, path, json=body)
    assert answer.status_code == status
    assert said in str(answer.json())


@pytest.mark.parametrize(("number", "kept"), [(b"9007199254740993", 9007199254740993), (b"1" + b"0" * 30, 1e30)])
def test_numbers_of_any_size_are_kept_as_json_has_them(server: httpx.Client, number: bytes, kept: float) -> None:
    body = b'{"id": "big", "input": "x", "metadata": {"n": ' + number + b"}}"
    headers = {"content-type": "application/json"}
    assert server.post("/api/v1/traces", content=body, headers=headers).json()["traces"] == 1
    assert server.get("/api/v1/traces/big").json()["metadata"] == {"n": kept}


def test_nan_is_no_json(server: httpx.Client) -> None:
    body, headers = b'{"id": "t", "input": "x", "metadata": {"n": NaN}}', {"content-type": "application/json"}
    assert server.post("/api/v1/traces", content=body, headers=headers).status_code == 400


def test_the_first_request_finds_a_database_and_the_app(server: httpx.Client) -> None:
    assert server.get("/api/v1/health").json()["status"] == "ok"
    page = server.get("/cases/live/anything")
    assert page.status_code == 200
    assert "text/html" in page.headers["content-type"]
    assert server.get("/openapi.json").json()["info"]["title"] == "Evergold"


def test_a_token_guards_the_interface(tmp_path: Path) -> None:
    with (
        served(tmp_path, EVERGOLD_SERVER_TOKEN="s3cret", EVERGOLD_SERVER_MAX_BODY_MB="1") as url,
        calling(url) as client,
    ):
        assert client.get("/api/v1/cases").status_code == 401
        assert client.get("/api/v1/cases", headers={"Authorization": "Bearer wrong"}).status_code == 401
        assert client.get("/api/v1/cases", auth=("pk", "wrong")).status_code == 401
        assert client.get("/api/v1/cases", headers={"Authorization": "Basic ?"}).status_code == 401
        assert client.get("/api/v1/cases", auth=("pk", "s3cret")).status_code == 200, "as Langfuse's library sends it"
        client.headers["Authorization"] = "Bearer s3cret"
        assert client.get("/api/v1/cases").status_code == 200
        assert client.post("/api/v1/traces", content=b"x" * 2_000_000).status_code == 413
        chunks = (b"x" * 100_000 for _ in range(20))
        assert client.post("/api/v1/traces", content=chunks).status_code == 413
        foreign = client.post("/api/v1/scores", json={}, headers={"Origin": "https://elsewhere.example"})
        assert foreign.status_code == 403


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"value": NaN}', "the body is not JSON that can be read: unexpected character"),
        ("{", "the body is not JSON that can be read: unexpected end of data (character 1)"),
        (f'{{"id": "d", "input": "x", "metadata": {{"a": {nested(900)}}}}}', "nested more than 200 levels deep"),
        (f'{{"id": "d", "input": "x", "metadata": {{"a": {nested(120)}}}}}', "nested more than 100 levels deep"),
    ],
)
def test_a_body_that_cannot_be_read_is_one_clear_line(server: httpx.Client, body: str, said: str) -> None:
    answer = server.post("/api/v1/traces", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, said in answer.json()["error"]) == (400, True), answer.text


def test_a_record_that_is_nested_too_deep_does_not_sink_the_others(server: httpx.Client) -> None:
    body = f'[{{"id": "ok", "input": "x"}}, {{"id": "d", "input": "x", "metadata": {{"a": {nested(120)}}}}}]'
    told = server.post("/api/v1/traces", content=body, headers={"content-type": "application/json"}).json()
    assert (told["traces"], told["rejected"]) == (1, 1)
    assert told["problems"] == ["[1]: metadata: values are nested more than 100 levels deep"]
