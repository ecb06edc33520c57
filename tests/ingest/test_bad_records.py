"""One bad record never sinks its batch: the others are stored and the bad one is named, whichever way they came."""

import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from fastapi.testclient import TestClient

from evergold.api.app import create_app
from evergold.model.limits import MOST_KEYS
from evergold.settings import Settings
from tests.otlp import a_request, a_span

JSON = {"content-type": "application/json"}
HUGE = "9" * 25


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(settings), base_url="http://127.0.0.1") as opened:
        yield opened


def span(number: int, **fields: Any) -> dict[str, Any]:
    times = {"startTimeUnixNano": "1767225600000000000", "endTimeUnixNano": "1767225601000000000"}
    return {"traceId": f"{number:032x}", "spanId": f"{number:016x}", "name": f"span {number}", **times, **fields}


def attribute(key: str, **value: Any) -> dict[str, Any]:
    return {"key": key, "value": value}


BAD = {
    "a count over 64 bits": {"attributes": [attribute("gen_ai.usage.input_tokens", intValue=HUGE)]},
    "a count as a huge float": {"attributes": [attribute("gen_ai.usage.input_tokens", doubleValue=1e30)]},
    "counts that cannot be added": {"attributes": [attribute("gen_ai.usage.output_tokens", intValue=str(2**62))]},
    "a huge cost": {"attributes": [attribute("gen_ai.usage.cost", doubleValue=1e300)]},
    "an attribute without a key": {"attributes": [{"value": {"stringValue": "x"}}]},
    "a double that is none": {"attributes": [attribute("a", doubleValue="abc")]},
    "a text that is none": {"attributes": [attribute("a", stringValue={"b": [1]})]},
    "attributes that are no list": {"attributes": {"a": "b"}},
    "a time after the last": {"startTimeUnixNano": HUGE},
    "a time before the first": {"startTimeUnixNano": "-" + HUGE},
    "events that are none": {"events": [1]},
    "a status that is none": {"status": [2]},
    "too many attributes": {"attributes": [attribute(f"k{n}", intValue=1) for n in range(MOST_KEYS + 1)]},
    "too deep": {"attributes": [attribute("a", **json.loads('{"arrayValue":{"values":[' * 120 + "{}" + "]}}" * 120))]},
    "no trace id": {"traceId": ""},
}


@pytest.mark.parametrize("fields", BAD.values(), ids=BAD.keys())
def test_the_others_of_an_otlp_request_are_stored(client: TestClient, fields: dict[str, Any]) -> None:
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [span(1), span(2, **fields), span(3)]}]}]}
    answer = client.post("/v1/traces", content=json.dumps(body), headers=JSON)
    assert (answer.status_code, answer.json()["partialSuccess"]["rejectedSpans"]) == (200, "1"), answer.text
    assert "spans[1]" in (said := answer.json()["partialSuccess"]["errorMessage"]) or "span 2" in said
    stored = client.get("/api/v1/traces").json()["traces"]
    assert sorted(int(trace["id"], 16) for trace in stored) == [1, 3]


@pytest.mark.parametrize("resource", [{"attributes": [{"value": {}}]}, [1], {"attributes": "x"}, "x"], ids=str)
def test_spans_are_stored_without_what_cannot_be_read_of_their_resource(client: TestClient, resource: Any) -> None:
    good = {"resource": resource, "scopeSpans": [{"scope": [3], "spans": [span(1)]}]}
    body = {"resourceSpans": [good, {"scopeSpans": 5}, {"scopeSpans": [{"spans": 7}]}]}
    assert client.post("/v1/traces", content=json.dumps(body), headers=JSON).status_code == 200
    assert len(client.get("/api/v1/traces").json()["traces"]) == 1


def test_half_a_character_is_repaired(client: TestClient) -> None:
    text = attribute("input.value", stringValue="cut \ud83d")
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [span(1, attributes=[text])]}]}]}
    assert client.post("/v1/traces", content=json.dumps(body), headers=JSON).json() == {}
    records = [{"id": "a", "input": "cut \ud83d", "metadata": {"\udc00": "x\x00"}}, {"id": "b", "input": "whole"}]
    assert client.post("/api/v1/traces", content=json.dumps(records), headers=JSON).json()["traces"] == 2
    assert client.get("/api/v1/traces/a").json()["input"] == "cut \ufffd"


def test_protobuf_with_a_huge_count_and_too_many_attributes(client: TestClient) -> None:
    bad = a_span(1, trace=f"{2:032x}", attributes={"gen_ai.usage.input_tokens": 2**62})
    many = a_span(2, trace=f"{3:032x}", attributes={f"k{number}": 1 for number in range(MOST_KEYS + 1)})
    body = a_request(a_span(0, trace=f"{1:032x}"), bad, many).SerializeToString()
    answer = client.post("/v1/traces", content=body, headers={"content-type": "application/x-protobuf"})
    assert answer.status_code == 200 and b"input_tokens" in answer.content and b"attributes" in answer.content
    assert len(client.get("/api/v1/traces").json()["traces"]) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"metadata": {"n": 10**30}},
        {"metadata": {str(number): number for number in range(MOST_KEYS + 1)}},
        {"metadata": {"a": [[number] for number in range(100_001)]}},
        {"input": 5},
        {"id": "n\x00"},
        {"started_at": "0001-01-01T00:00:00+14:00"},
    ],
    ids=["large number", "many keys", "many values", "no text", "NUL in id", "early time"],
)
def test_the_others_of_a_list_and_of_a_file_are_stored(client: TestClient, fields: dict[str, Any]) -> None:
    records = [{"id": "a", "input": "one"}, {"id": "b", "input": "two", **fields}, {"id": "c", "input": "three"}]
    body = json.dumps(records)
    answer = client.post("/api/v1/traces", content=body, headers=JSON)
    assert answer.status_code == 201 and answer.json()["rejected"] in (0, 1), answer.text
    stored = {trace["id"] for trace in client.get("/api/v1/traces").json()["traces"]}
    assert {"a", "c"} <= stored and len(stored) == 3 - answer.json()["rejected"]
    workspace = client.app.state.workspace  # type: ignore[attr-defined]
    lines = BytesIO("\n".join(json.dumps(record | {"id": "f" + record["id"]}) for record in records).encode())
    report = workspace.intake.ingest([lines])
    assert report.traces == 3 - report.rejected


@pytest.mark.parametrize(
    "path",
    [
        "/" + "a" * 300,
        "/api/v1/traces/" + "a" * 3000,
        "/api/v1/cases?before=" + "9" * 23,
        "/api/v1/traces?before=" + "9" * 23,
        "/api/v1/traces/%00",
        "/api/v1/traces?user_id=%00",
        "/api/v1/traces?search=%00",
        "/api/v1/cases?tag=%00",
        "/api/v1/cases/live/%00",
        "/api/v1/benchmarks/runs/%00",
        "/api/v1/review/queue?dataset=%00",
        "/%00",
        "/assets/%00",
    ],
    ids=lambda path: str(path)[:40],
)
def test_no_address_is_an_internal_error(client: TestClient, path: str) -> None:
    assert client.get(path).status_code < 500
