"""Connections that send no request, or do not read their answer, are given up; others go on."""

import asyncio
import select
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from typing import Any

import pytest
import uvicorn

from evergold.api import connections
from evergold.api.connections import Connection, file_handles, most_connections
from tests.patience import PATIENCE

LARGE = b"x" * 20_000_000
ASK = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def app(scope: Any, receive: Any, send: Any) -> None:
    body = LARGE if scope["path"] == "/large" else b"ok"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


class Server(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


@asynccontextmanager
async def serving(*, forced: bool = True) -> AsyncIterator[int]:
    server = Server(uvicorn.Config(app, http=Connection, lifespan="off", log_level="error"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        # Served without the signal handlers of `serve`, which belong to the test runner.
        task = asyncio.create_task(server._serve([listener]))
        await server.listening.wait()
        yield listener.getsockname()[1]
        server.should_exit, server.force_exit = True, forced
        await asyncio.wait_for(task, PATIENCE)


def connected(port: int, sent: bytes = b"") -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(PATIENCE)
    client.connect(("127.0.0.1", port))
    client.sendall(sent)
    return client


def ended(client: socket.socket) -> bool:
    """Wait until the server has closed a connection, without reading from it."""
    watching = select.poll()
    watching.register(client, select.POLLRDHUP)
    return bool(watching.poll(PATIENCE * 1000))


def answered(port: int) -> bool:
    with connected(port, ASK) as client:
        return client.recv(100).startswith(b"HTTP/1.1 200")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("HEAD_SECONDS", 0.1), ("STALLED_SECONDS", 0.1), ("LOOK_SECONDS", 0.02)):
        monkeypatch.setattr(connections, name, seconds)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nX: ", ASK + b"GET / HT", ASK.replace(b"/ ", b"/large ")])
def test_a_request_that_does_not_come_or_an_answer_that_nobody_reads_ends_its_connection(sent: bytes) -> None:
    async def work() -> None:
        async with serving() as port:
            with connected(port, sent) as client:
                assert await asyncio.to_thread(ended, client)
            assert await asyncio.to_thread(answered, port)

    asyncio.run(work())


def test_connections_are_given_up_where_the_system_takes_no_option_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "RESET", b"")  # which the system refuses

    async def work() -> None:
        async with serving() as port:
            with ExitStack() as opened:
                for client in [opened.enter_context(connected(port)) for _ in range(2)]:
                    assert await asyncio.to_thread(ended, client)

    asyncio.run(work())


def test_the_end_of_a_server_does_not_wait_for_who_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "STALLED_SECONDS", 10 * PATIENCE)
    monkeypatch.setattr(connections, "ENDING_SECONDS", 0.1)

    async def work() -> None:
        with ExitStack() as opened:
            async with serving(forced=False) as port:
                opened.enter_context(connected(port, ASK.replace(b"/ ", b"/large ")))
                assert await asyncio.to_thread(answered, port)

    asyncio.run(work())


def test_of_too_many_the_one_that_waits_longest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 100.0)
    monkeypatch.setattr(connections, "most_connections", lambda handles: 3)

    async def work() -> None:
        async with serving() as port:
            with ExitStack() as opened:
                idle = [opened.enter_context(connected(port)) for _ in range(4)]
                assert await asyncio.to_thread(ended, idle[0])
                assert await asyncio.to_thread(answered, port)

    asyncio.run(work())


def test_handles_are_left_for_everything_else() -> None:
    assert file_handles() >= 256
    assert (most_connections(4096), most_connections(1024), most_connections(256)) == (3328, 256, 64)
