"""Event streams of runs that do not end: bounded in number, closed with the token, with the server, and when a client leaves."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from evergold.api.runs import MOST_STREAMS
from evergold.model.access import Role
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import calling, served
from tests.openai_server import Reply, ScriptedServer, serving

ASKED = {"dataset": "basic-coding", "model": "openai/gpt-4o", "metrics": ["exact_match"]}


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    held = threading.Event()
    with serving(Reply(hold=held)) as server:
        yield server
        held.set()


@contextmanager
def endless(client: httpx.Client) -> Iterator[str]:
    """The path of the events of a run whose model never answers; cancelled in the end."""
    run = client.post("/api/v1/benchmarks/runs", json=ASKED).json()["id"]
    yield f"/api/v1/benchmarks/runs/{run}/events"
    client.post(f"/api/v1/benchmarks/runs/{run}/cancel")


def bearer(token: str) -> dict[str, dict[str, str]]:
    return {"headers": {"Authorization": f"Bearer {token}"}}


def opens(client: httpx.Client, path: str) -> bool:
    with client.stream("GET", path) as stream:
        return stream.status_code == 200


def followed(stream: httpx.Response) -> list[str]:
    """Read a stream to its orderly end; one that is cut off raises."""
    return list(stream.iter_lines())


def test_too_many_streams_are_503_until_one_of_them_is_closed(tmp_path: Path, model: ScriptedServer) -> None:
    with served(tmp_path, EVERGOLD_MODEL_BASE_URL=model.url) as url, calling(url) as client, endless(client) as path:
        with ExitStack() as opened:
            many = httpx.Client(base_url=url, limits=httpx.Limits(max_connections=None))
            opened.enter_context(many)
            for _ in range(MOST_STREAMS):
                assert opened.enter_context(many.stream("GET", path)).status_code == 200
            refused = client.get(path)
            assert (refused.status_code, "retry-after" in refused.headers) == (503, True)
            assert "event streams are open" in refused.json()["error"]
            assert client.get(path.removesuffix("/events")).status_code == 200
        # The server notices within a look or two that the clients left.
        while not opens(client, path):
            pass


def test_a_stream_ends_with_its_token(tmp_path: Path, model: ScriptedServer) -> None:
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
        owner, reader = (workspace.access.add(role.value, role) for role in (Role.OWNER, Role.READER))
    with (
        served(tmp_path, EVERGOLD_MODEL_BASE_URL=model.url) as url,
        calling(url, **bearer(owner.token)) as client,
        endless(client) as path,
        calling(url, **bearer(reader.token)) as other,
        other.stream("GET", path) as stream,
    ):
        assert stream.status_code == 200
        client.delete(f"/api/v1/tokens/{reader.id}").raise_for_status()
        assert not any(line.startswith("event: end") for line in followed(stream))
        assert other.get(path).status_code == 401


def test_a_stream_opened_without_tokens_ends_with_the_first_one(tmp_path: Path, model: ScriptedServer) -> None:
    with (
        served(tmp_path, EVERGOLD_MODEL_BASE_URL=model.url) as url,
        calling(url) as client,
        endless(client) as path,
        calling(url) as other,
        other.stream("GET", path) as stream,
    ):
        made: dict[str, Any] = client.post("/api/v1/tokens", json={"name": "owner", "role": "owner"}).json()
        assert not any(line.startswith("event: end") for line in followed(stream))
        client.headers.update(bearer(made["token"])["headers"])


def test_a_stream_ends_in_order_when_the_server_does(tmp_path: Path, model: ScriptedServer) -> None:
    with ExitStack() as opened:
        with served(tmp_path, EVERGOLD_MODEL_BASE_URL=model.url) as url:
            client = opened.enter_context(calling(url))
            run = client.post("/api/v1/benchmarks/runs", json=ASKED).json()["id"]
            stream = opened.enter_context(client.stream("GET", f"/api/v1/benchmarks/runs/{run}/events"))
            assert stream.status_code == 200
        followed(stream)
