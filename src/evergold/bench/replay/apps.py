"""Apps that run their own code under replay and ask for the results of their tool calls while they work.

A `python:` app asks in this process, by `evergold.replay.tool` or its parameter `call_tool`; `http:` and `command:` apps
ask at an address on this machine. Every call becomes a message of the trajectory, as if a model had made it.
"""

import asyncio
import json
import secrets
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError

from evergold import replay as app_side
from evergold.bench.replay.play import Play, StepDraft
from evergold.model.nesting import Values
from evergold.model.run import OnUnrecorded, ReplayEnd, ResultOrigin
from evergold.model.tool_calls import ToolCall

# Bytes; arguments of a tool call beyond that are a mistake of the app.
MAX_BODY = 16_000_000
_ARGS: TypeAdapter[dict[str, Any]] = TypeAdapter(Values)


class AppTurn(Protocol):
    """The turn of an app: its trajectory so far, what this turn adds, and how an unrecorded call is settled."""

    play: Play
    draft: StepDraft

    def settle(self, call: ToolCall) -> Coroutine[Any, Any, ToolCall | None]: ...


class AppTools:
    """Answers the tool calls of one turn of an app, from whichever thread they come."""

    def __init__(self, server: "ToolServer", turn: AppTurn) -> None:
        self._server = server
        self._turn = turn
        self._loop = asyncio.get_running_loop()
        # Parallel calls of an app are settled one after the other: the record is consumed in order.
        self._one_by_one = asyncio.Lock()
        self._url: str | None = None

    @contextmanager
    def open(self) -> Iterator[None]:
        """Answer the calls that the code inside makes."""
        before = app_side.current.set(self)
        try:
            yield
        finally:
            app_side.current.reset(before)
            if self._url is not None:
                self._server.forget(self._url)

    def url(self) -> str:
        """The address at which another process asks; it exists from the first time that it is wanted."""
        self._url = self._url or self._server.answer_with(self)
        return self._url

    def ask(self, name: str, args: dict[str, Any]) -> app_side.ToolReply:
        if not self._on_loop():
            # Another thread hands the work to the loop and waits; the loop is free meanwhile.
            return asyncio.run_coroutine_threadsafe(self._answer(name, args), self._loop).result()
        # On the loop itself waiting would be a deadlock: only what needs no waiting is answered.
        if self._must_wait(name, args):
            reason = "a plain function called from async code cannot wait for an invented result; make the tool async"
            return _reply(self._turn.draft.make_up(self._begin(name, args), reason, True, ResultOrigin.ERROR))
        return _finished(self._settle(name, args))

    async def ask_async(self, name: str, args: dict[str, Any]) -> app_side.ToolReply:
        if self._on_loop():
            return await self._answer(name, args)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._answer(name, args), self._loop))

    async def _answer(self, name: str, args: dict[str, Any]) -> app_side.ToolReply:
        async with self._one_by_one:
            return await self._settle(name, args)

    async def _settle(self, name: str, args: dict[str, Any]) -> app_side.ToolReply:
        done = await self._turn.settle(self._begin(name, args))
        if done is None:
            raise app_side.Stopped(self._turn.draft.stopped)
        return _reply(done)

    def _begin(self, name: str, args: dict[str, Any]) -> ToolCall:
        """Put a call of the app into the trajectory; raises `Stopped` where the replay has ended."""
        draft, play = self._turn.draft, self._turn.play
        made = sum(message["role"] == "assistant" for message in draft.messages)
        if draft.stopped is None and play.steps + made >= play.replay.max_steps:
            draft.end = ReplayEnd.STEP_LIMIT
            draft.stopped = f"the limit of {play.replay.max_steps} steps was reached"
        if draft.stopped is not None:
            raise app_side.Stopped(draft.stopped)
        return draft.take_reply(None, [ToolCall(name=name, args=_ARGS.validate_python(args))])[0]

    def _must_wait(self, name: str, args: dict[str, Any]) -> bool:
        if self._turn.play.replay.on_unrecorded is not OnUnrecorded.MODEL:
            return False
        return self._turn.draft.record.copy().answer(ToolCall(name=name, args=args)) is None

    def _on_loop(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False


class ToolServer:
    """An address on this machine at which apps in other processes ask; started when the first one needs it."""

    def __init__(self) -> None:
        self._sessions: dict[str, AppTools] = {}
        self._server: ThreadingHTTPServer | None = None
        self._starting = threading.Lock()

    def answer_with(self, session: AppTools) -> str:
        """Give a session an address that nobody can guess."""
        with self._starting:
            if self._server is None:
                self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._sessions))
                threading.Thread(target=self._server.serve_forever, name="evergold-tools", daemon=True).start()
        # The path is the only secret: any program on this machine can reach the port.
        path = f"/{secrets.token_urlsafe(24)}"
        self._sessions[path] = session
        return f"http://127.0.0.1:{self._server.server_address[1]}{path}"

    def forget(self, url: str) -> None:
        self._sessions.pop(f"/{url.rpartition('/')[2]}", None)

    def close(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


def _handler(sessions: dict[str, AppTools]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """POST of `{"name", "args"}`; 410 where the replay has ended, 404 for an address of no replay."""

        def do_POST(self) -> None:
            status, body = self._answered()
            data = json.dumps(body, default=str).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _answered(self) -> tuple[int, dict[str, Any]]:
            session = sessions.get(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            if session is None or not 0 < length <= MAX_BODY:
                return 404, {"error": "no replay is under way at this address"}
            try:
                asked = json.loads(self.rfile.read(length))
                name, args = asked["name"], asked.get("args") or {}
                reply = session.ask(str(name), _ARGS.validate_python(args))
            except app_side.Stopped as problem:
                return app_side.GONE, {"error": str(problem)}
            except (ValueError, KeyError, TypeError, AttributeError, ValidationError):
                return 400, {"error": 'send {"name": tool, "args": {…}} as JSON'}
            return 200, {"result": reply.result, "failed": reply.failed}

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: the trajectory holds every call."""

    return Handler


def _reply(call: ToolCall) -> app_side.ToolReply:
    return app_side.ToolReply(call.result, call.failed)


def _finished(work: Coroutine[Any, Any, app_side.ToolReply]) -> app_side.ToolReply:
    """Run a coroutine that does not wait for anything."""
    try:
        work.send(None)
    except StopIteration as ended:
        reply: app_side.ToolReply = ended.value
        return reply
    work.close()
    raise RuntimeError("a tool call waited where it cannot")
