"""Send long answers in pieces.

A trace of 100 MB is one message of the framework. Compressing it at once took the event loop for seconds, in which no other
request was answered; between two pieces the others have their turn.
"""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

PIECE = 1 << 18


class InPieces:
    """Stands inside the compression of answers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_pieces(message: Message) -> None:
            body = message.get("body", b"") if message["type"] == "http.response.body" else b""
            if len(body) <= PIECE:
                await send(message)
                return
            view = memoryview(body)
            for start in range(0, len(body), PIECE):
                more = start + PIECE < len(body) or message.get("more_body", False)
                await send({**message, "body": bytes(view[start : start + PIECE]), "more_body": more})
                # Sending alone gives way only where the client reads slowly.
                await asyncio.sleep(0)

        await self._app(scope, receive, send_in_pieces)
