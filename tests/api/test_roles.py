"""Roles: every route asks for one, and each token may do what its role includes and nothing else."""

from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from evergold.api.access import ANYBODY, NEEDED, needed_role
from evergold.api.app import ROUTERS
from evergold.api.requests import JsonRoute
from evergold.model.access import INCLUDES, Role
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import calling, served
from tests.builders import a_case, a_trace
from tests.cli.running import evergold
from tests.e2e.review_data import row_a, row_b
from tests.rows import each_row

OPEN = {"/api/v1/ready", "/api/v1/health"}
OWN = {"/mcp"}  # checks the role by itself; its tools ask for more
PLAIN = {"/metrics", "/v1/traces", "/v1/logs", "/v1/metrics", "/api/public/otel/v1/traces"}


def routes() -> Iterator[tuple[str, str, Any]]:
    for name in ROUTERS:
        for route in import_module(f"evergold.api.{name}").router.routes:
            for method in route.methods - {"HEAD"}:
                yield method, route.path_format, route


def test_every_route_declares_its_role() -> None:
    listed = {f"{method} {path}" for method, path, _ in routes()}
    unlisted = {
        f"{method} {path}"
        for method, path, _ in routes()
        if method != "GET" and path not in PLAIN and f"{method} {path}" not in NEEDED
    }
    assert not unlisted, f"say in api/access.py which role these need: {sorted(unlisted)}"
    assert not (set(NEEDED) | ANYBODY) - listed, "api/access.py lists routes that do not exist"


def test_every_route_checks_its_role() -> None:
    plain = OPEN | PLAIN | OWN
    unchecked = {path for _, path, route in routes() if not isinstance(route, JsonRoute) and path not in plain}
    assert not unchecked, f"make these with evergold.api.requests.Router: {sorted(unchecked)}"


def test_what_is_not_listed_asks_for_the_owner() -> None:
    assert needed_role("POST", "/api/v1/forgotten") is Role.OWNER


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[Role, str]]]:
    folder: Path = tmp_path_factory.mktemp("roles")
    with Workspace.open(Settings(home=folder / ".evergold")) as workspace:
        tokens = {role: workspace.access.add(role.value, role).token for role in Role}
    with served(folder) as url:
        yield url, tokens


def caller(server: tuple[str, dict[Role, str]], role: Role) -> httpx.Client:
    url, tokens = server
    return calling(url, headers={"Authorization": f"Bearer {tokens[role]}"})


@each_row("role", list(Role))
def test_each_role_on_every_route(server: tuple[str, dict[Role, str]], role: Role) -> None:
    """A role that is too little is a 403 that names the one needed, whatever else is wrong with the request."""
    with caller(server, role) as client:
        for method, path, _ in routes():
            if path in OPEN or path.endswith("/events") or f"{method} {path}" in ANYBODY:
                continue
            needed = Role.INGEST if path in PLAIN and method == "POST" else needed_role(method, path)
            answer = client.request(method, path.replace("{", "").replace("}", ""), content=b"not json")
            refused = answer.status_code == 403
            assert refused == (needed not in INCLUDES[role]), f"{role} {method} {path}: {answer.text[:200]}"
            if refused:
                assert f"needs the role {needed.value}" in answer.json()["error"]


def test_who_one_is(server: tuple[str, dict[Role, str]]) -> None:
    with caller(server, Role.REVIEWER) as client:
        assert client.get("/api/v1/me").json() == {
            "name": "reviewer",
            "role": "reviewer",
            "may": ["reviewer", "reader"],
        }
    with caller(server, Role.INGEST) as client:
        assert client.get("/api/v1/me").json()["may"] == ["ingest"]
        assert client.post("/api/v1/traces", json={"id": "t", "input": "x"}).status_code == 201
        assert client.get("/api/v1/traces/t").status_code == 403


def test_an_owner_makes_and_revokes_tokens(server: tuple[str, dict[Role, str]]) -> None:
    url, _ = server
    with caller(server, Role.OWNER) as owner:
        made = owner.post("/api/v1/tokens", json={"name": "ci", "role": "editor"}).json()
        with calling(url, headers={"Authorization": f"Bearer {made['token']}"}) as ci:
            assert ci.get("/api/v1/cases").status_code == 200
            assert ci.get("/api/v1/tokens").status_code == 403
            assert owner.delete(f"/api/v1/tokens/{made['id']}").json()["revoked_at"]
            assert ci.get("/api/v1/cases").status_code == 401
        listed = owner.get("/api/v1/tokens")
        assert made["token"] not in listed.text
        assert owner.delete("/api/v1/tokens/tok_none").status_code == 404
        assert owner.post("/api/v1/tokens", json={"name": "x", "role": "king"}).status_code == 400


def test_tokens_of_the_settings_have_their_roles(tmp_path: Path) -> None:
    env = {"EVERGOLD_SERVER_TOKEN": "s3cret", "EVERGOLD_REVIEW_REVIEWERS": "ana:token-a"}
    with served(tmp_path, **env) as url, calling(url) as client:
        ana, owner = {"Authorization": "Bearer token-a"}, {"Authorization": "Bearer s3cret"}
        assert client.get("/api/v1/me", headers=ana).json()["role"] == "reviewer"
        assert client.get("/api/v1/me", headers=owner).json()["role"] == "owner"
        assert client.delete("/api/v1/benchmarks/runs/r", headers=ana).status_code == 403
        assert client.delete("/api/v1/benchmarks/runs/r", headers=owner).status_code == 404
        assert client.get("/api/v1/health").status_code == 200


def test_without_tokens_everybody_here_is_the_owner(tmp_path: Path) -> None:
    with served(tmp_path) as url, calling(url) as client:
        assert client.get("/api/v1/me").json()["role"] == "owner"


def test_the_command_line(tmp_path: Path) -> None:
    made = evergold("tokens", "add", "ci", "--role", "ingest", "--json", cwd=tmp_path).json
    assert made["token"] not in evergold("tokens", "list", "--json", cwd=tmp_path).out
    assert made["token"].encode() not in b"".join(
        file.read_bytes() for file in (tmp_path / ".evergold").glob("evergold.db*")
    )
    assert evergold("tokens", "revoke", made["id"], cwd=tmp_path).code == 0
    assert evergold("tokens", "list", "--json", cwd=tmp_path).json["tokens"][0]["revoked_at"]
    missing = evergold("tokens", "revoke", "nothing", cwd=tmp_path)
    assert (missing.code, "evergold tokens list" in missing.err) == (2, True)


@pytest.fixture(scope="module")
def colleagues(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, httpx.Client]]:
    """A server with a case, a trace and four people: two reviewers, an editor and an owner."""
    folder: Path = tmp_path_factory.mktemp("colleagues")
    roles = {"ana": Role.REVIEWER, "bo": Role.REVIEWER, "eve": Role.EDITOR, "olga": Role.OWNER, "rea": Role.READER}
    with Workspace.open(Settings(home=folder / ".evergold")) as workspace:
        workspace.cases.put([a_case(f"c{number}") for number in range(6)])
        workspace.intake.accept([a_trace("t1")])
        tokens = {name: workspace.access.add(name, role).token for name, role in roles.items()}
    with served(folder) as url, ExitStack() as stack:
        yield {
            name: stack.enter_context(calling(url, headers={"Authorization": f"Bearer {token}"}))
            for name, token in tokens.items()
        }


Colleagues = dict[str, httpx.Client]


def moderated(colleagues: Colleagues) -> list[tuple[str, str, str]]:
    rows = colleagues["rea"].get("/api/v1/review/moderations").json()
    return [(row["who"], row["action"], row["author"]) for row in rows]


def comment_of(client: httpx.Client) -> str:
    written = client.post("/api/v1/traces/t1/comments", json={"text": "odd"}).json()
    return f"/api/v1/comments/{written['id']}"


def test_a_comment_is_deleted_by_its_author_or_a_moderator(colleagues: Colleagues) -> None:
    ana, bo = colleagues["ana"], colleagues["bo"]
    address = comment_of(ana)
    refused = bo.delete(address)
    assert refused.status_code == 403 and "belongs to ana" in refused.json()["error"]
    assert "an editor or owner" in refused.json()["error"]
    before = moderated(colleagues)
    assert ana.delete(address).status_code == 204 and moderated(colleagues) == before, "one's own needs no record"
    for name in ("eve", "olga"):
        assert colleagues[name].delete(comment_of(ana)).status_code == 204
        assert moderated(colleagues)[0] == (name, "deleted", "ana")
    assert colleagues["eve"].delete(address).status_code == 404


VIEWS = [
    ("/api/v1/views", {"page": "traces", "name": "slow", "address": "a=1"}, {"page": "traces", "name": "slow"}),
    ("/api/v1/review/views", {"name": "slow", "query": {"text": "a"}}, {"name": "slow"}),
]


@pytest.mark.parametrize(("path", "view", "named"), VIEWS)
def test_a_view_is_changed_by_its_author_or_a_moderator(
    colleagues: Colleagues, path: str, view: dict[str, Any], named: dict[str, str]
) -> None:
    ana, bo, eve = (colleagues[name] for name in ("ana", "bo", "eve"))
    claimed = ana.put(path, json=view | {"owner": "olga"}).json()
    assert claimed["owner"] == "ana", "an author is whose token it is"
    for answer in (bo.put(path, json=view), bo.delete(path, params=named)):
        assert answer.status_code == 403 and "belongs to ana" in answer.json()["error"]
    assert eve.put(path, json=view).json()["owner"] == "ana", "it stays its author's"
    assert moderated(colleagues)[0] == ("eve", "replaced", "ana")
    assert ana.put(path, json=view).status_code == 200
    assert eve.delete(path, params=named).status_code == 204
    assert moderated(colleagues)[0] == ("eve", "deleted", "ana")
    assert bo.put(path, json=view).json()["owner"] == "bo" and bo.delete(path, params=named).status_code == 204


def say(client: httpx.Client, case: str, verdict: str, **more: Any) -> httpx.Response:
    key = {"dataset": "live", "id": case}
    version = client.get("/api/v1/review/case", params=key).json()["case"]["version"]
    return client.post("/api/v1/decisions", params=key, json={"version": version, "verdict": verdict, **more})


def test_a_dispute_is_settled_by_a_role_and_not_by_a_flag(colleagues: Colleagues) -> None:
    ana, bo = colleagues["ana"], colleagues["bo"]
    assert say(ana, "c0", "approve").json()["review"] == "validated"
    assert say(bo, "c0", "dismiss").json()["review"] == "unvalidated", "another verdict is a dispute"
    refused = say(ana, "c0", "approve", adjudicate=True)
    assert refused.status_code == 403 and "needs the role editor (or owner)" in refused.json()["error"]
    file = ana.get("/api/v1/review/case", params={"dataset": "live", "id": "c0"}).json()
    assert file["standing"] == "disputed" and len(file["opinions"]) == 2
    assert say(colleagues["eve"], "c0", "approve", adjudicate=True).json()["review"] == "validated"
    assert moderated(colleagues)[0] == ("eve", "overruled", "bo")
    assert say(ana, "c0", "dismiss").json()["review"] == "validated", "a ruling holds"
    file = ana.get("/api/v1/review/case", params={"dataset": "live", "id": "c0"}).json()
    assert [one["reviewer"] for one in file["opinions"] if one["adjudicate"]] == ["eve"]


def test_verdicts_of_others_are_voided_by_moderators_alone(colleagues: Colleagues) -> None:
    ana, bo, olga = (colleagues[name] for name in ("ana", "bo", "olga"))
    assert say(ana, "c1", "approve").status_code == 200
    assert say(bo, "c1", "reopen").status_code == 403
    key = {"dataset": "live", "id": "c1"}
    version = ana.get("/api/v1/review/case", params=key).json()["case"]["version"]
    bulk = {"cases": [key | {"version": version}], "verdict": "reopen"}
    (result,) = bo.post("/api/v1/decisions/bulk", json=bulk).json()
    assert "belongs to ana" in result["error"] and result["version"] == version
    assert say(bo, "c1", "withdraw").json()["review"] == "validated", "one withdraws one's own verdict alone"
    reopened = say(olga, "c1", "reopen")
    assert reopened.json()["review"] == "unvalidated"
    history = ana.get("/api/v1/review/case", params=key).json()["history"]
    assert (history[-1]["who"], history[-1]["what"]) == ("olga", "reopen")
    assert moderated(colleagues)[0] == ("olga", "reopened", "ana")
    assert say(ana, "c1", "dismiss").status_code == 200 and say(ana, "c1", "reopen").status_code == 200, "one's own"


def change(client: httpx.Client, case: str, changes: dict[str, Any]) -> httpx.Response:
    key = {"dataset": "live", "id": case}
    version = client.get("/api/v1/review/case", params=key).json()["case"]["version"]
    return client.patch("/api/v1/review/case", params=key, json={"version": version, "changes": changes})


def test_a_case_that_others_decided_is_edited_by_moderators_alone(colleagues: Colleagues) -> None:
    ana, bo, eve = (colleagues[name] for name in ("ana", "bo", "eve"))
    key = {"dataset": "live", "id": "c3"}
    assert say(ana, "c3", "approve").status_code == 200
    assert ana.get("/api/v1/review/case", params=key).json()["decided_by"] == ["ana"]
    wanted: list[dict[str, Any]] = [{"expected": "other"}, {"tags": ["x"]}, {"metadata": {"confirmed": True}}]
    for changes in wanted:
        for answer in (change(bo, "c3", changes), say(bo, "c3", "approve", changes=changes)):
            assert answer.status_code == 403 and "belongs to ana" in answer.json()["error"], changes
    assert ana.get("/api/v1/review/case", params=key).json()["case"]["review"] == "validated"
    assert change(ana, "c3", {"expected": "my own"}).status_code == 200
    assert say(ana, "c3", "approve").status_code == 200
    assert change(eve, "c3", {"expected": "corrected"}).status_code == 200
    assert moderated(colleagues)[0] == ("eve", "edited", "ana")
    assert change(bo, "c3", {"expected": "open to all"}).status_code == 200, "nobody's verdict holds"


def test_rows_of_the_validator_leave_the_work_of_others(colleagues: Colleagues) -> None:
    ana, bo, eve = (colleagues[name] for name in ("ana", "bo", "eve"))

    def send(client: httpx.Client, query: str, **more: Any) -> dict[str, Any]:
        rows = [row_a(0, query=query), row_b(0, query=query)]
        answer = client.post("/api/v1/review/rows", json={"rows": rows, "dataset": "context", **more})
        assert answer.status_code == 200, answer.text
        result: dict[str, Any] = answer.json()
        return result

    assert send(ana, "ana's draft")["added"] == 1
    assert send(bo, "bo's")["kept"] == ["case-0000"], "a draft is its author's"
    assert send(ana, "ana's second draft")["changed"] == 1
    version = send(ana, "ana's second draft")["versions"]
    approved = {"version": version["case-0000"], "verdict": "approve"}
    key = {"dataset": "context", "id": "case-0000"}
    said = ana.post("/api/v1/decisions", params=key, json=approved)
    assert said.status_code == 200, said.text
    versions = {"case-0000": said.json()["version"]}
    assert send(bo, "bo's", versions=versions)["kept"] == ["case-0000"], "the version that was seen is no right"
    assert send(eve, "eve's", versions=versions)["changed"] == 1
    assert moderated(colleagues)[0] == ("eve", "replaced", "ana")


def test_work_in_the_hands_of_others_stays_there(colleagues: Colleagues) -> None:
    ana, bo, eve = (colleagues[name] for name in ("ana", "bo", "eve"))
    key = {"dataset": "live", "id": "c2"}
    for client, status in ((bo, 403), (ana, 204)):
        assert ana.post("/api/v1/review/assignments", json={"cases": [key], "reviewer": "ana"}).status_code == 200
        assert client.delete("/api/v1/review/assignments", params=key | {"reviewer": "ana"}).status_code == status
    assert ana.post("/api/v1/review/assignments", json={"cases": [key], "reviewer": "ana"}).status_code == 200
    assert eve.delete("/api/v1/review/assignments", params=key | {"reviewer": "ana"}).status_code == 204
    assert moderated(colleagues)[0] == ("eve", "deleted", "ana")
    refused = bo.post("/api/v1/review/rows", json={"rows": [{"caseId": "x"}], "replace": True})
    assert refused.status_code == 403 and "needs the role editor" in refused.json()["error"]
