"""Calls that workers make: a target and a judge whose limits, budget and log stay with the process that asks.

What is called is made once in each worker, from the function that makes it here, and kept there with its connections.
"""

import asyncio
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from functools import lru_cache
from typing import Any

from evergold.calls.caller import TargetUnusable
from evergold.model.case import Case
from evergold.model.judging import Answer, Question
from evergold.model.run import Attempt

LOST = "the workers of the cluster went away; what is done stays: start them and go on with --resume"


class _Remote:
    """A target or judge that workers call. `here` is the same one in this process: it says what a call is and costs."""

    def __init__(self, here: Any, make: Callable[[], Any], executor: Executor) -> None:
        self._here = here
        self._make = pickle.dumps(make)
        self._executor = executor

    def __getattr__(self, name: str) -> Any:
        """Take members that a target may have (`request`, `priced`, `close`) from the one here."""
        return getattr(self._here, name)

    @property
    def identity(self) -> str:
        return str(self._here.identity)

    async def _call(self, method: str, *given: Any) -> Any:
        """Have a worker make one call; raises `TargetUnusable` when the workers are gone."""
        try:
            future = self._executor.submit(_call, self._make, method, given)
        except RuntimeError as problem:  # an executor that was closed
            raise TargetUnusable(LOST) from problem
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError as problem:
            task = asyncio.current_task()
            # Cancelled by whoever waits for it, or by a cluster that went away?
            if task is not None and task.cancelling():
                raise
            raise TargetUnusable(LOST) from problem


class RemoteTarget(_Remote):
    """A target that workers call."""

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        made: Attempt = await self._call("attempt", case, trial, seed)
        return made


class RemoteJudge(_Remote):
    """A judge that workers ask."""

    async def ask(self, question: Question) -> Answer:
        answer: Answer = await self._call("ask", question)
        return answer


def _call(make: bytes, method: str, given: tuple[Any, ...]) -> Any:
    """Call a target or judge in a worker, on the event loop that this process keeps for all of its calls."""
    return asyncio.run_coroutine_threadsafe(_make_call(make, method, given), _loop()).result()


async def _make_call(make: bytes, method: str, given: tuple[Any, ...]) -> Any:
    return await getattr(_load(make), method)(*given)


@lru_cache(maxsize=16)
def _load(make: bytes) -> Any:
    """Make what is called, once; only the one thread of the event loop comes here."""
    return pickle.loads(make)()


@lru_cache(maxsize=1)
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="evergold-calls", daemon=True).start()
    return loop
