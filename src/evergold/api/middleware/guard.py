"""Check the token of a request and the size of its body.

A plain ASGI layer, because it must be cheap: OTLP comes through here thousands of times a second.
"""

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evergold.api.access import given_token, holder_of
from evergold.api.errors import refusal
from evergold.errors import TooLarge, Unauthorized, Unavailable
from evergold.model.access import Holder
from evergold.settings import Settings
from evergold.workspace.access import Access

LONGEST_LENGTH = 18  # digits of a length; more are beyond any limit, and thousands of them no number for Python
GUARDED = ("/api/", "/v1/", "/metrics")
PRIVATE = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
"""Headers of every answer of the API: no browser or proxy keeps what belongs to the holder of a token, or guesses its type."""
PUBLIC = frozenset({"/api/v1/health", "/api/v1/ready", "/api/docs"})
"""Open to everybody: they say nothing of the data."""


class Guard:
    def __init__(self, app: ASGIApp, settings: Settings, tokens: list[tuple[bytes, Holder]]) -> None:
        self._app = app
        self._tokens = tokens
        self._limit = settings.server_max_body_mb * 1024 * 1024

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(GUARDED):
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        access: Access = scope["app"].state.workspace.access
        # Read before the decision: a revoked token stops working within the two seconds that are promised.
        if access.stale:
            await run_in_threadpool(access.refresh)
        refused = self._refusal(scope, connection, access)
        if refused is not None:
            await refusal(*refused)(scope, receive, send)
            return
        body = _Counted(receive, self._limit)
        await self._app(scope, body.receive, body.guarding(send))
        # The answer of the route was held back; this one is sent in its place.
        if body.over:
            await refusal(413, f"the body is longer than {self._limit} bytes (server.max_body_mb)")(
                scope, receive, send
            )

    def _refusal(self, scope: Scope, connection: HTTPConnection, access: Access) -> tuple[int, str] | None:
        length = connection.headers.get("content-length", "0")
        if length.isdecimal() and (len(length) > LONGEST_LENGTH or int(length) > self._limit):
            return (
                413,
                f"the body has {length[:LONGEST_LENGTH]} bytes; at most {self._limit} are taken (server.max_body_mb)",
            )
        if scope["path"] in PUBLIC or not (self._tokens or access.required):
            return None
        given = given_token(connection.headers.get("authorization", ""))
        holder = holder_of(given, self._tokens, access)
        if holder is None and not access.known:
            return Unavailable.status, "the tokens cannot be read from the database; try again in a moment"
        if holder is None:
            return Unauthorized.status, "a token is needed: send `Authorization: Bearer TOKEN`"
        scope["evergold.holder"] = holder
        scope["evergold.who"] = holder.name
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
            # Raising ends the route while it reads; the answer is sent outside.
            raise TooLarge("the body is over the limit")
        return message

    def guarding(self, send: Send) -> Send:
        async def send_unless_over(message: Message) -> None:
            if self.over:
                return
            if message["type"] == "http.response.start":
                names = {name for name, _ in message["headers"]}
                message = {
                    **message,
                    "headers": [*message["headers"], *(one for one in PRIVATE if one[0] not in names)],
                }
            await send(message)

        return send_unless_over
