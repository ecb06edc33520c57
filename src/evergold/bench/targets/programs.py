"""Apps of the user's own as targets: a program, an HTTP endpoint or a Python function. `messages` reads their replies."""

import asyncio
import importlib
import inspect
import os
import shlex
import signal
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any

import orjson

from evergold import replay
from evergold.bench.targets.messages import MAX_OUTPUT, messages, payload, prompt, read_answer, read_text_answer
from evergold.calls.caller import failed_attempt, retry_after
from evergold.credentials import Secret, hide
from evergold.errors import BadInput, describe_unknown
from evergold.model.case import Case
from evergold.model.run import Attempt
from evergold.settings import Settings

OPERATORS = frozenset(("|", "||", "&", "&&", "<", ">", ">>"))  # of a shell, which is not there


class CommandTarget:
    """`command:PROGRAM ARGS`: one process per attempt, JSON on its input, JSON or text on its output.

    The words of the command are fixed; nothing of a case ever reaches a shell.
    """

    def __init__(self, words: list[str], params: Mapping[str, Any]) -> None:
        self._words, self._params = words, dict(params)

    @property
    def identity(self) -> str:
        return f"command:{hide(shlex.join(self._words))}"

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        pipe = asyncio.subprocess.PIPE
        session = replay.current.get()
        environment = None if session is None else {**os.environ, replay.URL_VARIABLE: session.url()}
        try:
            process = await asyncio.create_subprocess_exec(
                # A session of its own, so that a timeout ends the program with all its children.
                *self._words,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                start_new_session=True,
                env=environment,
            )
        except OSError as problem:
            return failed_attempt(
                case, trial, "unknown_model", f"{self._words[0]} cannot be started: {problem.strerror}"
            )
        try:
            output, errors = await process.communicate(orjson.dumps(payload(case, self._params, trial, seed)))
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode:
            # The last line of stderr, where programs say what went wrong; many then name their help, which says nothing.
            lines = errors.decode("utf-8", "replace").strip().splitlines()
            telling = [line for line in lines if not line.startswith("Try ")] or lines
            reason = telling[-1] if telling else "nothing on its error output"
            return failed_attempt(case, trial, "target", f"exit code {process.returncode}: {reason}")
        return read_text_answer(case, trial, output)


def make_command(address: str, params: Mapping[str, Any], _settings: Settings) -> CommandTarget:
    try:
        words = shlex.split(address)
    except ValueError as problem:
        raise BadInput(f"command:{address} cannot be read: {problem}") from problem
    if meant := next((word for word in words if word in OPERATORS or word.endswith(";")), ""):
        raise BadInput(
            f"command: runs one program without a shell, which would read {meant!r}; write command:sh -c '…'"
        )
    if not words:
        raise BadInput("command: needs a program, for example command:python3 answer.py")
    return CommandTarget(words, params)


_MAX_BODY = 4 * MAX_OUTPUT


class HttpTarget:
    """`http:URL`: one POST of JSON per attempt; the reply is JSON or plain text."""

    def __init__(self, url: str, params: Mapping[str, Any]) -> None:
        self._url, self._params = Secret(url), dict(params)
        self._client: Any = None

    @property
    def identity(self) -> str:
        return f"http:{hide(self._url)}"

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        import httpx2

        from evergold.calls.endpoints import SealedClient

        if self._client is None:
            self._client = SealedClient(_MAX_BODY)
        try:
            reply = await self._client.post(self._url, json=payload(case, self._params, trial, seed))
        except httpx2.TimeoutException as problem:
            return failed_attempt(case, trial, "timeout", str(problem))
        except httpx2.HTTPError as problem:
            return failed_attempt(case, trial, "connection", f"{self._url}: {problem}")
        if len(reply.content) > _MAX_BODY:
            return failed_attempt(case, trial, "too_large", f"answered more than {_MAX_BODY:,} bytes")
        if reply.status_code >= 400:
            status, shown = reply.status_code, reply.content[:200].decode("utf-8", "replace")
            kind = {401: "auth", 403: "auth", 429: "rate_limit"}.get(status, "server" if status >= 500 else "client")
            return failed_attempt(case, trial, kind, f"HTTP {status}: {shown}", retry_after(reply.headers))
        if "html" in reply.headers.get("content-type", ""):
            return failed_attempt(
                case, trial, "malformed", f"{self._url} answered with an HTML page; is the address right?"
            )
        return read_text_answer(case, trial, reply.content)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None


def make_http(address: str, params: Mapping[str, Any], _settings: Settings) -> HttpTarget:
    """`http:https://host/path`, or the URL alone: `http://host/path`."""
    url = f"http:{address}" if address.startswith("//") else address
    if not url.startswith(("http://", "https://")):
        raise BadInput(f"http:{address} is not a URL; write for example http:http://127.0.0.1:8000/answer")
    return HttpTarget(url, params)


def make_https(address: str, params: Mapping[str, Any], settings: Settings) -> HttpTarget:
    return make_http(f"https:{address}", params, settings)


# More than a run has calls under way by default: plain functions may all wait at once.
_THREADS = 64
GIVEN = ("prompt", "case", "messages", "tools", "trial", "seed", "call_tool")


class PythonTarget:
    """`python:MODULE:FUNCTION`: a function, plain or async.

    It gets what its parameters are called (`GIVEN`), of which `call_tool` answers a tool call under replay (async for an
    async function); one that names none of them gets the prompt as text. It returns text or a mapping. What it raises
    becomes the attempt's error. A plain function runs in a thread, so that one that waits does not hold up the others.
    """

    def __init__(self, name: str, function: Callable[..., Any], params: Mapping[str, Any]) -> None:
        self._name, self._function = name, function
        self._params = dict(params)
        self._wanted = [name for name in inspect.signature(function).parameters if name in GIVEN]
        self._is_async = any(map(inspect.iscoroutinefunction, (function, getattr(function, "__call__", None))))  # noqa: B004
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
            return failed_attempt(case, trial, "target", f"{type(problem).__name__}: {problem}")
        return read_answer(case, trial, reply)

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


# Functions that were given as objects, by the address their runs name: those of a notebook or a closure cannot be imported.
_functions: dict[str, Callable[..., Any]] = {}


def name_function(function: Callable[..., Any]) -> str:
    """Give the name under which this process runs a function as a model; a later function of that name takes it over."""
    shown = getattr(function, "__qualname__", None) or type(function).__qualname__
    address = f"{getattr(function, '__module__', None) or '__main__'}:{shown}"
    _functions[address] = function
    return f"python:{address}"


def make_python(address: str, params: Mapping[str, Any], _settings: Settings) -> PythonTarget:
    if address in _functions:
        return PythonTarget(address, _functions[address], params)
    module_name, _, function_name = address.partition(":")
    if not module_name or not function_name:
        raise BadInput(f"python:{address} is not python:MODULE:FUNCTION, for example python:my_app:answer")
    if "" not in sys.path:
        # A script of the user's own in the current folder is found first, as `python` itself would.
        sys.path.insert(0, "")
    try:
        module = importlib.import_module(module_name)
    except ImportError as problem:
        raise BadInput(f"python:{address}: cannot import {module_name!r}: {problem}") from problem
    function = getattr(module, function_name, None)
    if not callable(function):
        callables = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        raise BadInput(f"python:{address}: {describe_unknown('function', function_name, callables)}")
    return PythonTarget(address, function, params)
