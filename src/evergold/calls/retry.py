"""Decide which errors are retried, how often and after how long: by the class of the error, never by its words.

| class                                   | why                                       | tried again           |
|-----------------------------------------|-------------------------------------------|-----------------------|
| rate_limit                              | the server asks to be called later        | yes, all calls slow down |
| server, connection                      | a bad moment                              | yes                   |
| timeout, malformed                      | perhaps a bad moment                      | once                  |
| auth, quota, unknown_model              | no call of this run can succeed           | no: the run stops     |
| everything else                         | this case fails, the others go on         | no                    |
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import TypeVar

from evergold.calls.failures import Failure

Reply = TypeVar("Reply")

FATAL = frozenset({"auth", "quota", "unknown_model"})
_ONCE = frozenset({"timeout", "malformed"})
_OFTEN = frozenset({"rate_limit", "server", "connection"})


@dataclass
class RetryPolicy:
    """Exponential backoff with equal jitter (half to whole of the ceiling); a server's `Retry-After` wins over it."""

    tries: int = 5
    first_wait: float = 0.5
    longest_wait: float = 60.0
    dice: Random = field(default_factory=Random)

    def wait(self, error_class: str | None, sent: int, retry_after: float | None) -> float | None:
        """Seconds to wait before sending again, or None when this was the last try."""
        allowed = self.tries if error_class in _OFTEN else min(2, self.tries) if error_class in _ONCE else 1
        if sent >= allowed:
            return None
        if retry_after is not None:
            # A server that asks for more than the longest wait is down for this run: the case fails instead of blocking
            # a slot.
            return retry_after if retry_after <= self.longest_wait else None
        ceiling = min(self.longest_wait, self.first_wait * 2 ** (sent - 1))
        return self.dice.uniform(ceiling / 2, ceiling)


async def retried(
    policy: RetryPolicy, call: Callable[[], Awaitable[Reply]], failure_of: Callable[[Reply], Failure | None]
) -> Reply:
    """Call until a reply is no failure or the policy gives up; the last reply either way."""
    for sent in count(1):
        reply = await call()
        failure = failure_of(reply)
        wait = policy.wait(failure.error_class, sent, failure.retry_after) if failure else None
        if wait is None:
            break
        await asyncio.sleep(wait)
    return reply
