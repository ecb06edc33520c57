"""Limit the calls under way: more while they succeed, half as many after a 429, none while asked to wait.

The limit starts small and grows by one with every success until the first refusal; after that by one per round of
successes. Calls that were already under way when the limit was halved do not halve it again: one burst is one signal.
"""

import asyncio
from collections import deque
from types import TracebackType

_START = 8


class Gate:
    """`async with gate:` around one call, then `succeeded()` or `refused(...)`."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(min(_START, most))
        self.active = 0
        self.backoffs = 0
        self._grown = False
        self._ignore = 0
        self._closed_until = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        # A woken call tests again: another may have entered between the wake-up and this line.
        while self.active >= int(self.limit) or loop.time() < self._closed_until:
            turn = loop.create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                # The turn may have been given to this call already; it passes on to the next in line.
                self._wake()
                raise
        self.active += 1

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.active -= 1
        self._wake()

    def succeeded(self) -> None:
        if self.limit < self.most:
            # 1 / limit for each success is one more slot per round of `limit` calls (additive increase, as in TCP).
            self.limit = min(self.most, self.limit + (1 / self.limit if self._grown else 1))
        self._ignore = max(0, self._ignore - 1)

    def refused(self, wait: float) -> None:
        """A call met a rate limit: shrink once per burst, and send nothing for `wait` seconds."""
        loop = asyncio.get_running_loop()
        if wait > 0:
            self._closed_until = max(self._closed_until, loop.time() + wait)
            # The timer may fire a little early by the loop's clock; a millisecond later the gate is open.
            loop.call_at(self._closed_until + 0.001, self._wake)
        if self._ignore > 0:
            self._ignore -= 1
            return
        self._grown = True
        self.backoffs += 1
        self.limit = max(1.0, self.limit / 2)
        # Calls that are under way were sent before the limit shrank: their refusals are the same signal.
        self._ignore = max(0, self.active - 1)

    def _wake(self) -> None:
        if asyncio.get_running_loop().time() < self._closed_until:
            return
        free = int(self.limit) - self.active
        while self._waiting and free > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1
