"""Count and time the requests of a server, for `/metrics`.

One registry per application, so that two applications in one process do not add up. A plain ASGI layer outside all others: what
they refuse is counted too.
"""

import time

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evergold.api.errors import GONE

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

    def answered(self, part: str, status: int, seconds: float) -> None:
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

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            self._instruments.answered(part_of(scope["path"]), status, time.perf_counter() - began)


def part_of(path: str) -> str:
    """The part of the server that a path belongs to: a few, so that senders cannot make up series."""
    return next((part for prefix, part in PARTS if path.startswith(prefix)), "pages")
