"""A run's report over HTTP: the right type for each form, and a page that may load nothing."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from evergold.api.app import create_app
from evergold.model.run import RunSpec
from evergold.settings import Settings
from evergold.workspace import Workspace

TYPES = {"html": "text/html", "md": "text/markdown", "json": "application/json", "xml": "application/xml"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "one.yaml").write_text("{name: One, tasks: [{id: a, name: A, input: q, expected_output: x}]}")
    return Settings(home=tmp_path / "home", benchmark_datasets_dir=tmp_path)


def test_a_report_is_a_document_of_its_kind(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        spec = RunSpec(dataset="one", model="recorded", metrics=("exact_match",))
        run = workspace.bench.work_on(workspace.bench.run_here(spec).id)
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        for form, content_type in TYPES.items():
            answer = client.get(f"/api/v1/benchmarks/runs/{run.id}/report.{form}")
            assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (200, content_type)
            assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert client.get("/api/v1/benchmarks/runs/none/report.html").status_code == 404
        assert client.get(f"/api/v1/benchmarks/runs/{run.id}/report.exe").status_code in (400, 422)
