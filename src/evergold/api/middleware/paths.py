"""Check and prepare the path of a request before routing.

A NUL is refused: no name has one, PostgreSQL stores none, and file systems stop reading at it.

A slash inside a name (`team/faq`, a case id that is a path) is sent as `%2F` and belongs to the name. The framework matches
routes after decoding, when it looks like the slashes between the parts; so it is replaced by `HIDDEN` meanwhile, and
`api/routing.py` puts it back.
"""

import re
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

from evergold.api.errors import refusal

HIDDEN = "\x00"  # stands for a slash; no name has it
ENCODED_SLASH = re.compile(rb"%2[Ff]")


class NulRefused:
    """Answers 400 to an address that holds a NUL."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and ("\0" in scope["path"] or b"%00" in scope["query_string"]):
            await refusal(400, "the address holds a NUL character (%00); leave it out")(scope, receive, send)
            return
        await self._app(scope, receive, send)


class SlashesInNames:
    """Hides encoded slashes from routing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope.get("raw_path") or b""
        # OTLP paths hold no names, so the cheap test comes first for the thousands of them.
        if b"%2" in raw and scope["type"] == "http" and scope["path"].startswith("/api/"):
            path = unquote(ENCODED_SLASH.sub(HIDDEN.encode(), raw).decode("ascii", "replace"))
            scope = {**scope, "path": path}
        await self._app(scope, receive, send)
