"""One call under the limits of all calls: a gate, a budget, a deadline, and what is tried again.

Whoever puts cases to a target does it here, so that a 429 slows down everybody who shares the gate, and a target that
breaks its promise not to raise fails its own case and nothing else.

Which errors are retried, how often and after how long is decided by the class of the error, never by its words:

| class                                   | why                                       | tried again           |
|-----------------------------------------|-------------------------------------------|-----------------------|
| rate_limit                              | the server asks to be called later        | yes, all calls slow down |
| server, connection                      | a bad moment                              | yes                   |
| timeout, malformed                      | perhaps a bad moment                      | once                  |
| auth, quota, unknown_model              | no call of this run can succeed           | no: the run stops     |
| everything else                         | this case fails, the others go on         | no                    |
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from random import Random
from time import perf_counter, time
from typing import Any, Generic, TypeVar

from evergold.calls.budget import Budget
from evergold.credentials import hide
from evergold.errors import EvergoldError
from evergold.model.case import Case
from evergold.model.run import Attempt, Usage
from evergold.seams import Target

_LONGEST_LINE = 500
T = TypeVar("T")


class CallFailure(Exception):
    """A call that failed: a class the retry policy knows, one line, when to call again, and the HTTP status if it has one."""

    def __init__(
        self, error_class: str, message: str, retry_after: float | None = None, status: int | None = None
    ) -> None:
        super().__init__(hide(message))
        self.error_class, self.retry_after, self.status = error_class, retry_after, status

    def attempt(self, case: Case, trial: int) -> Attempt:
        return failed_attempt(case, trial, self.error_class, str(self), self.retry_after)


def failed_attempt(case: Case, trial: int, error_class: str, error: str, retry_after: float | None = None) -> Attempt:
    """An attempt whose call failed. One line, and no longer than a line should be."""
    # Hidden before it is cut: half a key would stay.
    line = " ".join(hide(error).split())[:_LONGEST_LINE] or error_class
    return Attempt(case_id=case.id, trial=trial, error=line, error_class=error_class, retry_after=retry_after)


# 408 and 409 are what the OpenAI clients retry as well: a timeout and a lock on the server's side.
CLASSES = {401: "auth", 403: "auth", 404: "unknown_model", 408: "server", 409: "server", 429: "rate_limit"}


def classify(status: int, code: Any, message: str, headers: Mapping[str, str]) -> CallFailure:
    """What a refusal of an OpenAI-compatible endpoint means for this call and for the others."""
    kind = CLASSES.get(status) or ("server" if status >= 500 else "bad_request")
    if status == 429 and code == "insufficient_quota":
        kind = "quota"  # OpenAI answers 429 for an empty account too; waiting does not fill it
    wait = retry_after(headers) if kind in ("rate_limit", "server") else None
    return CallFailure(kind, message, wait, status)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from `retry-after-ms` or `retry-after`, which is a number or an HTTP date."""
    # `retry-after-ms` is what Azure and OpenAI add, more precise than whole seconds, so it wins.
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        raw = headers.get(name)
        if raw is None:
            continue
        with suppress(ValueError):
            return max(0.0, float(raw) * scale)
        with suppress(ValueError):
            return max(0.0, parsedate_to_datetime(raw).timestamp() - time())
    return None


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


async def call_with_retries(policy: RetryPolicy, call: Callable[[], Awaitable[T]]) -> T:
    """Call until there is a reply; raise the last `CallFailure` when the policy gives up."""
    sent = 0
    while True:
        try:
            return await call()
        except CallFailure as failure:
            sent += 1
            wait = policy.wait(failure.error_class, sent, failure.retry_after)
            if wait is None:
                raise
        await asyncio.sleep(wait)


_START = 8


class Gate:
    """Limits the calls under way: `async with gate:` around one call, then `on_success()` or `on_refusal(...)`.

    The limit starts small and grows by one with every success until the first refusal, which halves it; after that by one
    per round of successes. Calls that were under way when it was halved do not halve it again: one burst is one signal.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(min(_START, most))
        self.active = 0
        self._grown = False
        self._ignore = 0
        self._closed_until = 0.0
        self._changed = asyncio.Event()

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        # Whoever waits is woken in the order of asking and tests again: others may have entered before.
        while self.active >= int(self.limit) or loop.time() < self._closed_until:
            self._changed.clear()
            await self._changed.wait()
        self.active += 1

    async def __aexit__(self, *_: object) -> None:
        self.active -= 1
        self._changed.set()

    def on_success(self) -> None:
        if self.limit < self.most:
            # 1 / limit for each success is one more slot per round of `limit` calls (additive increase, as in TCP).
            self.limit = min(self.most, self.limit + (1 / self.limit if self._grown else 1))
            self._changed.set()
        self._ignore = max(0, self._ignore - 1)

    def on_refusal(self, wait: float) -> None:
        """A call met a rate limit: shrink once per burst, and send nothing for `wait` seconds."""
        loop = asyncio.get_running_loop()
        if wait > 0:
            self._closed_until = max(self._closed_until, loop.time() + wait)
            # The timer may fire a little early by the loop's clock; a millisecond later the gate is open.
            loop.call_at(self._closed_until + 0.001, self._changed.set)
        if self._ignore > 0:
            self._ignore -= 1
            return
        self._grown = True
        self.limit = max(1.0, self.limit / 2)
        # Calls that are under way were sent before the limit shrank: their refusals are the same signal.
        self._ignore = max(0, self.active - 1)


@dataclass
class _Commit(Generic[T]):
    """What is written together, and what went wrong with it."""

    items: list[T] = field(default_factory=list)
    problem: Exception | None = None


class Journal(Generic[T]):
    """Makes results durable in batches: what finished while one commit was under way is the next commit.

    `add` returns when the item is on disk, so a worker that waits for it never has more than one result at risk, and
    twenty workers share one fsync instead of paying for twenty.
    """

    def __init__(self, write: Callable[[Sequence[T]], Awaitable[None]]) -> None:
        self._write = write
        self._next: _Commit[T] = _Commit()
        self._turn = asyncio.Lock()

    async def add(self, item: T) -> None:
        """Hand over one result; returns after the commit that holds it, or raises what stopped it."""
        commit = self._next
        commit.items.append(item)
        # Others wait for the same commit: cancelling one of them must not cancel it.
        await asyncio.shield(self._keep(commit))

    async def close(self) -> None:
        """Wait for the commits under way, also when the run itself was cancelled."""
        async with self._turn:
            return

    async def _keep(self, commit: _Commit[T]) -> None:
        async with self._turn:
            if commit is self._next:  # nobody has written it meanwhile
                self._next = _Commit()
                try:
                    await self._write(commit.items)
                except Exception as problem:
                    commit.problem = problem
        if commit.problem is not None:
            raise commit.problem


class TargetUnusable(EvergoldError):
    """No call can succeed (a wrong key, an unknown model): whoever calls stops instead of failing case by case."""


@dataclass
class Caller:
    """The limits every call is made under."""

    gate: Gate
    budget: Budget
    retry: RetryPolicy
    deadline: float

    async def call(self, target: Target, case: Case, trial: int = 0, seed: int | None = None) -> Attempt:
        """One attempt, sent as often as the retry policy allows; latency is that of the last send.

        Raises `TargetUnusable` when no other call could fare better.
        """
        sent = 0
        while True:
            async with self.gate:
                await self.budget.reserve()
                attempt = None
                started = perf_counter()
                try:
                    attempt = await _send(case, trial, seed, target, self.deadline)
                # A cancelled call must give its reservation back too, or others would wait for it for ever.
                finally:
                    self.budget.settle(attempt.usage if attempt else Usage())
                latency = (perf_counter() - started) * 1000
            sent += 1
            wait = self.retry.wait(attempt.error_class, sent, attempt.retry_after)
            if attempt.error_class == "rate_limit":
                # The gate closes only where the call is sent again; a wait too long to honour must not stall the other
                # calls.
                self.gate.on_refusal(attempt.retry_after if wait is not None and attempt.retry_after else 0.0)
            elif attempt.error is None:
                self.gate.on_success()
            if attempt.error_class in FATAL:
                raise TargetUnusable(f"{target.identity} cannot be used ({attempt.error_class}): {attempt.error}")
            if wait is None:
                # A target that answered from its cache sets `sends` to 0: nothing went over the wire.
                sends = sent if attempt.sends else 0
                return attempt.model_copy(update={"sends": sends, "latency_ms": round(latency, 3), "retry_after": None})
            await asyncio.sleep(wait)


async def _send(case: Case, trial: int, seed: int | None, target: Target, deadline: float) -> Attempt:
    try:
        async with asyncio.timeout(deadline):
            return await target.attempt(case, trial, seed)
    except TimeoutError:
        return failed_attempt(case, trial, "timeout", f"no answer within {deadline:g} s")
    except TargetUnusable:
        raise
    except Exception as problem:  # a plug-in that breaks its promise fails its case, not the run
        return failed_attempt(case, trial, "target", f"{type(problem).__name__}: {problem}")


async def gather_results(workers: Iterable[Awaitable[T]]) -> list[T]:
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


async def close_all(*parts: object) -> None:
    """Close the targets and judges that keep connections; a plug-in need not have a `close`."""
    for part in parts:
        close = getattr(part, "close", None)
        if close is not None:
            await close()
