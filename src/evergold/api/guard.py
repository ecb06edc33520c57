"""What stands before every route: the token and the size of a body.

A plain ASGI layer, because it must be cheap: OTLP comes through here thousands of times a second.
"""

import hmac

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evergold.api.access import given_token
from evergold.api.errors import refusal
from evergold.errors import TooLarge
from evergold.settings import Settings

GUARDED = ("/api/", "/v1/")


class Guard:
    def __init__(self, app: ASGIApp, settings: Settings, tokens: list[tuple[bytes, str]]) -> None:
        self._app = app
        self._tokens = tokens
        self._limit = settings.server_max_body_mb * 1024 * 1024

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(GUARDED):
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        refused = self._refusal(scope, connection)
        if refused is not None:
            await refusal(*refused)(scope, receive, send)
            return
        body = _Counted(receive, self._limit)
        await self._app(scope, body.receive, body.guarding(send))
        if body.over:
            await refusal(413, f"the body is longer than {self._limit} bytes (server.max_body_mb)")(
                scope, receive, send
            )

    def _refusal(self, scope: Scope, connection: HTTPConnection) -> tuple[int, str] | None:
        length = connection.headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._limit:
            return 413, f"the body has {length} bytes; at most {self._limit} are taken (server.max_body_mb)"
        if self._tokens:
            given = given_token(connection.headers.get("authorization", ""))
            name = next((name for token, name in self._tokens if hmac.compare_digest(token, given)), None)
            if name is None:
                return 401, "a token is needed: send `Authorization: Bearer TOKEN`"
            scope["evergold.who"] = name
        return None


class _Counted:
    """A body read under a limit. Past it the route is told that the client left, and its answer is not sent."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._left = limit
        self.over = False

    async def receive(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            self.over = True
            raise TooLarge("the body is over the limit")
        return message

    def guarding(self, send: Send) -> Send:
        async def send_unless_over(message: Message) -> None:
            if not self.over:
                await send(message)

        return send_unless_over
