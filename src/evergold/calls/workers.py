"""Several coroutines as one: they end together, and the first error is the error."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def together(workers: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run all, and give their results in order.

    The first failure (or a cancellation) stops the rest, waits for them to let go, and is raised.
    """
    tasks = [asyncio.ensure_future(worker) for worker in workers]
    try:
        return await asyncio.gather(*tasks)
    # `gather` raises the first error and leaves the others running; they must not outlive this call.
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
