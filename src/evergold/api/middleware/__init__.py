"""Middleware: what every request passes before its route. `install_middleware` is the only function that others call.

From the outside in: counting and timing, requests with two ends, cross-site requests, NUL in addresses, tokens and the size of a
body, the memory of all bodies together, compression of answers, long answers in pieces, slashes inside names. Each is a plain
ASGI layer: OTLP passes them thousands of times a second.
"""

from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware

from evergold.api.access import configured_tokens
from evergold.api.middleware.body import Framing, InFlight, InPieces
from evergold.api.middleware.guard import CrossSiteCheck, Guard, NulRefused, SlashesInNames, known_host
from evergold.api.middleware.meter import Instruments, Meter
from evergold.settings import Settings

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
