"""`anthropic/…`, `google/…`, `mistral/…`: a provider's own protocol, through pydantic-ai (extra `providers`).

Keys come from the variables each provider documents (`ANTHROPIC_API_KEY`, `GOOGLE_API_KEY`, `MISTRAL_API_KEY`).
"""

from collections.abc import Mapping
from typing import Any

from evergold.bench.targets.prompts import OWN_PARAMS, messages
from evergold.bench.targets.replies import bounded
from evergold.calls.failures import failed
from evergold.calls.prices import cost
from evergold.errors import BadInput, Unavailable
from evergold.model.case import Case, ToolCall
from evergold.model.run import Attempt, Usage
from evergold.settings import Settings

_CLASSES = {
    "ModelRateLimitError": "rate_limit",
    "ModelOverloadedError": "server",
    "ModelServerError": "server",
    "ModelUnavailableError": "server",
    "ModelConnectionError": "connection",
    "ModelTimeoutError": "timeout",
    "ModelRequestTimeout": "timeout",
    "ModelAuthenticationError": "auth",
    "ModelQuotaExceededError": "quota",
    "ModelNotFoundError": "unknown_model",
    "UnexpectedModelBehavior": "malformed",
}


class NativeTarget:
    """One request per attempt; tool calls are captured, not executed."""

    def __init__(self, provider: str, name: str, model: Any, params: Mapping[str, Any]) -> None:
        self._provider, self._name, self._model = provider, name, model
        self._params = dict(params)

    @property
    def identity(self) -> str:
        return f"{self._provider}/{self._name}"

    @property
    def priced(self) -> bool:
        return cost(self._provider, self._name, 1, 1) is not None

    def request(self, case: Case, seed: int | None) -> dict[str, Any]:
        """The whole request: what is sent, and what the response cache goes by."""
        settings = {name: value for name, value in self._params.items() if name not in OWN_PARAMS}
        if seed is not None:
            settings["seed"] = seed
        return {
            "model": self._name,
            "messages": messages(case, self._params),
            "tools": list(case.tools),
            "settings": settings,
        }

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        from pydantic_ai.direct import model_request
        from pydantic_ai.exceptions import AgentRunError, UserError
        from pydantic_ai.models import ModelRequestParameters

        request = self.request(case, seed)
        try:
            reply = await model_request(
                self._model,
                [_message(message) for message in request["messages"]],
                model_settings=request["settings"],
                model_request_parameters=ModelRequestParameters(function_tools=[_tool(t) for t in request["tools"]]),
            )
        except (AgentRunError, UserError) as problem:
            return failed(case, trial, _class_of(problem), str(problem))
        calls = [ToolCall(name=call.tool_name, args=call.args_as_dict()) for call in reply.tool_calls]
        sent, made = reply.usage.input_tokens, reply.usage.output_tokens
        spent = Usage(input_tokens=sent, output_tokens=made, cost=cost(self._provider, self._name, sent, made))
        attempt = Attempt(
            case_id=case.id,
            trial=trial,
            output=reply.text or "",
            tool_calls=tuple(calls),
            usage=spent,
            finish_reason=reply.finish_reason,
        )
        return bounded(attempt, case)


def _class_of(problem: Exception) -> str:
    """By the exception's own class, else by the HTTP status it carries."""
    named = next((_CLASSES[kind.__name__] for kind in type(problem).__mro__ if kind.__name__ in _CLASSES), None)
    status = getattr(problem, "status_code", None) or 400
    by_status = {401: "auth", 403: "auth", 404: "unknown_model", 408: "timeout", 429: "rate_limit"}
    return named or by_status.get(status) or ("server" if status >= 500 else "bad_request")


def _make(provider: str, name: str, params: Mapping[str, Any]) -> NativeTarget:
    if not name:
        raise BadInput(f"a model name is missing after {provider}/")
    try:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
    except ImportError as problem:
        raise Unavailable(f"{provider}/{name} needs: pip install 'evergold[providers]'") from problem
    try:
        return NativeTarget(provider, name, infer_model(f"{provider}:{name}"), params)
    except (UserError, ImportError, ValueError) as problem:
        raise Unavailable(f"{provider}/{name}: {problem}") from problem


def make_anthropic(address: str, params: Mapping[str, Any], _settings: Settings) -> NativeTarget:
    return _make("anthropic", address, params)


def make_google(address: str, params: Mapping[str, Any], _settings: Settings) -> NativeTarget:
    return _make("google", address, params)


def make_mistral(address: str, params: Mapping[str, Any], _settings: Settings) -> NativeTarget:
    return _make("mistral", address, params)


def _message(message: Mapping[str, Any]) -> Any:
    from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

    text = str(message.get("content") or "")
    match message.get("role"):
        case "system" | "developer":
            return ModelRequest(parts=[SystemPromptPart(content=text)])
        case "assistant":
            return ModelResponse(parts=[TextPart(content=text)])
        case _:
            return ModelRequest(parts=[UserPromptPart(content=text)])


def _tool(tool: Mapping[str, Any]) -> Any:
    from pydantic_ai.tools import ToolDefinition

    function = tool.get("function", tool)
    return ToolDefinition(
        name=function["name"],
        description=function.get("description"),
        parameters_json_schema=function.get("parameters", {"type": "object", "properties": {}}),
    )
