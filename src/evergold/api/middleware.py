"""Middleware that every request passes before its route; `install_middleware` is the only function that others call.

From the outside in: counting and timing for `/metrics` (requests refused further in are counted too), requests with two
ends, cross-site requests, NUL in addresses, tokens and the size of a body, the memory of all bodies together, compression
of responses, long responses in pieces, slashes inside names. Each is a plain ASGI layer: OTLP passes them thousands of times
a second. The layers that decide whether a request may pass are in `api/guard.py`.
"""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass

from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware
from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evergold.api.access import configured_tokens
from evergold.api.errors import GONE, refusal
from evergold.api.guard import LONGEST_LENGTH, CrossSiteCheck, Guard, NulRefused, SlashesInNames, known_host
from evergold.errors import Unavailable
from evergold.settings import Settings

CODED = b"transfer-encoding"
SMALL = 1 << 20
PIECE = 1 << 18


class Framing:
    """Answers 400 to a request with two ends, and to chunks of HTTP/1.0, which knows none; closes the connection.

    A request with both a length and chunks ends in two places. A proxy that believes the one before a server that believes the
    other passes on what looks to it like a body and is a request of its own to the server: with the rights of whoever comes next
    on that connection. The parsers of uvicorn differ here, one of them takes such a request and keeps the connection open.
    """

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
        self.used = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        length = Headers(scope=scope).get("content-length", "") if scope["type"] == "http" else ""
        # Bodies of reading requests are ignored by the routes and never held.
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        body = _Body(self, receive)
        with body, suppress(_BodyRefused):
            # A body without a length (chunked) is counted as it comes.
            body.reserve(int(length[:LONGEST_LENGTH]) if length.isdecimal() else 0)
            if body.refused is None:
                await self._app(scope, body.receive, body.unless_refused(send))
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

    def __enter__(self) -> "_Body":
        return self

    def __exit__(self, *_: object) -> None:
        self.all.used -= self.reserved

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


class InPieces:
    """Stands inside the compression of answers.

    A trace of 100 MB is one message of the framework. Compressing it at once took the event loop for seconds, in which no other
    request was answered; between two pieces the others have their turn.
    """

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


SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
PARTS = (("/v1/", "otlp"), ("/api/public/", "langfuse"), ("/api/", "rest"))


class Instruments:
    """The counters of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter("evergold_requests", "Requests answered.", ["part", "status"], registry=self.registry)
        self._seconds = Histogram(
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

    def count_answer(self, part: str, status: int, seconds: float) -> None:
        self._requests.labels(part, str(status)).inc()
        self._seconds.labels(part).observe(seconds)

    def count_records(self, **outcomes: int) -> None:
        """Count what became of the records of an OTLP request."""
        for outcome, number in outcomes.items():
            if number:
                self._records.labels(outcome).inc(number)


class Meter:
    """The layer that counts. A request without an answer, because its sender went away, counts as 499."""

    def __init__(self, app: ASGIApp, instruments: Instruments) -> None:
        self._app = app
        self._instruments = instruments

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
            self._instruments.count_answer(part_of(scope["path"]), status, time.perf_counter() - began)


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
    app.add_middleware(NulRefused)
    app.add_middleware(CrossSiteCheck, known=known_host(settings))
    app.add_middleware(Framing)
    app.add_middleware(Meter, instruments=app.state.instruments)
