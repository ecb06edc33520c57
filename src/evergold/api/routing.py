"""Read requests where the framework's way does not fit.

JSON bodies are read by the reader that reads files and writes the store, so that what comes in can also be kept. Python's
own reader takes `NaN` for a number and makes integers of any length, which JSON and the store do not have.

A large body is read and checked in a thread. The framework does that on the event loop, which for a body of the allowed size
takes seconds in which no other request would be answered.

A slash inside a name was hidden from routing (`middleware/paths.py`) and is put back into the parts of the path here.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from evergold.api.middleware.paths import HIDDEN
from evergold.api.roles import require_role
from evergold.model.json_text import load_json
from evergold.model.nesting import require_shallow

LARGE = 100_000  # bytes of a body that takes more than some milliseconds to be read
MOST_RECORDS = 50_000  # of one list: a bad record takes as long as a good one, and is three bytes long
MOST_LEVELS_OF_BODY = 200  # a record in it may have half as many, and one that has more does not sink the others


class JsonRequest(Request):
    async def json(self) -> Any:
        body = await self.body()
        try:
            return _few(require_shallow(load_json(body), MOST_LEVELS_OF_BODY))
        except orjson.JSONDecodeError:
            raise
        except ValueError as problem:
            # FastAPI turns this one error into its own message for bodies.
            raise orjson.JSONDecodeError(str(problem), "", 0) from problem


class JsonRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def read(request: Request) -> Response:
            # The declared path, not the requested one: the table lists routes with their placeholders.
            require_role(request, self.path_format)
            parts = {name: whole(value) for name, value in request.path_params.items()}
            sent = JsonRequest({**request.scope, "path_params": parts}, request.receive)
            # The body is kept by the request, so that the thread need not wait for the connection.
            if self.body_field is None or len(await sent.body()) <= LARGE:
                return await handle(sent)
            return await run_in_threadpool(lambda: asyncio.run(handle(sent)))

        return read


def _few(sent: Any) -> Any:
    if isinstance(sent, list) and len(sent) > MOST_RECORDS:
        raise HTTPException(413, f"{len(sent)} records in one request; at most {MOST_RECORDS} are taken: send several")
    return sent


def whole(part: Any) -> Any:
    """A part of the path with the slashes it came with."""
    return part.replace(HIDDEN, "/") if isinstance(part, str) else part


class Router(APIRouter):
    def __init__(self, **options: Any) -> None:
        super().__init__(route_class=JsonRoute, **options)
