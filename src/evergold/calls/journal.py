"""Results become durable in batches: what finished while one commit was under way is the next commit.

`add` returns when the item is on disk, so a worker that waits for it never has more than one result at risk, and twenty
workers share one fsync instead of paying for twenty.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Journal(Generic[T]):
    def __init__(self, write: Callable[[Sequence[T]], Awaitable[None]]) -> None:
        self._write = write
        self._items: list[T] = []
        self._next: asyncio.Future[None] | None = None
        self._writing: asyncio.Task[None] | None = None

    async def add(self, item: T) -> None:
        """Hand over one result; returns after the commit that holds it, or raises what stopped it."""
        self._items.append(item)
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        waiting = self._next
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._drain())
        # The future is shared by all items of a commit: cancelling one caller must not cancel it for the others.
        await asyncio.shield(waiting)

    async def close(self) -> None:
        """Wait for the commit under way, also when the run itself was cancelled."""
        if self._writing is not None:
            await asyncio.wait([self._writing])

    async def _drain(self) -> None:
        while self._items:
            items, self._items = self._items, []
            waiting, self._next = self._next, None
            assert waiting is not None
            try:
                await self._write(items)
            except Exception as problem:
                waiting.set_exception(problem)
                # Marks the exception as seen: a caller that was cancelled never awaits it, and asyncio would log it.
                waiting.exception()
            else:
                waiting.set_result(None)
