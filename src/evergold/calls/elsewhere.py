"""Calls that workers make: a target and a judge whose limits, budget and log stay with the process that asks.

What is called is made once in each worker, from the function that makes it here, and kept there with its connections.
"""

import asyncio
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from functools import lru_cache
from typing import Any, TypeVar

from evergold.calls.caller import TargetUnusable
from evergold.model.case import Case
from evergold.model.judging import Answer, Question
from evergold.model.run import Attempt
from evergold.seams import Judge, Target

Result = TypeVar("Result")


class TargetElsewhere:
    """A target that workers call. `target` is the same one here, which says what a request is and what it costs."""

    def __init__(self, target: Target, make: Callable[[], Target], executor: Executor) -> None:
        self._target = target
        self._make = pickle.dumps(make)
        self._executor = executor

    def __getattr__(self, name: str) -> Any:
        """Members that a target may have (`request`, `priced`, `close`) are those of the one here."""
        return getattr(self._target, name)

    @property
    def identity(self) -> str:
        return self._target.identity

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        made: Attempt = await done_elsewhere(self._executor, _call, self._make, "attempt", (case, trial, seed))
        return made


class JudgeElsewhere:
    """A judge that workers ask."""

    def __init__(self, judge: Judge, make: Callable[[], Judge], executor: Executor) -> None:
        self._judge = judge
        self._make = pickle.dumps(make)
        self._executor = executor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._judge, name)

    @property
    def identity(self) -> str:
        return self._judge.identity

    async def ask(self, question: Question) -> Answer:
        answer: Answer = await done_elsewhere(self._executor, _call, self._make, "ask", (question,))
        return answer


async def done_elsewhere(executor: Executor, work: Callable[..., Result], *given: Any) -> Result:
    """Have a worker do one thing; raises `TargetUnusable` when the workers are gone."""
    try:
        future = executor.submit(work, *given)
    except RuntimeError as problem:  # an executor that was closed
        raise TargetUnusable(_LOST) from problem
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError as problem:
        task = asyncio.current_task()
        # Cancelled by whoever waits for it, or by a cluster that went away?
        if task is not None and task.cancelling():
            raise
        raise TargetUnusable(_LOST) from problem


_LOST = "the workers of the cluster went away; what is done stays: start them and go on with --resume"


def _call(make: bytes, method: str, given: tuple[Any, ...]) -> Any:
    """Call a target or judge in a worker, on the event loop that this process keeps for all of its calls."""
    return asyncio.run_coroutine_threadsafe(_called(make, method, given), _loop()).result()


async def _called(make: bytes, method: str, given: tuple[Any, ...]) -> Any:
    return await getattr(_made(make), method)(*given)


@lru_cache(maxsize=16)
def _made(make: bytes) -> Any:
    """What is called, made once; only the one thread of the event loop comes here."""
    return pickle.loads(make)()


@lru_cache(maxsize=1)
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="evergold-calls", daemon=True).start()
    return loop
