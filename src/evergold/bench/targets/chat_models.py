"""Chat models as targets: any OpenAI-compatible endpoint, and providers by their own protocol.

A call is sent once: the runner decides what is tried again and when, because a 429 must slow down all calls and not
only the one that met it. Every failure becomes an error class the runner knows what to do with.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import orjson

from evergold.bench.native_models import NativeModel, native_model, tool_definition
from evergold.bench.targets.messages import OWN_PARAMS, bound_output, messages
from evergold.calls import endpoints
from evergold.calls.caller import CallFailure
from evergold.conversation import text_of
from evergold.model.case import Case
from evergold.model.run import Attempt, Usage
from evergold.model.tool_calls import ToolCall
from evergold.settings import Settings

# A small model on this machine answers for minutes without a bound.
_LOCAL_MAX_TOKENS = 256


class _ChatTarget:
    """One request per attempt; tool calls are captured, not executed."""

    def __init__(self, model: endpoints.Endpoint | NativeModel, params: Mapping[str, Any]) -> None:
        self.identity, self._priced_by = model.identity, model
        self._params = dict(params)

    @property
    def priced(self) -> bool:
        """Whether money spent here is known, which a budget in money needs."""
        return self._priced_by.priced

    def request(self, case: Case, seed: int | None) -> dict[str, Any]:
        """The whole request: what is sent, and what the response cache goes by."""
        raise NotImplementedError

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        try:
            answer = await self._send(self.request(case, seed))
        except CallFailure as failure:
            return failure.attempt(case, trial)
        return bound_output(Attempt(case_id=case.id, trial=trial, **answer), case)

    async def _send(self, request: dict[str, Any]) -> dict[str, Any]:
        """The fields of an attempt that the reply says. Raises `CallFailure`."""
        raise NotImplementedError


class OpenAITarget(_ChatTarget):
    """`openai/MODEL`: chat completions of any OpenAI-compatible endpoint."""

    def __init__(self, endpoint: endpoints.Endpoint, params: Mapping[str, Any]) -> None:
        super().__init__(endpoint, params)
        self._endpoint = endpoint
        # No timeout of its own: the run has one.
        self._client = endpoints.OpenAIClient(endpoint)
        self.close = self._client.close

    def request(self, case: Case, seed: int | None) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._endpoint.model, "messages": messages(case, self._params)}
        body |= {name: value for name, value in self._params.items() if name not in OWN_PARAMS}
        if case.tools:
            body["tools"] = list(case.tools)
        if seed is not None:
            body["seed"] = seed
        return body

    async def _send(self, request: dict[str, Any]) -> dict[str, Any]:
        completion = await self._client.post("/chat/completions", request)
        choice = endpoints.first_choice(completion)
        if choice is None:
            shown = str(completion)[:80]
            raise CallFailure("malformed", f"the endpoint did not answer with a chat completion but {shown!r}")
        message = choice["message"]
        usage = self._endpoint.usage(completion)
        refusal, finish_reason = message.get("refusal"), choice.get("finish_reason")
        return {
            # A refusal stands in a field of its own and is the model's answer.
            "output": text_of(message) or (refusal if isinstance(refusal, str) else ""),
            "tool_calls": tuple(map(_tool_call, endpoints.tool_functions(message))),
            "usage": usage if usage.input_tokens or usage.output_tokens else Usage(),
            "finish_reason": finish_reason if isinstance(finish_reason, str) else None,
        }


def _tool_call(function: Mapping[str, Any]) -> ToolCall:
    name, sent = str(function.get("name")), function.get("arguments")
    try:
        # The protocol sends text; some servers send the object itself.
        arguments = sent if isinstance(sent, dict) else orjson.loads(sent or "{}")
    except orjson.JSONDecodeError:
        arguments = None
    if not isinstance(arguments, dict):
        # A failure of the model's reply; an empty table would look like a call without arguments.
        reason = f"the arguments of tool call {name!r} are not a JSON object"
        raise CallFailure("invalid_reply", f"{reason}: {str(sent)[:80]!r}")
    return ToolCall(name=name, args=arguments)


def make_openai(address: str, params: Mapping[str, Any], settings: Settings) -> OpenAITarget:
    return OpenAITarget(endpoints.openai_endpoint(address, settings), params)


def make_local(address: str, params: Mapping[str, Any], _settings: Settings) -> OpenAITarget:
    return OpenAITarget(endpoints.local_endpoint(address), {"max_tokens": _LOCAL_MAX_TOKENS, **params})


class NativeTarget(_ChatTarget):
    """`anthropic/…`, `google/…`, `mistral/…`: a provider by its own protocol."""

    def __init__(self, model: NativeModel, params: Mapping[str, Any]) -> None:
        super().__init__(model, params)
        self._model, self.close = model, model.close

    def request(self, case: Case, seed: int | None) -> dict[str, Any]:
        settings = {name: value for name, value in self._params.items() if name not in OWN_PARAMS}
        # Anthropic's API has no seed and refuses unknown parameters.
        if seed is not None and self._model.provider != "anthropic":
            settings["seed"] = seed
        return {
            "model": self._model.name,
            "messages": messages(case, self._params),
            "tools": list(case.tools),
            "settings": settings,
        }

    async def _send(self, request: dict[str, Any]) -> dict[str, Any]:
        from pydantic_ai.models import ModelRequestParameters

        tools = ModelRequestParameters(function_tools=[tool_definition(tool) for tool in request["tools"]])
        reply = await self._model.request(request["messages"], request["settings"], tools)
        return {
            "output": reply.text or "",
            "tool_calls": tuple(
                _tool_call({"name": call.tool_name, "arguments": call.args}) for call in reply.tool_calls
            ),
            "usage": self._model.usage(reply),
            "finish_reason": reply.finish_reason,
        }


def _make_native(provider: str, address: str, params: Mapping[str, Any], _settings: Settings) -> NativeTarget:
    return NativeTarget(native_model(provider, address), params)


make_anthropic = partial(_make_native, "anthropic")
make_google = partial(_make_native, "google")
make_mistral = partial(_make_native, "mistral")
