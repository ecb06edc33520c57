"""A scriptable OpenAI-compatible server over real HTTP, so that tests meet a real client, socket and status code.

A script decides what each request gets: one `Reply` for all, a list used up in order (its last one repeats), or a
function of the request. Everything received is kept in `requests`, in order, for a test to count and look at.

    with serving(Reply("Paris")) as server:
        client = openai.OpenAI(base_url=server.url, api_key="x")

Faults are replies too: `rate_limited(2)`, `broken()`, `Reply(raw=b"<html>")`, `truncated(...)`, `Reply(hold=event)`.
"""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.patience import PATIENCE

Body = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """What one request gets. `raw` wins over everything; `hold` answers only when the event is set."""

    text: str | None = ""
    tool_calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    finish_reason: str = "stop"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    hold: threading.Event | None = None
    raw: bytes | None = None
    content_type: str = "application/json"
    logprobs: tuple[dict[str, Any], ...] = ()
    usage: tuple[int, int] | None = (10, 5)
    drop_connection: bool = False


OK = Reply("ok")
Script = Reply | Sequence[Reply] | Callable[[Body], Reply]
Embed = Callable[[str], Sequence[float]]
"""What `/v1/embeddings` makes of one text."""


def rate_limited(retry_after: float | str | None = None) -> Reply:
    """A 429, with Retry-After in seconds (or an HTTP date) when one is given."""
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    return Reply(status=429, headers=headers, raw=_error("rate limit reached", "rate_limit_exceeded"))


def broken(status: int = 500) -> Reply:
    return Reply(status=status, raw=_error("the server had an error", "server_error"))


def truncated(text: str) -> Reply:
    """A reply cut by the token limit: well-formed HTTP, half an answer."""
    return Reply(text, finish_reason="length")


def json_reply(value: object) -> Reply:
    return Reply(json.dumps(value))


def token(text: str, *alternatives: tuple[str, float], logprob: float = 0.0) -> dict[str, Any]:
    """One entry of `logprobs.content`, with its top alternatives as (token, log-probability)."""
    top = [{"token": t, "logprob": p, "bytes": list(t.encode())} for t, p in ((text, logprob), *alternatives)]
    return {"token": text, "logprob": logprob, "bytes": list(text.encode()), "top_logprobs": top}


def _error(message: str, kind: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": kind, "code": kind}}).encode()


class ScriptedServer:
    """Serves `/v1/chat/completions`, `/v1/embeddings` and `/v1/models` on a free loopback port in a thread of its own."""

    def __init__(self, script: Script = OK, model: str = "scripted", embed: Embed | None = None) -> None:
        self.requests: list[Body] = []
        self.embedded: list[Body] = []
        self.embed_faults: list[Reply] = []
        self._embed_text = embed or (lambda text: [float(len(text)), 1.0])
        self.headers: list[dict[str, str]] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.arrived = threading.Condition()
        self._waiting = ThreadPoolExecutor(64)
        self._script = script
        self._model = model
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen(256)
        config = uvicorn.Config(Starlette(routes=self._routes()), log_level="critical", lifespan="off", ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    def _routes(self) -> list[Route]:
        return [
            Route("/v1/chat/completions", self._complete, methods=["POST"]),
            Route("/v1/embeddings", self._embed, methods=["POST"]),
            Route("/v1/models", self._models),
        ]

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.force_exit = True
        self._server.should_exit = True
        self._thread.join(PATIENCE)
        self._waiting.shutdown(wait=False)
        self._socket.close()

    def wait_for(self, count: int) -> None:
        """Block until that many requests have arrived."""
        with self.arrived:
            if not self.arrived.wait_for(lambda: len(self.requests) >= count, PATIENCE):
                raise AssertionError(f"{len(self.requests)} of {count} requests arrived within {PATIENCE:g} s")

    def prompts(self) -> list[str]:
        """The last message of each request, in order of arrival."""
        return [str(body["messages"][-1]["content"]) for body in self.requests]

    def _next(self, body: Body, position: int) -> Reply:
        if isinstance(self._script, Reply):
            return self._script
        if callable(self._script):
            return self._script(body)
        return self._script[min(position, len(self._script) - 1)]

    async def _complete(self, request: Request) -> Response:
        body = json.loads(await request.body())
        with self.arrived:
            reply = self._next(body, len(self.requests))
            self.requests.append(body)
            self.headers.append(dict(request.headers))
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            self.arrived.notify_all()
        try:
            return await self._answer(body, reply)
        finally:
            with self.arrived:
                self.in_flight -= 1
                self.arrived.notify_all()

    async def _answer(self, body: Body, reply: Reply) -> Response:
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if reply.hold is not None:
            await asyncio.get_running_loop().run_in_executor(self._waiting, reply.hold.wait, PATIENCE)
        if reply.drop_connection:
            return Response(b"{", headers={"content-length": "1000"})
        content = reply.raw if reply.raw is not None else json.dumps(self._completion(body, reply)).encode()
        return Response(content, reply.status, reply.headers, reply.content_type)

    def _completion(self, body: Body, reply: Reply) -> Body:
        message: Body = {"role": "assistant", "content": reply.text}
        if reply.tool_calls:
            message["tool_calls"] = [
                {"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                for i, (name, arguments) in enumerate(reply.tool_calls)
            ]
        choice: Body = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
        if reply.logprobs and body.get("logprobs"):
            choice["logprobs"] = {"content": list(reply.logprobs)}
        answer: Body = {
            "id": f"chatcmpl-{len(self.requests)}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": body.get("model", self._model),
            "choices": [choice],
        }
        if reply.usage is not None:
            sent, made = reply.usage
            answer["usage"] = {"prompt_tokens": sent, "completion_tokens": made, "total_tokens": sent + made}
        return answer

    async def _embed(self, request: Request) -> Response:
        """One vector per text; the faults set beforehand come first, one per request."""
        body = json.loads(await request.body())
        self.embedded.append(body)
        if self.embed_faults:
            return await self._answer(body, self.embed_faults.pop(0))
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        rows = [
            {"object": "embedding", "index": n, "embedding": list(self._embed_text(t))} for n, t in enumerate(texts)
        ]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        answer = {"object": "list", "model": body["model"], "data": rows[::-1], "usage": usage}
        return Response(json.dumps(answer), media_type="application/json")

    async def _models(self, _request: Request) -> Response:
        listing = {"object": "list", "data": [{"id": self._model, "object": "model", "created": 0, "owned_by": "test"}]}
        return Response(json.dumps(listing), media_type="application/json")


ServerT = TypeVar("ServerT", bound=ScriptedServer)


@contextmanager
def serving(script: Script = OK, model: str = "scripted", embed: Embed | None = None) -> Iterator[ScriptedServer]:
    with started(ScriptedServer(script, model, embed)) as server:
        yield server


@contextmanager
def started(server: ServerT) -> Iterator[ServerT]:
    server.start()
    try:
        yield server
    finally:
        server.stop()
