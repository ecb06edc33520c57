"""`anthropic/…`, `google/…`, `mistral/…` as targets: one request per attempt; tool calls are captured, not executed."""

from collections.abc import Mapping
from typing import Any

from evergold.bench.native_models import NativeModel, native_model, tool_definition
from evergold.bench.targets.prompts import OWN_PARAMS, messages
from evergold.bench.targets.replies import bounded
from evergold.calls.caller import Failure, failed
from evergold.model.case import Case
from evergold.model.run import Attempt
from evergold.model.tool_calls import ToolCall
from evergold.settings import Settings


class NativeTarget:
    def __init__(self, model: NativeModel, params: Mapping[str, Any]) -> None:
        self._model = model
        self._params = dict(params)

    @property
    def identity(self) -> str:
        return self._model.identity

    @property
    def priced(self) -> bool:
        return self._model.priced

    def request(self, case: Case, seed: int | None) -> dict[str, Any]:
        """The whole request: what is sent, and what the response cache goes by."""
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

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        from pydantic_ai.models import ModelRequestParameters

        request = self.request(case, seed)
        tools = ModelRequestParameters(function_tools=[tool_definition(tool) for tool in request["tools"]])
        reply = await self._model.request(request["messages"], request["settings"], tools)
        if isinstance(reply, Failure):
            return failed(case, trial, reply.error_class, reply.message, reply.retry_after)
        attempt = Attempt(
            case_id=case.id,
            trial=trial,
            output=reply.text or "",
            tool_calls=tuple(ToolCall(name=call.tool_name, args=call.args_as_dict()) for call in reply.tool_calls),
            usage=self._model.usage(reply),
            finish_reason=reply.finish_reason,
        )
        return bounded(attempt, case)

    async def close(self) -> None:
        await self._model.close()


def make_anthropic(address: str, params: Mapping[str, Any], _settings: Settings) -> NativeTarget:
    return NativeTarget(native_model("anthropic", address), params)


def make_google(address: str, params: Mapping[str, Any], _settings: Settings) -> NativeTarget:
    return NativeTarget(native_model("google", address), params)


def make_mistral(address: str, params: Mapping[str, Any], _settings: Settings) -> NativeTarget:
    return NativeTarget(native_model("mistral", address), params)
