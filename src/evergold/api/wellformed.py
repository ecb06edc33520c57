"""Refuses addresses that hold a NUL: no name has one, PostgreSQL stores none, and file systems stop reading at it."""

from starlette.types import ASGIApp, Receive, Scope, Send

from evergold.api.errors import refusal


class WellFormed:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and ("\0" in scope["path"] or b"%00" in scope["query_string"]):
            await refusal(400, "the address holds a NUL character (%00); leave it out")(scope, receive, send)
            return
        await self._app(scope, receive, send)
