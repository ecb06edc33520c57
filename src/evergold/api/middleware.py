"""Middleware that every request passes before its route; `install_middleware` is the only function that others call.

From the outside in: counting and timing for `/metrics` (requests refused further in are counted too), requests with two
ends, cross-site requests and NUL in addresses, tokens, the size of a body and the memory of all together, compression of
responses, long responses in pieces, slashes inside names. Each is a plain ASGI layer: OTLP passes them thousands of times
a second.
"""

import asyncio
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import JSONResponse
from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evergold.api.access import configured_tokens, given_token, holder_of
from evergold.api.errors import GONE, refusal
from evergold.errors import BadInput, TooLarge, Unauthorized, Unavailable
from evergold.model.access import Holder
from evergold.settings import Settings
from evergold.workspace.operations import Access

LONGEST_LENGTH = 18  # digits of a length; more are beyond any limit, and thousands of them no number for Python
GUARDED = ("/api/", "/v1/", "/metrics", "/mcp")
PRIVATE = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
"""Headers of every answer of the API: no browser or proxy keeps what belongs to the holder of a token, or guesses its type."""
PUBLIC = frozenset({"/api/v1/health", "/api/v1/ready", "/api/docs"})
"""Open to everybody: they say nothing of the data."""


class _Layer:
    """Stands before another application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app


class Guard:
    def __init__(self, app: ASGIApp, settings: Settings, tokens: list[tuple[bytes, Holder]]) -> None:
        self._app, self._tokens = app, tokens
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

        async def send_private(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {name for name, _ in message["headers"]}
                kept = [*message["headers"], *(one for one in PRIVATE if one[0] not in names)]
                message = {**message, "headers": kept}
            await send(message)

        await self._app(scope, receive, send_private)

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


HIDDEN = "\x00"  # stands for a slash; no name has it
ENCODED_SLASH = re.compile(rb"%2[Ff]")


class SlashesInNames(_Layer):
    """Hides encoded slashes from routing.

    A slash inside a name (`team/faq`, a case id that is a path) is sent as `%2F` and belongs to the name. The framework matches
    routes after decoding, when it looks like the slashes between the parts; so it is replaced by `HIDDEN` meanwhile, and
    `api/requests.py` puts it back.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope.get("raw_path") or b""
        # OTLP paths hold no names, so the cheap test comes first for the thousands of them.
        if b"%2" in raw and scope["type"] == "http" and scope["path"].startswith("/api/"):
            path = unquote(ENCODED_SLASH.sub(HIDDEN.encode(), raw).decode("ascii", "replace"))
            scope = {**scope, "path": path}
        await self._app(scope, receive, send)


EXEMPT = frozenset({"/api/v1/health", "/api/v1/ready", "/metrics"})
CHECKED = ("/api/", "/v1/", "/mcp")
READING = frozenset({"GET", "HEAD", "OPTIONS"})
SAME = (b"same-origin", b"none")  # "none": the user typed the address or opened a bookmark
WILDCARDS = ("0.0.0.0", "::", "")
SHOWN_CHARACTERS = 100

_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[^\s\[\]:/@?#\\,]+)(?::[0-9]{0,5})?\Z")


class Refusals:
    """Refuses requests with two ends, those that a web page of another site makes, and addresses with a NUL.

    A request with both a length and chunks ends in two places. A proxy that believes the one before a server that believes the
    other passes on what looks to it like a body and is a request of its own to the server: with the rights of whoever comes next
    on that connection. The parsers of uvicorn differ here, one of them takes such a request and keeps the connection open.

    A page of another site makes requests through the user's browser. Two attacks, two checks:

    - DNS rebinding. A page of `evil.example` lets its own name resolve to 127.0.0.1; for the browser it is then the same origin.
      Only the `Host` header shows it: every request must name a loopback address, `server.host`, or an entry of `server.hosts`.
    - Cross-site requests. A page of another origin posts a form, or loads an address of the API. Browsers say so in
      `Sec-Fetch-Site`; older ones at least send `Origin` with a request that changes something.

    Health and metrics are exempt from the first: probes and scrapers reach a server by the address of its container.

    No name has a NUL: PostgreSQL stores none, file systems stop reading at it.
    """

    def __init__(self, app: ASGIApp, known: Callable[[bytes], bool]) -> None:
        self._app, self._known = app, known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self._refusal(scope) if scope["type"] in ("http", "websocket") else None
        if refused is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await refused(scope, receive, send)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        if problem := _find_second_end(scope):
            # What follows on this connection cannot be told from the body.
            answer = refusal(400, problem)
            answer.headers["connection"] = "close"
            return answer
        if problem := self._find_other_site(scope):
            return refusal(403, problem)
        if "\0" in scope["path"] or b"%00" in scope.get("query_string", b""):
            return refusal(400, "the address holds a NUL character (%00); leave it out")
        return None

    def _find_other_site(self, scope: Scope) -> str | None:
        hosts, given = [value for name, value in scope["headers"] if name == b"host"], dict(scope["headers"])
        origin, site = given.get(b"origin"), given.get(b"sec-fetch-site")
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
            navigates = given.get(b"sec-fetch-mode", b"").strip().lower() == b"navigate"
            foreign = site.strip().lower() not in SAME and not (reading and navigates)
        else:
            # Without Sec-Fetch-Site, Origin tells; a request without either is no browser's.
            foreign = origin is not None and not reading and not _is_host(origin, hosts)
        shown = _show_host(origin or site or b"")
        return f"a page of another site ({shown}) may not call this server" if foreign else None


def known_host(settings: Settings) -> Callable[[bytes], bool]:
    """Make the function that decides whether a `Host` header names this server."""
    names = {_name(entry, "server.hosts") for entry in settings.server_hosts}
    if settings.server_host not in WILDCARDS:
        names.add(_normalise_host(settings.server_host))

    # The same few hosts come thousands of times a second.
    @lru_cache(maxsize=256)
    def is_known(header: bytes) -> bool:
        match = _HOST.match(header.decode("latin-1").strip())
        name = _normalise_host(match["name"]) if match else ""
        return bool(name) and (name == "localhost" or name in names or _is_loopback(name))

    return is_known


def _name(entry: str, setting: str) -> str:
    """Read an entry of the setting, which may carry a port; the port is not compared."""
    # An IPv6 address without brackets would be read as a name with a port.
    bare = f"[{entry}]" if entry.count(":") > 1 and not entry.startswith("[") else entry
    match = _HOST.match(bare)
    if match is None or "*" in entry:
        raise BadInput(
            f"{setting}: {entry!r} is not a host name; write it as in an address, for example eval.example.org"
        )
    return _normalise_host(match["name"])


def _normalise_host(name: str) -> str:
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


CODED = b"transfer-encoding"
SMALL = 1 << 20
PIECE = 1 << 18


def _find_second_end(scope: Scope) -> str | None:
    """Why it cannot be said where a request ends: two lengths, or chunks of HTTP/1.0, which knows none."""
    names = [name for name, _ in scope["headers"] if name in (CODED, b"content-length")]
    if len(names) > 1:
        return "a request has one Content-Length or one Transfer-Encoding, not more; send one of them once"
    if names == [CODED] and scope.get("http_version") == "1.0":
        return "HTTP/1.0 has no Transfer-Encoding; send Content-Length, or use HTTP/1.1"
    return None


class _BodyRefused(Unavailable):
    """Ends the reading of a body; the answer is ours, whatever the route makes of it."""


class InFlight:
    """Counts the bytes of request bodies from their first to the answer of their request, and bounds their time to arrive.

    Bodies are held in memory until they are stored, so their sum is what has to be limited: one limit for each body says nothing
    about two hundred of them. A body that names its length is admitted or refused before it is read. Large ones may not take the
    last quarter, so that a few slow uploads do not shut out the small requests of everybody else.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self.most = settings.server_max_inflight_mb * 1024 * 1024
        self.seconds = settings.server_body_seconds
        self.longest = settings.server_max_body_mb * 1024 * 1024
        self.used = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        length = Headers(scope=scope).get("content-length", "") if scope["type"] == "http" else ""
        # Bodies of reading requests are ignored by the routes and never held.
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        body = _Body(self, receive)
        try:
            # A body without a length (chunked) is counted as it comes.
            body.reserve(int(length[:LONGEST_LENGTH]) if length.isdecimal() else 0)
            if body.refused is None:
                await self._app(scope, body.receive, body.unless_refused(send))
        except (_BodyRefused, TooLarge):
            if body.refused is None:
                raise
        finally:
            self.used -= body.reserved
        if body.refused is not None:
            await refusal(*body.refused)(scope, receive, send)


@dataclass
class _Body:
    """One body: what is reserved for it, how much of it came, and why it is refused, if it is."""

    all: InFlight
    given: Receive
    reserved: int = 0
    came: int = 0
    until: float = 0.0
    complete: bool = False
    refused: tuple[int, str] | None = None

    def reserve(self, size: int) -> None:
        """Make room for a body of that size in all."""
        more = max(0, size - self.reserved)
        # Large bodies stop at three quarters, so that small requests find room while uploads are slow.
        room = self.all.most if size <= SMALL else self.all.most * 3 // 4
        if more and self.all.used + more > room:
            self.refused = (
                Unavailable.status,
                f"requests under way hold {self.all.used} bytes and there is no room for {size} more "
                "(server.max_inflight_mb); send it again in a moment, or in smaller batches",
            )
            return
        self.reserved += more
        self.all.used += more

    async def receive(self) -> Message:
        """The next piece; once the body is whole, whatever else the connection reports."""
        if self.complete:
            # A route may wait for the client's disconnect after the body; that wait has no limit.
            return await self.given()
        # The limit is on the whole body: a sender of one byte a second would pass any limit on single reads.
        self.until = self.until or asyncio.get_running_loop().time() + self.all.seconds
        message: Message = {}
        with suppress(TimeoutError):
            async with asyncio.timeout_at(self.until) as timeout:
                message = await self.given()
        if timeout.expired():
            self.refused = 408, f"the body did not arrive within {self.all.seconds:g} s (server.body_seconds)"
            raise _BodyRefused(self.refused[1])
        self.came += len(message.get("body", b""))
        if self.came > self.all.longest:
            # The route ends while it reads; its answer is not sent, ours is.
            self.refused = 413, f"the body is longer than {self.all.longest} bytes (server.max_body_mb)"
            raise TooLarge(self.refused[1])
        self.complete = not message.get("more_body", False)
        self.reserve(self.came)
        if self.refused is not None:
            raise _BodyRefused(self.refused[1])
        return message

    def unless_refused(self, send: Send) -> Send:
        """The route's answer is not sent when its body was refused: ours is."""

        async def answer(message: Message) -> None:
            if self.refused is None:
                await send(message)

        return answer


class InPieces(_Layer):
    """Stands inside the compression of answers.

    A trace of 100 MB is one message of the framework. Compressing it at once took the event loop for seconds, in which no other
    request was answered; between two pieces the others have their turn.
    """

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


SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
PARTS = (("/v1/", "otlp"), ("/api/public/", "langfuse"), ("/api/", "rest"), ("/mcp", "mcp"))


class Instruments:
    """The counters of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("evergold_requests", "Requests answered.", ["part", "status"], registry=self.registry)
        self.seconds = Histogram(
            "evergold_request_seconds",
            "Time from the request's head to the end of its answer.",
            ["part"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self._records = Counter(
            "evergold_otlp_records",
            "Spans and scores that came by OTLP, by outcome.",
            ["outcome"],
            registry=self.registry,
        )

    def count_records(self, **outcomes: int) -> None:
        """Count what became of the records of an OTLP request."""
        for outcome, number in outcomes.items():
            if number:
                self._records.labels(outcome).inc(number)


class Meter:
    """The layer that counts. A request without an answer, because its sender went away, counts as 499."""

    def __init__(self, app: ASGIApp, instruments: Instruments) -> None:
        self._app, self._instruments = app, instruments

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = GONE

        async def note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, note_status)
        finally:
            part = part_of(scope["path"])
            self._instruments.requests.labels(part, str(status)).inc()
            self._instruments.seconds.labels(part).observe(time.perf_counter() - began)


def part_of(path: str) -> str:
    """The part of the server that a path belongs to: a few, so that senders cannot make up series."""
    return next((part for prefix, part in PARTS if path.startswith(prefix)), "pages")


PACKED = 4  # level of gzip: 15 % more bytes than the highest, in a sixth of the time
LONG_ANSWER = 2048  # bytes from which an answer is compressed


def install_middleware(app: FastAPI, settings: Settings) -> None:
    """Add the layers; the last one added is the first that a request meets."""
    app.state.instruments = Instruments()
    app.add_middleware(SlashesInNames)
    app.add_middleware(InPieces)
    app.add_middleware(GZipMiddleware, minimum_size=LONG_ANSWER, compresslevel=PACKED)
    app.add_middleware(InFlight, settings=settings)
    app.add_middleware(Guard, settings=settings, tokens=configured_tokens(settings))
    app.add_middleware(Refusals, known=known_host(settings))
    app.add_middleware(Meter, instruments=app.state.instruments)
