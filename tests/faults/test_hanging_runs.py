"""Runs whose plug-ins hang, die or take all memory: the server answers meanwhile, and the run ends with the reason."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from tests.api.serving import calling, served
from tests.cli.running import evergold
from tests.misbehaving import install

pytestmark = pytest.mark.slow

QUICK = {
    "EVERGOLD_BENCHMARK_METRIC_TIMEOUT": "1",
    "EVERGOLD_BENCHMARK_TIMEOUT": "1",
    "EVERGOLD_BENCHMARK_MEMORY_MB": "1024",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("hanging")
    install(made / "site")
    lines = "\n".join(f'{{"id": "{name}", "input": "q", "output": "a", "expected": "a"}}' for name in ("bad", "good"))
    (made / "d.jsonl").write_text(lines + "\n")
    ran = evergold("import", "d.jsonl", "--format", "case-jsonl", "--dataset", "d", cwd=made)
    assert ran.code == 0, ran.err
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[httpx.Client]:
    with served(folder, PYTHONPATH=str(folder / "site"), **QUICK) as url, calling(url) as client:
        yield client


def ended(server: httpx.Client, **spec: Any) -> dict[str, Any]:
    """Start a run, ask for health until it has ended, and give its results."""
    posted = server.post("/api/v1/benchmarks/runs", json={"dataset": "d", **spec})
    assert posted.status_code == 201, posted.text
    address = f"/api/v1/benchmarks/runs/{posted.json()['id']}"
    with server.stream("GET", f"{address}/events") as events:
        for line in events.iter_lines():
            if line.startswith("data: "):
                assert server.get("/api/v1/health").status_code == 200
    found: dict[str, Any] = server.get(f"{address}/results").json()
    return found


@pytest.mark.parametrize(
    ("metric", "says"),
    [
        ("spin", "took over 1 s on this answer"),
        ("sleepy", "took over 1 s on this answer"),
        ("stuck_in_c", "showed no life for 7 s"),
        ("suicidal", "ended by SIGKILL"),
        ("greedy", "MemoryError"),
    ],
)
def test_a_metric_that_misbehaves_is_a_measurement_with_an_error(server: httpx.Client, metric: str, says: str) -> None:
    results = ended(server, model="recorded", metrics=[metric, "exact_match"])
    assert results["run"]["status"] == "completed", results["run"]
    measured = {attempt["case_id"]: attempt["measurements"] for attempt in results["attempts"]}
    assert measured["bad"][metric]["state"] == "error"
    assert says in measured["bad"][metric]["reason"]
    assert measured["good"][metric]["value"] == 1.0
    assert measured["bad"]["exact_match"]["value"] == measured["good"]["exact_match"]["value"] == 1.0


def test_a_target_that_ends_its_process_twice_fails_its_run(server: httpx.Client) -> None:
    run = ended(server, model="dying", metrics=["exact_match"])["run"]
    assert run["status"] == "failed"
    assert "2 processes that worked on it ended, the last one because it ended with exit code 3" in run["error"]


def test_a_target_that_holds_up_its_loop_can_be_cancelled(server: httpx.Client) -> None:
    posted = server.post(
        "/api/v1/benchmarks/runs", json={"dataset": "d", "model": "blocking", "metrics": ["exact_match"]}
    )
    address = f"/api/v1/benchmarks/runs/{posted.json()['id']}"
    server.post(f"{address}/cancel")
    with server.stream("GET", f"{address}/events") as events:
        last = [line for line in events.iter_lines() if line.startswith("data: ")][-1]
    assert '"status":"cancelled"' in last


def test_a_metric_that_hangs_on_the_command_line_is_an_error_too(folder: Path) -> None:
    words = ("run", "d", "--model", "recorded", "--metric", "spin", "--json")
    ran = evergold(*words, cwd=folder, PYTHONPATH=str(folder / "site"), **QUICK)
    assert ran.json["run"]["status"] == "completed"
    assert ran.json["run"]["scored"] == 2
