"""Builds over HTTP, against a real server."""

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, unquote

from evergold.model.case import Provenance
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import calling, served
from tests.builders import a_case


def test_freeze_list_show_and_compare(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
        workspace.cases.put(a_case(f"c{n}", input=f"Question {n}") for n in range(4))
    with served(tmp_path) as url, calling(url) as client:
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
            ({"dataset": "../x"}, 404),
            ({"dataset": "live", "version": "2"}, 400),
            ({"dataset": "live", "out": "/tmp/x"}, 400),
            ({"dataset": "nothing"}, 404),
            ({"dataset": "live", "filters": {"review": "great"}}, 400),
        ):
            assert client.post("/api/v1/builds", json=body).status_code == status, body
        assert client.get("/api/v1/builds/live/v9").status_code == 404


def test_sample_compare_lineage_and_download(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
        come_from = Provenance(source="live", trace_id="t1", policy="default", policy_rev="r1")
        workspace.cases.put(a_case(f"c{n}", input=f"Question {n}", provenance=come_from) for n in range(6))
        first = workspace.builds.freeze(workspace.builds.spec_of("live"))
        workspace.cases.put([a_case("c/6", input="A much longer question, new in this version", tags=("new",))])
        workspace.builds.freeze(workspace.builds.spec_of("live"))
    with served(tmp_path) as url, calling(f"{url}/api/v1/builds/live") as client:
        drawn = client.get("v1/sample", params={"count": 3, "seed": 5}).json()
        assert (drawn["of"], drawn["seed"], len(drawn["records"])) == (6, 5, 3)
        assert client.get("v1/sample", params={"count": 3, "seed": 5}).json() == drawn
        ids = {record["id"] for record in client.get("v2/sample", params={"count": 4, "seed": 5}).json()["records"]}
        assert {record["id"] for record in drawn["records"]} <= ids
        assert client.get("v1/sample", params={"split": "exam"}).status_code == 400

        apart = client.get("compare", params={"before": "v1", "after": "v2"}).json()
        assert (apart["before"]["records"], apart["after"]["records"]) == (6, 7)
        assert apart["after"]["tags"] == {"new": 1}
        assert apart["after"]["input_lengths"] == {"16": 6, "64": 1}
        assert 0 < apart["drift"]["input length"] < 1

        known = client.get("lineage/c1").json()
        assert known["provenance"]["policy"] == "default"
        assert [step["version"] for step in known["builds"]] == ["v1", "v2"]
        assert {step["rev"] for step in known["builds"]} == {known["rev"]}
        assert known["runs"] == []
        assert [step["version"] for step in client.get("lineage/c/6").json()["builds"]] == ["v2"]
        assert client.get("lineage/nobody").status_code == 404

        assert client.get("v1/files").json() == ["manifest.json", "all.jsonl", "excluded.jsonl", "schema.json"]
        content = client.get("v1/files/all.jsonl").content
        assert hashlib.sha256(content).hexdigest() == first.manifest["splits"]["all"]["sha256"]


def test_a_download_never_leaves_the_build(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("not yours")
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
        workspace.cases.put([a_case()])
        build = workspace.builds.freeze(workspace.builds.spec_of("live"))
        (Path(build.location or "") / "stray.txt").write_text("in the folder, not in the manifest")
    with served(tmp_path) as url, calling(f"{url}/api/v1/builds/live/v1/files") as client:
        for name in ("stray.txt", "..%2F..%2F..%2F..%2Fsecret.txt", "%2Fetc%2Fpasswd", "all.jsonl%00"):
            assert client.get(f"/{name}").status_code in (400, 404), name


ODD_NAMES = ("team/faq", "my data", "..", "../up", "問" * 150)


def test_a_dataset_of_any_name_is_frozen_and_found(tmp_path: Path) -> None:
    home = tmp_path / ".evergold"
    with Workspace.open(Settings(home=home)) as workspace:
        workspace.cases.put(a_case("c/1", dataset=name, input="Q?", output="A.") for name in ODD_NAMES)
    with served(tmp_path) as url, calling(url) as client:
        for name in ODD_NAMES:
            made = client.post(f"{url}/api/v1/builds", json={"dataset": name}).json()
            assert Path(made["location"]).parent.parent == home / "builds", made
            there = f"{url}/api/v1/builds/{quote(name, safe='').replace('.', '%2E')}"
            assert client.get(f"{there}/v1").json()["dataset"] == name
            assert client.get(f"{there}/v1/sample").json()["of"] == 1
            assert (
                client.get(f"{there}/diff", params={"before": "v1", "after": "v1"}).json()["counts"]["unchanged"] == 1
            )
            assert client.get(f"{there}/lineage/c/1").json()["case_id"] == "c/1"
            assert client.get(f"{there}/v1/files/all.jsonl").status_code == 200


def test_a_slash_in_a_name_belongs_to_it_on_every_route(tmp_path: Path) -> None:
    home = tmp_path / ".evergold"
    with Workspace.open(Settings(home=home)) as workspace:
        for name in ODD_NAMES:
            workspace.cases.put([a_case(case_id, dataset=name) for case_id in ("c/1", "c/1/history", "plain")])
        workspace.cases.put([a_case("faq/plain", dataset="team", input="of another dataset")])
    with served(tmp_path) as url, calling(f"{url}/api/v1") as client:
        for name in ODD_NAMES:
            there = f"cases/{quote(name, safe='').replace('.', '%2E')}"
            for case_id in ("c%2F1", "c%2F1%2Fhistory", "plain"):
                found = client.get(f"{there}/{case_id}").json()
                assert (found["dataset"], found["id"]) == (name, unquote(case_id)), found
                assert len(client.get(f"{there}/{case_id}/history").json()) == 1
            assert client.get("cases", params={"dataset": name}).json()["total"] == 3
            assert client.get("stats", params={"dataset": name}).json()["total"] == 3
            assert client.get("review/queue", params={"dataset": name}).json()["total"] == 3
            assert client.get("review/case", params={"dataset": name, "id": "c/1"}).json()["case"]["dataset"] == name
        assert client.get("cases/team/faq/plain").json()["input"] == "of another dataset"
        assert client.get("cases/no%2Fset/c%2F1").json()["error"].startswith("no case 'c/1'")
        assert client.get("no%2Froute/x").json()["error"].startswith("no route")


def test_a_slow_build_holds_up_neither_other_requests_nor_the_end_of_the_server(tmp_path: Path) -> None:
    """A manifest that is a pipe makes the build wait as on a disk that hangs; nobody ever writes into it."""
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
        workspace.cases.put([a_case("c1")])
        folder = workspace.builds.folder_of("live", "v1")
    folder.mkdir(parents=True)
    os.mkfifo(folder / "manifest.json")
    with served(tmp_path) as url, calling(url) as client, ThreadPoolExecutor(1) as caller:
        asked = caller.submit(client.post, "/api/v1/builds", json={"dataset": "live"})
        assert client.get("/api/v1/datasets").json()[0]["cases"] == 1
        answer = asked.result()
        assert answer.status_code == 202
        assert (answer.json()["version"], answer.headers["location"]) == ("v1", "/api/v1/builds/live/v1")
        waiting = client.get(answer.headers["location"])
        assert waiting.status_code == 404
        assert "is being built" in waiting.json()["error"]
    # the server has ended here: `served` waits for it
    assert [path.name for path in folder.iterdir()] == ["manifest.json"]
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
        assert workspace.builds.versions("live") == []
