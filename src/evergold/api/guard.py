"""Layers that decide whether a request may pass: its path, the site it comes from, its token and the size of its body.

Plain ASGI layers, because they must be cheap: OTLP comes through here thousands of times a second.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evergold.api.access import given_token, holder_of
from evergold.api.errors import refusal
from evergold.errors import BadInput, TooLarge, Unauthorized, Unavailable
from evergold.model.access import Holder
from evergold.settings import Settings
from evergold.workspace.operations import Access

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
        await self._app(scope, body.receive, body.guard_answer(send))
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

    def guard_answer(self, send: Send) -> Send:
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


HIDDEN = "\x00"  # stands for a slash; no name has it
ENCODED_SLASH = re.compile(rb"%2[Ff]")


class NulRefused:
    """Answers 400 to an address that holds a NUL: no name has one, PostgreSQL stores none, file systems stop reading at it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and ("\0" in scope["path"] or b"%00" in scope["query_string"]):
            await refusal(400, "the address holds a NUL character (%00); leave it out")(scope, receive, send)
            return
        await self._app(scope, receive, send)


class SlashesInNames:
    """Hides encoded slashes from routing.

    A slash inside a name (`team/faq`, a case id that is a path) is sent as `%2F` and belongs to the name. The framework matches
    routes after decoding, when it looks like the slashes between the parts; so it is replaced by `HIDDEN` meanwhile, and
    `api/requests.py` puts it back.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope.get("raw_path") or b""
        # OTLP paths hold no names, so the cheap test comes first for the thousands of them.
        if b"%2" in raw and scope["type"] == "http" and scope["path"].startswith("/api/"):
            path = unquote(ENCODED_SLASH.sub(HIDDEN.encode(), raw).decode("ascii", "replace"))
            scope = {**scope, "path": path}
        await self._app(scope, receive, send)


EXEMPT = frozenset({"/api/v1/health", "/api/v1/ready", "/metrics"})
CHECKED = ("/api/", "/v1/")
READING = frozenset({"GET", "HEAD", "OPTIONS"})
SAME = (b"same-origin", b"none")  # "none": the user typed the address or opened a bookmark
WILDCARDS = ("0.0.0.0", "::", "")
SHOWN_CHARACTERS = 100

_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[^\s\[\]:/@?#\\,]+)(?::[0-9]{0,5})?\Z")


class CrossSiteCheck:
    """Refuses requests that a web page of another site makes through the user's browser.

    Two attacks, two checks:

    - DNS rebinding. A page of `evil.example` lets its own name resolve to 127.0.0.1; for the browser it is then the same origin.
      Only the `Host` header shows it: every request must name a loopback address, `server.host`, or an entry of `server.hosts`.
    - Cross-site requests. A page of another origin posts a form, or loads an address of the API. Browsers say so in
      `Sec-Fetch-Site`; older ones at least send `Origin` with a request that changes something.

    Health and metrics are exempt from the first: probes and scrapers reach a server by the address of its container.
    """

    def __init__(self, app: ASGIApp, known: Callable[[bytes], bool]) -> None:
        self._app = app
        self._known = known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = self._problem(scope) if scope["type"] in ("http", "websocket") else None
        if problem is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await refusal(403, problem)(scope, receive, send)

    def _problem(self, scope: Scope) -> str | None:
        hosts, origin, site, mode = [], None, None, b""
        for name, value in scope["headers"]:
            if name == b"host":
                hosts.append(value)
            elif name == b"origin":
                origin = value
            elif name == b"sec-fetch-site":
                site = value.strip().lower()
            elif name == b"sec-fetch-mode":
                mode = value.strip().lower()
        # Two Host headers are an attack on proxies that read another one than we do.
        if scope["path"] not in EXEMPT and not (len(hosts) == 1 and self._known(hosts[0])):
            return (
                f"this server is not called {_show_host(b', '.join(hosts))}: call it by a loopback address, "
                "or add the name to the setting server.hosts"
            )
        if not scope["path"].startswith(CHECKED):
            return None
        reading = scope.get("method", "GET") in READING
        if site is not None:
            # A link from another site may open a page (navigate), not call the API from its scripts.
            foreign = site not in SAME and not (reading and mode == b"navigate")
        else:
            # Without Sec-Fetch-Site, Origin tells; a request without either is no browser's.
            foreign = origin is not None and not reading and not _is_host(origin, hosts)
        return (
            f"a page of another site ({_show_host(origin or site or b'')}) may not call this server"
            if foreign
            else None
        )


def known_host(settings: Settings) -> Callable[[bytes], bool]:
    """Make the function that decides whether a `Host` header names this server."""
    names = {_name(entry, "server.hosts") for entry in settings.server_hosts}
    if settings.server_host not in WILDCARDS:
        names.add(_plain(settings.server_host))

    # The same few hosts come thousands of times a second.
    @lru_cache(maxsize=256)
    def known(header: bytes) -> bool:
        match = _HOST.match(header.decode("latin-1").strip())
        name = _plain(match["name"]) if match else ""
        return bool(name) and (name == "localhost" or name in names or _is_loopback(name))

    return known


def _name(entry: str, setting: str) -> str:
    """Read an entry of the setting, which may carry a port; the port is not compared."""
    # An IPv6 address without brackets would be read as a name with a port.
    bare = f"[{entry}]" if entry.count(":") > 1 and not entry.startswith("[") else entry
    match = _HOST.match(bare)
    if match is None or "*" in entry:
        raise BadInput(
            f"{setting}: {entry!r} is not a host name; write it as in an address, for example eval.example.org"
        )
    return _plain(match["name"])


def _plain(name: str) -> str:
    return name.strip("[]").removesuffix(".").lower()


def _is_loopback(name: str) -> bool:
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _is_host(origin: bytes, hosts: list[bytes]) -> bool:
    """Whether an origin is the address the request was sent to. The scheme may differ: a proxy may end TLS."""
    try:
        parts = urlsplit(origin.decode("latin-1"))
        return parts.scheme in ("http", "https") and [parts.netloc.lower().encode("latin-1")] == [
            host.strip().lower() for host in hosts
        ]
    except ValueError:
        return False


def _show_host(value: bytes) -> str:
    return repr(value[:SHOWN_CHARACTERS].decode("latin-1"))
