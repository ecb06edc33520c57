"""`http:URL`: an application of the user's own. POST of JSON; the reply is JSON (see `replies`) or plain text."""

from collections.abc import Mapping
from typing import Any

from evergold.bench.targets.prompts import payload
from evergold.bench.targets.replies import MAX_OUTPUT, answered_text
from evergold.calls.caller import failed, retry_after
from evergold.errors import BadInput
from evergold.model.case import Case
from evergold.model.run import Attempt
from evergold.settings import Settings

_MAX_BODY = 4 * MAX_OUTPUT


class HttpTarget:
    """One POST per attempt."""

    def __init__(self, url: str, params: Mapping[str, Any]) -> None:
        self._url = url
        self._params = dict(params)
        self._client: Any = None

    @property
    def identity(self) -> str:
        return f"http:{self._url}"

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        import httpx2

        if self._client is None:
            # No timeout here: the deadline of the run applies.
            self._client = httpx2.AsyncClient(timeout=None)
        try:
            async with self._client.stream("POST", self._url, json=payload(case, self._params, trial, seed)) as reply:
                body = b""
                async for chunk in reply.aiter_bytes():
                    body += chunk
                    # The reply is read in pieces and given up early: it may be endless.
                    if len(body) > _MAX_BODY:
                        return failed(case, trial, "too_large", f"answered more than {_MAX_BODY:,} bytes")
        except httpx2.TimeoutException as problem:
            return failed(case, trial, "timeout", str(problem))
        except httpx2.HTTPError as problem:
            return failed(case, trial, "connection", f"{self._url}: {problem}")
        if reply.status_code >= 400:
            return _refused(case, trial, reply.status_code, body, reply.headers)
        if "html" in reply.headers.get("content-type", ""):
            return failed(case, trial, "malformed", f"{self._url} answered with an HTML page; is the address right?")
        return answered_text(case, trial, body)

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


def _refused(case: Case, trial: int, status: int, body: bytes, headers: Mapping[str, str]) -> Attempt:
    kind = (
        "rate_limit" if status == 429 else "server" if status >= 500 else "auth" if status in (401, 403) else "client"
    )
    shown = body[:200].decode("utf-8", "replace")
    return failed(case, trial, kind, f"HTTP {status}: {shown}", retry_after(headers))
