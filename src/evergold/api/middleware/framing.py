"""Refuse requests whose end is ambiguous, and close their connections.

A request with both a length and chunks ends in two places. A proxy that believes the one before a server that believes the other
passes on what looks to it like a body and is a request of its own to the server: with the rights of whoever comes next on that
connection. The parsers of uvicorn differ here, one of them takes such a request and keeps the connection open.
"""

from starlette.types import ASGIApp, Receive, Scope, Send

from evergold.api.errors import refusal

CODED = b"transfer-encoding"


class Framing:
    """Answers 400 to a request with two ends, and to chunks of HTTP/1.0, which knows none."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = _problem(scope) if scope["type"] == "http" else None
        if problem is None:
            await self._app(scope, receive, send)
            return
        answer = refusal(400, problem)
        # What follows on this connection cannot be told from the body.
        answer.headers["connection"] = "close"
        await answer(scope, receive, send)


def _problem(scope: Scope) -> str | None:
    names = [name for name, _ in scope["headers"] if name in (CODED, b"content-length")]
    if len(names) <= 1 and not (names == [CODED] and scope.get("http_version") == "1.0"):
        return None
    if len(names) > 1:
        return "a request has one Content-Length or one Transfer-Encoding, not more; send one of them once"
    return "HTTP/1.0 has no Transfer-Encoding; send Content-Length, or use HTTP/1.1"
