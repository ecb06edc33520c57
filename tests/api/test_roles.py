"""Roles: every route asks for one, and each token may do what its role includes and nothing else."""

from collections.abc import Iterator
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
from tests.cli.running import evergold
from tests.rows import each_row

OPEN = {"/api/v1/ready", "/api/v1/health"}
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
    unchecked = {path for _, path, route in routes() if not isinstance(route, JsonRoute) and path not in OPEN | PLAIN}
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
