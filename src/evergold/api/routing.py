"""JSON bodies are read by the reader that reads files and writes the store, so that what comes in can also be kept.

Python's own reader takes `NaN` for a number and makes integers of any length, which JSON and the store do not have.
"""

from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute


class JsonRequest(Request):
    async def json(self) -> Any:
        return orjson.loads(await self.body())


class JsonRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def read(request: Request) -> Response:
            return await handle(JsonRequest(request.scope, request.receive))

        return read


class Router(APIRouter):
    def __init__(self, **options: Any) -> None:
        super().__init__(route_class=JsonRoute, **options)
