"""Memory is bounded as a whole: bodies of all requests together, slow bodies, and gzip of many members."""

import asyncio
import gzip
import json
from typing import Any

import pytest

from evergold.api.middleware import SMALL, InFlight
from evergold.errors import BadInput, TooLarge
from evergold.settings import Settings
from evergold.sources.spans import MOST_MEMBERS, unpack_body

MB = 1 << 20


class Requests:
    """An application behind the limit that reads each body and answers when it may."""

    def __init__(self, **settings: Any) -> None:
        self.limit = InFlight(self._app, Settings(**settings))
        self.go_on = asyncio.Event()

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await self.go_on.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(self, size: int, *, named: bool = True, ends: bool = True) -> tuple[int, dict[str, str]]:
        """One request; its status and headers."""
        head = [(b"content-length", str(size).encode())] if named else []
        pieces = iter([{"type": "http.request", "body": b"x" * size, "more_body": not ends}])
        sent: list[Any] = []

        async def receive() -> Any:
            return next(pieces, None) or await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)

        await self.limit({"type": "http", "method": "POST", "path": "/", "headers": head}, receive, send)
        return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}


@pytest.mark.parametrize("named", [True, False], ids=["length named", "chunked"])
def test_beyond_the_limit_is_503_and_small_requests_still_pass(named: bool) -> None:
    async def scenario() -> None:
        requests = Requests(server_max_inflight_mb=8)
        under_way = [asyncio.create_task(requests.send(2 * MB, named=named)) for _ in range(3)]
        await asyncio.sleep(0)
        assert requests.limit.used == 6 * MB
        status, headers = await requests.send(2 * MB, named=named)
        assert status == 503 and headers["retry-after"]
        small = asyncio.create_task(requests.send(SMALL, named=named))
        await asyncio.sleep(0)
        requests.go_on.set()
        assert [(await one)[0] for one in (*under_way, small)] == [200] * 4
        assert requests.limit.used == 0
        assert (await requests.send(2 * MB, named=named))[0] == 200

    asyncio.run(scenario())


def test_a_body_that_does_not_arrive_is_408_and_its_room_is_free_again() -> None:
    async def scenario() -> None:
        requests = Requests(server_body_seconds=0.01)
        assert (await requests.send(2 * MB, ends=False))[0] == 408
        assert requests.limit.used == 0

    asyncio.run(scenario())


def test_a_body_without_a_length_that_is_too_long_is_413_and_its_room_is_free_again() -> None:
    async def scenario() -> None:
        requests = Requests(server_max_body_mb=1)
        requests.go_on.set()
        assert (await requests.send(2 * MB, named=False))[0] == 413
        assert requests.limit.used == 0

    asyncio.run(scenario())


def test_gzip_of_some_members_is_unpacked_and_of_very_many_refused() -> None:
    text = json.dumps(list(range(50_000))).encode()
    parts = [gzip.compress(text[at : at + 1000]) for at in range(0, len(text), 1000)]
    assert unpack_body(b"".join(parts), "gzip", 32 * MB) == text
    with pytest.raises(TooLarge, match="more than 1000 members"):
        unpack_body(gzip.compress(b"") * (MOST_MEMBERS + 1), "gzip", 32 * MB)
    with pytest.raises(BadInput, match="ends too early"):
        unpack_body(b"".join(parts)[:-3], "gzip", 32 * MB)
    with pytest.raises(TooLarge, match="unpacks to more"):
        unpack_body(gzip.compress(b"x" * MB), "gzip", MB - 1)
