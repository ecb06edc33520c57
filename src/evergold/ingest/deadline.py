"""Answer a sender in time, whatever the database does."""

import asyncio
from concurrent.futures import Future
from typing import TypeVar

from evergold.errors import Unavailable

T = TypeVar("T")

ANSWER_SECONDS = 10.0  # what an exporter of OpenTelemetry waits before it gives up and sends again


async def answered(written: Future[T], seconds: float = ANSWER_SECONDS) -> T:
    """Wait for a commit, but not longer than `seconds`; what the writer has not begun by then is left out.

    What it has begun may still be stored. The sender sends it again in either case, and spans that are known count once.
    """
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.wrap_future(written)
    except TimeoutError:
        raise Unavailable(
            f"nothing was written within {seconds:g} s: the database is busy or does not answer; send it again later"
        ) from None
