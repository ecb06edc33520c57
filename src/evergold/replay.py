"""Tools of an app under replay: the app's own code runs, its tool calls are answered from the record.

    from evergold import replay

    @replay.tool
    def find_reservation(id: str) -> dict:
        return database.find(id)

Outside of a replay the function runs as it is. Under `evergold run --replay` (or inside `with replay.session(url)`) it is
not called: its name and arguments go to the replay, which gives the recorded result. A call that failed in the record
raises `ToolFailed`; a call at which the replay ends raises `Stopped`, after which nothing the app does is counted.
A `command:` app finds the address in its environment, an `http:` app in `tools_url` of the request. Standard library only.
"""

import asyncio
import functools
import inspect
import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol, overload

URL_VARIABLE = "EVERGOLD_REPLAY_URL"
GONE = 410
_SECONDS = 600.0


class ToolFailed(RuntimeError):
    """The tool answered with an error, in the record or because the call was not recorded."""


class Stopped(RuntimeError):
    """The replay ended at this call."""


class ToolReply(NamedTuple):
    result: Any
    failed: bool = False


class ToolSession(Protocol):
    """What answers tool calls while a replay is under way."""

    def ask(self, name: str, args: dict[str, Any]) -> ToolReply: ...

    async def ask_async(self, name: str, args: dict[str, Any]) -> ToolReply: ...

    def url(self) -> str: ...


current: ContextVar[ToolSession | None] = ContextVar("evergold_replay", default=None)


def active() -> bool:
    """Whether tool calls are answered from a record here."""
    return _session() is not None


@contextmanager
def session(url: str) -> Iterator[None]:
    """Answer tool calls from the replay at this address while the block runs: `tools_url` of an `http:` request."""
    before = current.set(_Remote(url))
    try:
        yield
    finally:
        current.reset(before)


@overload
def tool(function: Callable[..., Any]) -> Callable[..., Any]: ...
@overload
def tool(
    function: str | None = None, *, name: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def tool(function: Any = None, *, name: str | None = None) -> Any:
    """Make a function a tool that a replay answers: `@tool`, `@tool(name="find")` or `tool("find")(function)`.

    Arguments are sent by the names of the function's parameters, as the model named them. The recorded result is given
    as text to a function that returns `str`; else JSON is read.
    """
    if not callable(function):
        # `@tool(name="x")` and `tool("x")`: the function comes with the next call.
        return functools.partial(_wrap, name=name or function)
    return _wrap(function, name)


def call(name: str, args: Mapping[str, Any] | None = None) -> Any:
    """Ask the replay for the result of a call; raises `RuntimeError` outside of one."""
    return result_of(name, _require_session().ask(name, dict(args or {})))


async def call_async(name: str, args: Mapping[str, Any] | None = None) -> Any:
    """Like `call`, without blocking the event loop."""
    return result_of(name, await _require_session().ask_async(name, dict(args or {})))


def result_of(name: str, reply: ToolReply) -> Any:
    """The result of a reply; raises `ToolFailed` where the tool answered with an error."""
    if reply.failed:
        raise ToolFailed(f"{name}: {reply.result}")
    return reply.result


def _wrap(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    called = name or function.__name__
    signature = inspect.signature(function)
    # The text form too: with `from __future__ import annotations` annotations are texts.
    as_text = signature.return_annotation in (str, "str")

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def ask_async(*given: Any, **named: Any) -> Any:
            session = _session()
            if session is None:
                return await function(*given, **named)
            return _read(called, await session.ask_async(called, _arguments(signature, given, named)), as_text)

        return ask_async

    @functools.wraps(function)
    def ask(*given: Any, **named: Any) -> Any:
        session = _session()
        if session is None:
            return function(*given, **named)
        return _read(called, session.ask(called, _arguments(signature, given, named)), as_text)

    return ask


def _arguments(signature: inspect.Signature, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name, as they were given: no defaults, no `self`; what `**names` collects stands beside the others."""
    arguments: dict[str, Any] = {}
    # `bind` without defaults: the record holds what the model named, and nothing else.
    for name, value in signature.bind(*given, **named).arguments.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            arguments |= value
        # A model names the arguments of a method without its object.
        elif name not in ("self", "cls"):
            arguments[name] = list(value) if isinstance(value, tuple) else value
    return arguments


def _read(name: str, reply: ToolReply, as_text: bool) -> Any:
    result = result_of(name, reply)
    if as_text or not isinstance(result, str):
        return result if not as_text or isinstance(result, str) else json.dumps(result)
    try:
        return json.loads(result)
    except ValueError:
        return result


def _session() -> ToolSession | None:
    session = current.get()
    # A `command:` app is its own process, so only the environment reaches it.
    if session is None and (url := os.environ.get(URL_VARIABLE)):
        return _Remote(url)
    return session


def _require_session() -> ToolSession:
    session = _session()
    if session is None:
        raise RuntimeError("no replay is under way; run with --replay, or open one with evergold.replay.session(url)")
    return session


class _Remote:
    """A replay in another process, asked over HTTP: `{"name", "args"}` in, `{"result", "failed"}` out."""

    def __init__(self, url: str) -> None:
        self._url = url

    def url(self) -> str:
        return self._url

    def ask(self, name: str, args: dict[str, Any]) -> ToolReply:
        body = json.dumps({"name": name, "args": args}, default=str).encode()
        request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"}, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as reply:
                read = json.load(reply)
        except urllib.error.HTTPError as problem:
            reason = problem.read().decode("utf-8", "replace")
            # 410 is how the replay says that it has ended; other statuses are defects.
            raise (Stopped if problem.code == GONE else RuntimeError)(f"{name}: {reason}") from problem
        return ToolReply(read.get("result"), bool(read.get("failed")))

    async def ask_async(self, name: str, args: dict[str, Any]) -> ToolReply:
        return await asyncio.to_thread(self.ask, name, args)
