"""`python:MODULE:FUNCTION`: a function of the user's, plain or async.

It gets what its parameters are called: `prompt`, `case`, `messages`, `tools`, `trial`, `seed`, and `call_tool`, which answers a
tool call under replay (async for an async function); one that names none of them gets the prompt as text. It returns text or a
mapping (see `replies`). What it raises becomes the attempt's error. A plain function runs in a thread, so that one that waits
does not hold up the others.
"""

import asyncio
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any

from evergold import replay
from evergold.bench.targets.prompts import messages, prompt
from evergold.bench.targets.replies import answered
from evergold.calls.caller import failed
from evergold.errors import BadInput, unknown
from evergold.model.case import Case
from evergold.model.run import Attempt
from evergold.settings import Settings

# More than a run has calls under way by default: plain functions may all wait at once.
_THREADS = 64
GIVEN = ("prompt", "case", "messages", "tools", "trial", "seed", "call_tool")


class PythonTarget:
    def __init__(self, name: str, function: Callable[..., Any], params: Mapping[str, Any]) -> None:
        self._name = name
        self._function = function
        self._params = dict(params)
        self._wanted = [name for name in inspect.signature(function).parameters if name in GIVEN]
        self._is_async = inspect.iscoroutinefunction(function)
        self._threads: ThreadPoolExecutor | None = None

    @property
    def identity(self) -> str:
        return f"python:{self._name}"

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        call = self._bound(case, trial, seed)
        try:
            if self._is_async:
                reply = await call()
            else:
                loop = asyncio.get_running_loop()
                self._threads = self._threads or ThreadPoolExecutor(_THREADS, "evergold-target")
                # The context carries the replay session into the thread.
                reply = await loop.run_in_executor(self._threads, copy_context().run, call)
        except Exception as problem:  # whatever a user's function raises is that attempt's error
            return failed(case, trial, "target", f"{type(problem).__name__}: {problem}")
        return answered(case, trial, reply)

    def _bound(self, case: Case, trial: int, seed: int | None) -> Callable[[], Any]:
        """The call with what its parameters are called; a function that names none of them gets the prompt."""
        if not self._wanted:
            return partial(self._function, prompt(case, self._params))
        makers: dict[str, Callable[[], Any]] = {
            "prompt": lambda: prompt(case, self._params),
            "case": lambda: case,
            "messages": lambda: messages(case, self._params),
            "tools": lambda: list(case.tools),
            "trial": lambda: trial,
            "seed": lambda: seed,
            "call_tool": lambda: replay.call_async if self._is_async else replay.call,
        }
        return partial(self._function, **{name: makers[name]() for name in self._wanted})

    async def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None


def make_python(address: str, params: Mapping[str, Any], _settings: Settings) -> PythonTarget:
    module_name, _, function_name = address.partition(":")
    if not module_name or not function_name:
        raise BadInput(f"python:{address} is not python:MODULE:FUNCTION, for example python:my_app:answer")
    if "" not in sys.path:
        # A script of the user's own is found first, as `python` itself would.
        sys.path.insert(0, "")  # a script of the user's stands in the current folder
    try:
        module = importlib.import_module(module_name)
    except ImportError as problem:
        raise BadInput(f"python:{address}: cannot import {module_name!r}: {problem}") from problem
    function = getattr(module, function_name, None)
    if not callable(function):
        callables = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        raise BadInput(f"python:{address}: {unknown('function', function_name, callables)}")
    return PythonTarget(address, function, params)
