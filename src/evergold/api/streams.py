"""Event streams: how many a server keeps open at once, and what ends one before its client leaves.

A stream looks at the database several times a second for as long as it is open, and was allowed once, at its beginning. So their
number is bounded, and at each event it is asked again whether the token still counts and whether the server is about to end.
"""

from collections.abc import AsyncIterator

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from evergold.api.access import configured_tokens, given_token, holder_of
from evergold.api.errors import refusal
from evergold.errors import Unavailable
from evergold.model.access import Holder
from evergold.workspace.access import Access

MOST_STREAMS = 32
# `X-Accel-Buffering: no` keeps nginx from collecting events before it passes them on.
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class EventStream(StreamingResponse):
    """An answer of server-sent events; 503 instead where too many are open."""

    def __init__(self, request: Request, events: AsyncIterator[str]) -> None:
        super().__init__(_while_welcome(request, events), media_type="text/event-stream", headers=HEADERS)
        self._state = request.app.state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        opened: int = getattr(self._state, "streams", 0)
        if opened >= MOST_STREAMS:
            message = f"{opened} event streams are open, the most of one server; ask for the run itself instead"
            await refusal(Unavailable.status, message)(scope, receive, send)
            return
        self._state.streams = opened + 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._state.streams -= 1


async def _while_welcome(request: Request, events: AsyncIterator[str]) -> AsyncIterator[str]:
    configured = configured_tokens(request.app.state.settings)
    async for event in events:
        yield event
        if getattr(request.state, "ending", False) or not await _is_allowed(request, configured):
            return


async def _is_allowed(request: Request, configured: list[tuple[bytes, Holder]]) -> bool:
    """Whether the token that opened the stream would open it now."""
    access: Access = request.app.state.workspace.access
    if access.stale:
        await run_in_threadpool(access.refresh)
    began: Holder | None = request.scope.get("evergold.holder")
    if began is None:
        return not (configured or access.required)
    return holder_of(given_token(request.headers.get("authorization", "")), configured, access) == began
