"""Calibration over HTTP: people's verdicts in the workspace measure any judge on any judged metric."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from evergold.api.app import create_app
from evergold.model.case import EntryType
from evergold.model.run import RunSpec
from evergold.settings import Settings
from evergold.store.case.writes import Author, put_cases
from evergold.workspace import Workspace
from tests.builders import a_case


@pytest.fixture
def reviewed(tmp_path: Path) -> Iterator[tuple[TestClient, str]]:
    """A server whose dataset `d` was reviewed, and a run of recorded answers on it."""
    settings = Settings(home=tmp_path / "home")
    cases = [
        a_case("g", dataset="d", output="Lima", expected="Lima").as_validated(),
        a_case("f", dataset="d", output="Quito", expected="Lima", entry_type=EntryType.FAILURE).as_validated(),
    ]
    with Workspace.open(settings) as workspace:
        workspace.store.db.write(lambda connection: put_cases(connection, cases, Author(who="t", action="made")))
        (tmp_path / "t.yaml").write_text("name: t\ntasks: [{id: a, name: A, input: q, expected_output: x}]")
        spec = RunSpec(dataset=str(tmp_path / "t.yaml"), model="recorded", metrics=("correctness",))
        run = workspace.bench.run_here(spec)
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        yield client, run.id


def test_reviews_calibrate_the_judge_of_a_run(reviewed: tuple[TestClient, str]) -> None:
    client, run_id = reviewed
    address = f"/api/v1/benchmarks/runs/{run_id}/calibration"
    assert client.get(address).json() == {"correctness": "never calibrated against human labels"}
    (made,) = client.post(address, json={"dataset": "d"}).json()
    assert (made["metric"], made["labels"]) == ("correctness", 2)
    assert client.get(address).json() == {"correctness": "2 of 30 labels"}
    (figure,) = client.get("/api/v1/judges").json()[0]["calibrations"]
    assert (figure["metric"], figure["labels"], figure["missing"]) == ("correctness", 2, "2 of 30 labels")


def test_any_judge_and_metric_are_calibrated_by_name(reviewed: tuple[TestClient, str]) -> None:
    client, run_id = reviewed
    asked = {"judge": "offline/lexical", "metric": "correctness", "dataset": "d"}
    assert client.post("/api/v1/judges/calibration", json=asked).json()["judge"].startswith("offline/")
    states = client.get(f"/api/v1/benchmarks/runs/{run_id}/calibration").json()
    assert "was calibrated" in states["correctness"], "another judge's figures do not count for this one"
    computed = client.post("/api/v1/judges/calibration", json={**asked, "metric": "exact_match"})
    assert computed.status_code == 400 and "asks no judge" in computed.text
    nothing = client.post("/api/v1/judges/calibration", json={**asked, "dataset": "none"})
    assert nothing.status_code == 400 and "review some first" in nothing.text
