"""Long answers: sent in pieces between which others are answered, whole in the end, and large traces read one at a time."""

import asyncio
import gzip
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.middleware.gzip import GZipMiddleware

from evergold.api import traces as route
from evergold.api.app import create_app
from evergold.api.middleware import PIECE, InPieces
from evergold.model.trace import Span, Trace
from evergold.settings import Settings
from evergold.workspace import Workspace

BODY = bytes(range(256)) * (PIECE // 64)


async def long_answer(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(BODY))]})
    await send({"type": "http.response.body", "body": BODY})


def sent_by(app: Any, *headers: tuple[bytes, bytes]) -> tuple[list[Any], int]:
    """The messages of an answer, and how often another task had its turn meanwhile."""

    async def work() -> tuple[list[Any], int]:
        sent: list[Any] = []
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async def send(message: Any) -> None:
            sent.append(message)

        beside = asyncio.create_task(other())
        await app({"type": "http", "method": "GET", "path": "/", "headers": list(headers)}, None, send)
        beside.cancel()
        return sent, turns

    return asyncio.run(work())


def test_a_long_answer_comes_in_pieces_and_lets_others_in_between() -> None:
    sent, turns = sent_by(InPieces(long_answer))
    assert b"".join(message["body"] for message in sent[1:]) == BODY
    assert [message["more_body"] for message in sent[1:]] == [True] * 3 + [False]
    assert max(len(message["body"]) for message in sent[1:]) == PIECE and turns >= 3


def test_compressed_it_is_the_same() -> None:
    sent, turns = sent_by(GZipMiddleware(InPieces(long_answer)), (b"accept-encoding", b"gzip"))
    assert gzip.decompress(b"".join(message["body"] for message in sent[1:])) == BODY
    assert turns >= 3


def test_a_large_trace_is_answered_as_a_small_one_is(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "é" * PIECE
    trace = Trace(
        id="t1", input="q", output="a", spans=(Span(id="s1", name="n", input=text, metadata={"x": [1, None]}),)
    )
    with Workspace.open(settings) as workspace:
        workspace.intake.accept([trace])
        assert workspace.intake.size("t1") >= PIECE and workspace.intake.size("t2") == 0
    with TestClient(create_app(settings), base_url="http://127.0.0.1") as client:
        plain = client.get("/api/v1/traces/t1")
        monkeypatch.setattr(route, "LARGE", 0)
        again = client.get("/api/v1/traces/t1")
        assert plain.content == again.content and again.json()["spans"][0]["input"] == text
        assert again.headers["content-type"] == "application/json"
        assert client.get("/api/v1/traces/t2").status_code == 404
