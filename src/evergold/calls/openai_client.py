"""Calls of an OpenAI-compatible endpoint: one POST of JSON, and what its reply or its failure means.

The official package does the same and takes a second of processor time to import, which every process of a run would
pay (docs/decisions/0016-model-calls.md).
"""

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from evergold.calls.endpoints import Endpoint
from evergold.calls.failures import Failure, classified

# As many calls at once as a run may be set to make.
_CONNECTIONS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
MOST_BYTES = 64 << 20  # of a reply, unpacked; a batch of the longest embeddings has a sixth of that
MOST_TOKENS = 2**53  # beyond it a count is no count
MOST_REDIRECTS = 5
_ACCOUNT = (("OPENAI_ORG_ID", "OpenAI-Organization"), ("OPENAI_PROJECT_ID", "OpenAI-Project"))


class CallFailed(Exception):
    """A call without a usable reply. `status` is the HTTP status, where the endpoint answered with one."""

    def __init__(self, failure: Failure, status: int | None = None) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.status = status


@dataclass(frozen=True)
class _Reply:
    """What an endpoint answered, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


class OpenAIClient:
    """Sends requests to one endpoint, each once: whoever calls decides what is tried again."""

    def __init__(self, endpoint: Endpoint, timeout: float | None = None) -> None:
        self._base_url = endpoint.base_url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {endpoint.api_key}"}
        self._headers |= {header: os.environ[name] for name, header in _ACCOUNT if os.environ.get(name)}
        self._timeout = timeout
        self._http: httpx2.AsyncClient | None = None

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """The decoded reply, or its text where it does not claim to be JSON. Raises `CallFailed`."""
        if self._http is None:
            # Made at the first call, because it belongs to the event loop that runs then.
            self._http = httpx2.AsyncClient(headers=self._headers, timeout=None, limits=_CONNECTIONS)
        try:
            # Of the whole exchange: a reply of one byte a second would pass any limit on single reads.
            async with asyncio.timeout(self._timeout):
                reply = await _exchanged(
                    self._http, self._http.build_request("POST", f"{self._base_url}{path}", json=body)
                )
        except TimeoutError as problem:
            raise CallFailed(
                Failure("timeout", f"the call timed out: no reply within {self._timeout:g} s")
            ) from problem
        except httpx2.TimeoutException as problem:
            raise CallFailed(Failure("timeout", f"the call timed out: {problem}")) from problem
        except httpx2.HTTPError as problem:
            raise CallFailed(Failure("connection", f"Connection error: {problem}")) from problem
        except ValueError as problem:
            raise CallFailed(Failure("bad_request", f"the request cannot be sent as JSON: {problem}")) from problem
        if 200 <= reply.status < 300:
            return _decoded(reply)
        complaint = _complaint(reply)
        failure = classified(reply.status, complaint.get("code"), _words(complaint), reply.headers)
        raise CallFailed(failure, reply.status)

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = None


async def _exchanged(http: httpx2.AsyncClient, request: httpx2.Request) -> _Reply:
    """Send a request, and again where the same host sends it on to another path; to another host nothing is sent."""
    for _ in range(MOST_REDIRECTS):
        reply = await http.send(request, stream=True)
        try:
            onward = reply.next_request
            if onward is None:
                return _Reply(reply.status_code, reply.headers, await _body(reply))
        finally:
            await reply.aclose()
        if not _is_same(request.url, onward.url):
            # Prompts would go there, and the key with a client that knows no better.
            message = (
                f"{request.url.host} sends the call on to {onward.url.host}, another server; name that in the base URL"
            )
            raise CallFailed(Failure("bad_request", message), reply.status_code)
        request = onward
    raise CallFailed(Failure("bad_request", f"{request.url.host} sends the call on and on"), reply.status_code)


def _is_same(first: httpx2.URL, second: httpx2.URL) -> bool:
    """Whether two addresses are of one server; plain HTTP may become HTTPS, and not the other way round."""
    if first.host != second.host:
        return False
    upgraded = (first.scheme, second.scheme, second.port) == ("http", "https", None)
    return upgraded or (first.scheme, first.port) == (second.scheme, second.port)


async def _body(reply: httpx2.Response) -> bytes:
    pieces, size = [], 0
    async for piece in reply.aiter_bytes():
        pieces.append(piece)
        size += len(piece)
        # Given up early: it may be endless.
        if size > MOST_BYTES:
            raise CallFailed(Failure("too_large", f"the endpoint answered more than {MOST_BYTES:,} bytes"))
    return b"".join(pieces)


def first_choice(completion: Any) -> dict[str, Any] | None:
    """The first choice of a chat completion, if it is one and has a message."""
    choices = completion.get("choices") if isinstance(completion, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, dict) and isinstance(choice.get("message"), dict) else None


def tool_functions(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Name and arguments of each tool call of a message."""
    calls = message.get("tool_calls")
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return [function for function in functions if isinstance(function, dict)]


def token_counts(reply: Any) -> tuple[int, int]:
    """Tokens sent and made. Some servers leave them out; then nothing is known, and a budget counts nothing."""
    usage = reply.get("usage") if isinstance(reply, dict) else None
    if not isinstance(usage, dict):
        return 0, 0
    sent, made = (usage.get(name) for name in ("prompt_tokens", "completion_tokens"))
    return _counted(sent), _counted(made)


def _counted(given: Any) -> int:
    return given if isinstance(given, int) and 0 < given < MOST_TOKENS else 0


def _decoded(reply: _Reply) -> Any:
    if "json" not in reply.headers.get("content-type", ""):
        return reply.text
    try:
        return json.loads(reply.body)
    except (ValueError, RecursionError) as problem:
        raise CallFailed(Failure("malformed", f"the endpoint's reply is not valid JSON: {problem}")) from problem


def _complaint(reply: _Reply) -> dict[str, Any]:
    """The error of a refusal: servers send it as `error`, as the whole body, or as plain text."""
    try:
        body = json.loads(reply.body)
    except (ValueError, RecursionError):
        body = None
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        return {"status": reply.status, **error}
    return {"status": reply.status, "message": error if isinstance(error, str) else reply.text[:500]}


def _words(complaint: dict[str, Any]) -> str:
    """Everything the endpoint sent: the parameter that it refuses may stand beside its message."""
    fields = {name: value for name, value in complaint.items() if name != "status" and value is not None}
    message = fields.pop("message", None)
    rest = f" {fields}" if fields else ""
    return f"HTTP {complaint['status']}: {message or 'no reason given'}{rest}"
