"""Who is let in when tokens were revoked, were not read yet, or have names that no person has."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from fastapi.testclient import TestClient

from evergold.api.app import create_app
from evergold.errors import BadInput, Unavailable
from evergold.model.access import Role
from evergold.settings import Settings
from evergold.workspace import Workspace


@pytest.fixture
def workspace(settings: Settings) -> Iterator[Workspace]:
    with Workspace.open(settings) as opened:
        yield opened


def test_revoking_the_last_token_makes_nobody_the_owner(settings: Settings) -> None:
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        made = client.post("/api/v1/tokens", json={"name": "ana", "role": "reader"}).json()
        workspace = client.app.state.workspace  # type: ignore[attr-defined]
        workspace.access.revoke(made["id"])
        for headers in ({}, {"Authorization": f"Bearer {made['token']}"}):
            assert client.get("/api/v1/me", headers=headers).status_code == 401
            assert client.post("/api/v1/tokens", json={"name": "x", "role": "owner"}).status_code == 401
        assert workspace.access.forget_revoked() == 1
        assert client.get("/api/v1/me").json()["role"] == "owner"


def test_nobody_is_let_in_before_the_tokens_were_read(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.access.add("ana", Role.READER)
    reading, go_on = Event(), Event()
    holders = workspace.access._tokens.holders

    def slow() -> Any:
        reading.set()
        go_on.wait(10)
        return holders()

    monkeypatch.setattr(workspace.access._tokens, "holders", slow)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(workspace.access.refresh)
        reading.wait(10)
        # A second request of the same moment must not pass for one of a server without tokens.
        assert workspace.access.stale and workspace.access.required
        second = pool.submit(workspace.access.refresh)
        go_on.set()
        first.result(10)
        second.result(10)
    assert workspace.access.required and not workspace.access.stale


def test_tokens_that_cannot_be_read_are_no_open_door(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> Any:
        raise Unavailable("the database is away")

    with TestClient(create_app(settings), base_url="http://localhost") as client:
        access = client.app.state.workspace.access  # type: ignore[attr-defined]
        monkeypatch.setattr(access._tokens, "holders", away)
        refused = client.get("/api/v1/me")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        assert client.get("/api/v1/health").status_code == 200


def test_names_that_no_token_has(workspace: Workspace) -> None:
    for name in ("", "  ", "a:b", "a,b", "a\nb", "\x1b[2J", "a\x00", "a\x85b", "x" * 101):
        with pytest.raises(BadInput, match="a token's name cannot be"):
            workspace.access.add(name, Role.READER)
    # Blanks around a name do not make another person.
    assert workspace.access.add(" ana ", Role.REVIEWER).name == "ana"
