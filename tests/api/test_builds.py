"""Builds over HTTP, against a real server."""

from pathlib import Path

import httpx2 as httpx

from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import served
from tests.builders import a_case


def test_freeze_list_show_and_compare(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
        workspace.cases.put(a_case(f"c{n}", input=f"Question {n}") for n in range(4))
    with served(tmp_path) as url, httpx.Client(base_url=url) as client:
        made = client.post("/api/v1/builds", json={"dataset": "live", "split": "train=0.5,test=0.5", "seed": 7})
        assert made.status_code == 201
        assert made.json()["version"] == "v1"
        assert (
            client.post("/api/v1/builds", json={"dataset": "live", "filters": {"review": "unvalidated"}}).status_code
            == 201
        )
        assert [build["version"] for build in client.get("/api/v1/builds?dataset=live").json()] == ["v1", "v2"]
        assert client.get("/api/v1/builds/live/v1").json()["manifest"]["seed"] == 7
        found = client.get("/api/v1/builds/live/diff", params={"before": "v1", "after": "v2"}).json()
        assert found["counts"]["moved"] == 4
        assert client.get("/api/v1/datasets").json()[0]["cases"] == 4
        for body, status in (
            ({"dataset": "../x"}, 400),
            ({"dataset": "live", "version": "2"}, 400),
            ({"dataset": "live", "out": "/tmp/x"}, 400),
            ({"dataset": "nothing"}, 422),
            ({"dataset": "live", "filters": {"review": "great"}}, 400),
        ):
            assert client.post("/api/v1/builds", json=body).status_code == status, body
        assert client.get("/api/v1/builds/live/v9").status_code == 404
