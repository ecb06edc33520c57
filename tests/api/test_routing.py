"""Bodies that are large: read beside the event loop, and with a limit on how many records they hold."""

import threading
from typing import Annotated

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import AfterValidator, BaseModel

from evergold.api import requests
from evergold.api.errors import install_errors
from evergold.api.requests import LARGE, Router, Sent
from evergold.settings import Settings

checked_in: list[int] = []


def _note(text: str) -> str:
    checked_in.append(threading.get_ident())
    return text


class Note(BaseModel):
    text: Annotated[str, AfterValidator(_note)]


@pytest.fixture
def client() -> TestClient:
    router = Router()

    @router.post("/notes")
    async def notes(sent: Sent[Note]) -> list[int]:
        return [len(note.text) for note in requests.list_records(sent)]  # type: ignore[arg-type, union-attr]

    @router.get("/loop")
    async def loop() -> int:
        return threading.get_ident()

    app = FastAPI()
    install_errors(app, Settings())
    app.include_router(router)
    return TestClient(app)


@pytest.mark.parametrize(("size", "beside"), [(10, False), (LARGE, True)])
def test_a_large_body_does_not_hold_up_the_event_loop(client: TestClient, size: int, beside: bool) -> None:
    with client:
        assert client.post("/notes", json={"text": "x" * size}).json() == [size]
        assert (checked_in[-1] != client.get("/loop").json()) is beside


def test_a_large_body_that_cannot_be_used_is_one_clear_line(client: TestClient) -> None:
    refused = client.post("/notes", json={"words": "x" * LARGE})
    assert (refused.status_code, refused.json()["problems"]) == (400, ["text: is missing"])
    assert client.post("/notes", content=b"[" * LARGE, headers={"content-type": "application/json"}).status_code == 400


def test_a_list_has_a_limit_and_names_only_some_of_its_problems(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "MOST_RECORDS", 10)
    monkeypatch.setattr(requests, "SHOWN_PROBLEMS", 3)
    assert client.post("/notes", json=[{"text": "x"}] * 10).json() == [1] * 10
    refused = client.post("/notes", json=[{}] * 11)
    assert refused.status_code == 413 and "11 records in one request; at most 10 are taken" in refused.json()["error"]
    assert len(client.post("/notes", json=[{}] * 10).json()["problems"]) == 3
