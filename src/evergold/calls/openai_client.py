"""Calls of an OpenAI-compatible endpoint: one POST of JSON, and what its reply or its failure means.

The official package does the same and takes a second of processor time to import, which every process of a run would
pay (docs/decisions/0085-chat-calls-without-a-client-package.md).
"""

import json
import os
from typing import Any

import httpx2

from evergold.calls.endpoints import Endpoint
from evergold.calls.failures import Failure, classified

# As many calls at once as a run may be set to make.
_CONNECTIONS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
_ACCOUNT = (("OPENAI_ORG_ID", "OpenAI-Organization"), ("OPENAI_PROJECT_ID", "OpenAI-Project"))


class CallFailed(Exception):
    """A call without a usable reply. `status` is the HTTP status, where the endpoint answered with one."""

    def __init__(self, failure: Failure, status: int | None = None) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.status = status


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
            self._http = httpx2.AsyncClient(
                headers=self._headers, timeout=self._timeout, limits=_CONNECTIONS, follow_redirects=True
            )
        try:
            response = await self._http.post(f"{self._base_url}{path}", json=body)
        except httpx2.TimeoutException as problem:
            raise CallFailed(Failure("timeout", f"the call timed out: {problem}")) from problem
        except httpx2.HTTPError as problem:
            raise CallFailed(Failure("connection", f"Connection error: {problem}")) from problem
        except ValueError as problem:
            raise CallFailed(Failure("bad_request", f"the request cannot be sent as JSON: {problem}")) from problem
        if response.is_success:
            return _reply(response)
        complaint = _complaint(response)
        failure = classified(response.status_code, complaint.get("code"), _words(complaint), response.headers)
        raise CallFailed(failure, response.status_code)

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = None


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
    return (sent if isinstance(sent, int) and sent > 0 else 0), (made if isinstance(made, int) and made > 0 else 0)


def _reply(response: httpx2.Response) -> Any:
    if "json" not in response.headers.get("content-type", ""):
        return response.text
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError) as problem:
        raise CallFailed(Failure("malformed", f"the endpoint's reply is not valid JSON: {problem}")) from problem


def _complaint(response: httpx2.Response) -> dict[str, Any]:
    """The error of a refusal: servers send it as `error`, as the whole body, or as plain text."""
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        body = None
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        return {"status": response.status_code, **error}
    return {"status": response.status_code, "message": error if isinstance(error, str) else response.text[:500]}


def _words(complaint: dict[str, Any]) -> str:
    """Everything the endpoint sent: the parameter that it refuses may stand beside its message."""
    fields = {name: value for name, value in complaint.items() if name != "status" and value is not None}
    message = fields.pop("message", None)
    rest = f" {fields}" if fields else ""
    return f"HTTP {complaint['status']}: {message or 'no reason given'}{rest}"
