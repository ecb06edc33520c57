"""What load balancers and Prometheus ask: a real server, read by Prometheus' own parser."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.api.serving import calling, served
from tests.otlp import a_span, protobuf_body

PROTOBUF = {"content-type": "application/x-protobuf"}


def samples(text: str) -> dict[str, float]:
    """Every sample as `name{labels}` with its value."""
    return {
        sample.name + "".join(f"|{value}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_count_requests_records_and_what_waits(tmp_path: Path) -> None:
    with served(tmp_path) as url, calling(url) as client:
        assert client.post("/v1/traces", content=protobuf_body(a_span()), headers=PROTOBUF).status_code == 200
        assert client.post("/v1/traces", content=b"\xff", headers=PROTOBUF).status_code == 400
        assert client.get("/api/v1/nothing").status_code == 404
        answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    values = samples(answer.text)
    assert values["evergold_requests_total|otlp|200"] == 1
    assert values["evergold_requests_total|otlp|400"] == 1
    assert values["evergold_requests_total|rest|404"] == 1
    assert values["evergold_request_seconds_count|otlp"] == 2
    assert values["evergold_otlp_records_total|stored"] == 1
    assert values["evergold_database_up"] == 1
    assert "evergold_curation_queue" in values


def test_metrics_need_a_token_where_there_are_tokens_and_probes_do_not(tmp_path: Path) -> None:
    with served(tmp_path, EVERGOLD_SERVER_TOKEN="secret") as url, calling(url) as client:
        assert client.get("/metrics").status_code == 401
        assert client.get("/metrics", headers={"Authorization": "Bearer secret"}).status_code == 200
        assert client.get("/api/v1/health").json()["status"] == "ok"
        assert client.get("/api/v1/ready").json()["status"] == "ready"


@pytest.mark.parametrize("path", ["/api/v1/ready", "/metrics"])
def test_a_database_that_is_gone_is_not_ready_and_counted_as_down(tmp_path: Path, path: str) -> None:
    with served(tmp_path) as url, calling(url) as client:
        assert client.get("/api/v1/ready").status_code == 200
        for file in sorted((tmp_path / ".evergold").glob("*.db*")):
            # In place: the system ends a process that reads a mapped file (-shm) behind where it was cut.
            with file.open("r+b") as handle:
                handle.write(b"no database any more" * (file.stat().st_size // 20 + 1))
        answer = client.get(path)
    if path == "/metrics":
        assert samples(answer.text)["evergold_database_up"] == 0
    else:
        assert answer.status_code == 503
        assert "database" in answer.json()["error"]
