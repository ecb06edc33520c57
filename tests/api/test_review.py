"""Review over HTTP: what the page does, a script can do; names come from tokens; a stale version is 409."""

from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import calling, served
from tests.builders import a_case
from tests.e2e.review_data import row_a, row_b

CASE = {"dataset": "live", "id": "c/1"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
        workspace.cases.put([a_case("c/1"), a_case("c2")])
    with served(tmp_path, EVERGOLD_REVIEW_REVIEWERS="ana:token-a,bo:token-b") as url:
        yield url


def client(url: str, token: str) -> httpx.Client:
    return calling(f"{url}/api/v1", headers={"Authorization": f"Bearer {token}"})


def test_two_reviewers_and_one_case(server: str) -> None:
    with client(server, "token-a") as ana, client(server, "token-b") as bo:
        assert ana.get("/review/me").json()["name"] == "ana"
        edit = {"version": 1, "changes": {"expected": "Lima"}}
        assert ana.patch("/review/case", params=CASE, json=edit).json()["version"] == 2
        late = bo.post("/decisions", params=CASE, json={"version": 1, "verdict": "approve"})
        assert late.status_code == 409
        assert "by ana meanwhile" in late.json()["error"]
        done = bo.post("/decisions", params=CASE, json={"version": 2, "verdict": "approve", "comment": "yes"})
        assert done.json()["review"] == "validated"
        held = ana.get("/review/case", params=CASE).json()
        assert [(entry["who"], entry["what"]) for entry in held["history"]][-1] == ("bo", "approve")
        assert "expected" in ana.get("/review/difference", params={**CASE, "first": 1, "last": 2}).json()


def test_a_request_without_a_token_or_with_a_wrong_one_is_refused(server: str) -> None:
    for token in ("token-", "token-a2"):
        with client(server, token) as nobody:
            assert nobody.get("/review/queue").status_code == 401


def test_queue_claims_assignments_and_views(server: str) -> None:
    with client(server, "token-a") as ana, client(server, "token-b") as bo:
        assert ana.get("/review/queue", params={"text": "Peru", "limit": 1}).json()["total"] == 2
        assert ana.post("/review/claims", json={}).json()["case"]["id"] == "c/1"
        assert bo.post("/review/claims", json={}).json()["case"]["id"] == "c2"
        assert ana.put("/review/claims", params=CASE).status_code == 204
        assert bo.put("/review/claims", params=CASE).status_code == 409
        assert ana.post("/review/assignments", json={"cases": [CASE], "reviewer": "bo"}).json() == {"assigned": 1}
        assert ana.post("/review/assignments", json={"cases": [CASE], "reviewer": "cy"}).status_code == 400
        assert {row["reviewer"] for row in ana.get("/review/assignments").json()} == {"ana", "bo"}
        assert ana.delete("/review/assignments", params={**CASE, "reviewer": "bo"}).status_code == 403
        assert bo.delete("/review/assignments", params={**CASE, "reviewer": "bo"}).status_code == 204
        assert ana.put("/review/views", json={"name": "Peru", "query": {"text": "Peru"}}).json()["owner"] == "ana"
        assert [view["name"] for view in bo.get("/review/views").json()] == ["Peru"]
        (listed,) = bo.get("/views", params={"page": "review"}).json()
        assert (listed["name"], listed["owner"]) == ("Peru", "ana") and "q=Peru" in listed["address"]
        kept = {"page": "review", "name": "Done", "address": "part=done&set=live&id=c1&kind=odd&q=%C2%BFx%3F"}
        assert ana.put("/views", json=kept).status_code == 200
        query = bo.get("/review/views").json()[0]["query"]
        assert {name: query[name] for name in ("part", "dataset", "text")} == {
            "part": "done",
            "dataset": "live",
            "text": "¿x?",
        }
        assert query["status"] is query["kind"] is None, "as the page reads its address"
        assert ana.put("/review/views", json={"name": "long", "query": {"tag": "x" * 10_000}}).status_code == 400
        assert ana.delete("/views", params={"page": "review", "name": "Peru"}).status_code == 204
        assert ana.delete("/review/views", params={"name": "Done"}).status_code == 204


def test_bulk_progress_and_agreement(server: str) -> None:
    cases = [{**CASE, "version": 1}, {"dataset": "live", "id": "c2", "version": 9}]
    with client(server, "token-a") as ana:
        done = ana.post("/decisions/bulk", json={"cases": cases, "verdict": "dismiss"}).json()
        assert [bool(result["error"]) for result in done] == [False, True]
        assert ana.get("/review/progress").json()["reviewers"][0]["dismiss"] == 1
        assert ana.get("/review/agreement").json()["fleiss"]["reason"] == "no case has two opinions"


def test_rows_in_and_out_and_evidence(server: str) -> None:
    with client(server, "token-a") as ana:
        taken = ana.post("/review/rows", json={"rows": [row_a(0), row_b(0)]}).json()
        assert (taken["added"], taken["problems"]) == (1, [])
        key = {"dataset": "context", "id": "case-0000"}
        assert ana.get("/review/evidence", params=key).json()["diff"].startswith("diff --git")
        ana.post("/decisions", params=key, json={"version": 1, "verdict": "approve"})
        assert [row["caseId"] for row in ana.get("/review/rows").json()["b"]] == ["case-0000"]
        assert "review.repo_dir" in ana.post("/review/base", json={"commit": "abc"}).json()["message"]
