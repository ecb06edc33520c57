"""Any OpenAI-compatible chat endpoint, through the official client.

The client's own retries are off: the runner decides what is tried again and when, because a 429 must slow down all
calls and not only the one that met it. Every failure becomes an error class the runner knows what to do with.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import orjson

from evergold.bench.targets.prompts import OWN_PARAMS, messages
from evergold.bench.targets.replies import bounded
from evergold.calls.endpoints import Endpoint, openai_endpoint
from evergold.calls.failures import classified, failed
from evergold.calls.local_model import local_endpoint
from evergold.calls.prices import cost
from evergold.model.case import Case
from evergold.model.run import Attempt, Usage
from evergold.model.tool_calls import ToolCall
from evergold.settings import Settings

# A small model on this machine answers for minutes without a bound.
_LOCAL_MAX_TOKENS = 256


class OpenAITarget:
    """`openai/MODEL`: one chat completion per attempt; tool calls are captured, not executed."""

    def __init__(self, endpoint: Endpoint, params: Mapping[str, Any]) -> None:
        self._endpoint = endpoint
        self._params = dict(params)
        self._client: Any = None
        import_module("openai")  # two seconds on a busy machine: not inside the first call's deadline

    @property
    def identity(self) -> str:
        return self._endpoint.identity

    @property
    def priced(self) -> bool:
        """Whether money spent here is known, which a budget in money needs."""
        return cost(self._endpoint.provider, self._endpoint.model, 1, 1) is not None

    def request(self, case: Case, seed: int | None) -> dict[str, Any]:
        """The whole request: what is sent, and what the response cache goes by."""
        body: dict[str, Any] = {"model": self._endpoint.model, "messages": messages(case, self._params)}
        body |= {name: value for name, value in self._params.items() if name not in OWN_PARAMS}
        if case.tools:
            body["tools"] = list(case.tools)
        if seed is not None:
            body["seed"] = seed
        return body

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        import openai

        try:
            # The whole request is made in one function, so that the cache key is exactly what was sent.
            completion = await self._connected().chat.completions.create(**self.request(case, seed))
        except openai.APIError as problem:
            failure = classified(problem)
            return failed(case, trial, failure.error_class, failure.message, failure.retry_after)
        except ValueError as problem:  # the body was cut off or is no JSON
            return failed(case, trial, "malformed", f"the endpoint's reply is not valid JSON: {problem}")
        return self._read(case, trial, completion)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _connected(self) -> Any:
        if self._client is None:
            import openai

            self._client = openai.AsyncOpenAI(
                # No retries and no timeout of the client's own: the run has both, and counts what it sends.
                base_url=self._endpoint.base_url,
                api_key=self._endpoint.api_key,
                max_retries=0,
                timeout=None,
            )
        return self._client

    def _read(self, case: Case, trial: int, completion: Any) -> Attempt:
        choices = getattr(completion, "choices", None)
        if not choices or getattr(choices[0], "message", None) is None:
            shown = str(completion)[:80]
            return failed(case, trial, "malformed", f"the endpoint did not answer with a chat completion but {shown!r}")
        message = choices[0].message
        calls = []
        for call in message.tool_calls or ():
            arguments = _arguments(call.function.arguments)
            if arguments is None:
                reason = f"the arguments of tool call {call.function.name!r} are not a JSON object"
                # A call with broken arguments is a failure of the model's
                # reply; an empty table would look like a call without any.
                return failed(case, trial, "malformed", f"{reason}: {call.function.arguments[:80]!r}")
            calls.append(ToolCall(name=call.function.name, args=arguments))
        attempt = Attempt(
            case_id=case.id,
            trial=trial,
            # A refusal stands in a field of its own and is the model's answer.
            output=message.content or getattr(message, "refusal", None) or "",
            tool_calls=tuple(calls),
            usage=self._usage(completion.usage),
            finish_reason=choices[0].finish_reason,
        )
        return bounded(attempt, case)

    def _usage(self, usage: Any) -> Usage:
        # Some servers leave the usage out; then nothing is known, and the budget counts nothing.
        if usage is None:
            return Usage()
        sent, made = usage.prompt_tokens or 0, usage.completion_tokens or 0
        return Usage(
            input_tokens=sent,
            output_tokens=made,
            cost=cost(self._endpoint.provider, self._endpoint.model, sent, made),
        )


def make_openai(address: str, params: Mapping[str, Any], settings: Settings) -> OpenAITarget:
    return OpenAITarget(openai_endpoint(address, settings), params)


def make_local(address: str, params: Mapping[str, Any], _settings: Settings) -> OpenAITarget:
    return OpenAITarget(local_endpoint(address), {"max_tokens": _LOCAL_MAX_TOKENS, **params})


def _arguments(text: str | None) -> dict[str, Any] | None:
    try:
        value = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
