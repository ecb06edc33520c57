"""One call under the limits of all calls: a gate, a budget, a deadline, and what is tried again.

Whoever puts cases to a target does it here, so that a 429 slows down everybody who shares the gate, and a target that
breaks its promise not to raise fails its own case and nothing else.
"""

import asyncio
from dataclasses import dataclass
from time import perf_counter

from evergold.calls.budget import Budget
from evergold.calls.failures import failed
from evergold.calls.gate import Gate
from evergold.calls.retry import FATAL, RetryPolicy
from evergold.errors import EvergoldError
from evergold.model.case import Case
from evergold.model.run import Attempt, Usage
from evergold.seams import Target


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
                self.gate.refused(attempt.retry_after if wait is not None and attempt.retry_after else 0.0)
            elif attempt.error is None:
                self.gate.succeeded()
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
        return failed(case, trial, "timeout", f"no answer within {deadline:g} s")
    except TargetUnusable:
        raise
    except Exception as problem:  # a plug-in that breaks its promise fails its case, not the run
        return failed(case, trial, "target", f"{type(problem).__name__}: {problem}")
