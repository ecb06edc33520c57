"""Models by a provider's own protocol, through pydantic-ai (extra `providers`): what targets and judges share.

Keys come from the variables each provider documents, and so does the URL where another server speaks the protocol. A
failed call is never repeated in here: whoever calls decides that, and counts it.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evergold.calls.caller import CallFailure, classify
from evergold.calls.endpoints import SealedClient
from evergold.conversation import text_of
from evergold.credentials import Secret, hide
from evergold.errors import BadInput, Unavailable
from evergold.model.run import Usage
from evergold.model.tool_calls import calls_in
from evergold.prices import cost

VARIABLES = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "google": ("GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    "mistral": ("MISTRAL_API_KEY", "MISTRAL_BASE_URL"),
}
# By class name: importing the classes would load every provider's package.
_CLASSES = {
    "ModelRateLimitError": "rate_limit",
    "ModelServerError": "server",
    "ModelUnavailableError": "server",
    "ModelTimeoutError": "timeout",
    "ModelRequestTimeout": "timeout",
    "ModelConnectionError": "connection",
    "ModelAuthenticationError": "auth",
    "ModelQuotaExceededError": "quota",
    "ModelNotFoundError": "unknown_model",
    "UnexpectedModelBehavior": "malformed",
}


@dataclass(frozen=True)
class NativeModel:
    """One model of one provider."""

    provider: str
    name: str
    model: Any
    client: Any
    url: str | None = None

    @property
    def identity(self) -> str:
        return f"{self.provider}/{self.name}" + (f" at {hide(self.url)}" if self.url else "")

    @property
    def priced(self) -> bool:
        """Whether money spent here is known: a server of one's own has no price list."""
        return self._cost(1, 1) is not None

    async def request(self, messages: Sequence[Mapping[str, Any]], settings: Mapping[str, Any], parameters: Any) -> Any:
        """The provider's response. Raises `CallFailure`."""
        from pydantic_ai.direct import model_request
        from pydantic_ai.exceptions import AgentRunError, UserError

        wanted: Any = dict(settings)
        try:
            return await model_request(
                self.model, _conversation(messages), model_settings=wanted, model_request_parameters=parameters
            )
        except (AgentRunError, UserError) as problem:
            named = next((_CLASSES[kind.__name__] for kind in type(problem).__mro__ if kind.__name__ in _CLASSES), None)
            # An error without a status was refused before it was sent.
            status = getattr(problem, "status_code", None) or 400
            raise CallFailure(
                named or classify(status, None, "", {}).error_class, str(problem), getattr(problem, "retry_after", None)
            ) from problem

    def usage(self, response: Any) -> Usage:
        sent, made = response.usage.input_tokens, response.usage.output_tokens
        return Usage(input_tokens=sent, output_tokens=made, cost=self._cost(sent, made))

    async def close(self) -> None:
        await self.client.aclose()

    def _cost(self, sent: int, made: int) -> float | None:
        return None if self.url else cost(self.provider, self.name, sent, made)


def native_model(provider: str, name: str) -> NativeModel:
    """The model behind `anthropic/NAME` and the like; `Unavailable` without the extra or a key."""
    key_variable, url_variable = VARIABLES[provider]
    url, key = (Secret(os.environ.get(variable, "")) for variable in (url_variable, key_variable))
    if not name:
        raise BadInput(f"a model name is missing after {provider}/")
    if not key and not url:
        raise Unavailable(
            f"no key for {provider}/{name}: set {key_variable}, or {url_variable} to a server of your own"
        )
    try:
        client = SealedClient()
        # A server of one's own often needs no key, but the clients insist on one.
        model = _connect(provider, name, client, key=key or "none", url=url or None)
        return NativeModel(provider, name, model, client, url or None)
    except ImportError as problem:
        raise Unavailable(f"{provider}/{name} needs: pip install 'evergold[providers]'") from problem


def tool_definition(tool: Mapping[str, Any], kind: Literal["function", "output"] = "function") -> Any:
    from pydantic_ai.tools import ToolDefinition

    function = tool.get("function", tool)
    return ToolDefinition(
        name=function["name"],
        description=function.get("description"),
        parameters_json_schema=function.get("parameters", {"type": "object", "properties": {}}),
        kind=kind,
    )


def _connect(provider: str, name: str, http: Any, *, key: str, url: str | None) -> Any:
    if provider == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        # max_retries=0: the run retries and counts what it sends; a client that does so as well hides calls.
        client = AsyncAnthropic(api_key=key, base_url=url, http_client=http, max_retries=0)
        return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client))
    if provider == "google":
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel(name, provider=GoogleProvider(api_key=key, base_url=url, http_client=http))
    from pydantic_ai.models.mistral import MistralModel
    from pydantic_ai.providers.mistral import MistralProvider

    return MistralModel(name, provider=MistralProvider(api_key=key, base_url=url, http_client=http))


def _conversation(messages: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Messages of the chat protocol as those of pydantic-ai: calls keep their ids, results of one message stand together."""
    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )

    made: list[Any] = []
    names: dict[Any, str] = {}
    for message in messages:
        text, role = text_of(dict(message)), message.get("role")
        if role == "assistant":
            calls = [call for call in calls_in([message]) if call.name]
            names |= {call.id: call.name for call in calls}
            parts: list[Any] = [TextPart(content=text)] if text or not calls else []
            parts += [
                ToolCallPart(tool_name=call.name, args=call.args, **({"tool_call_id": call.id} if call.id else {}))
                for call in calls
            ]
            made.append(ModelResponse(parts=parts))
        # A result whose call is unknown cannot be sent: providers refuse it. It becomes a user message.
        elif role == "tool" and (id := message.get("tool_call_id")) in names:
            part = ToolReturnPart(tool_name=names[id], content=text, tool_call_id=str(id))
            # Providers demand the results of parallel calls in one message.
            if made and isinstance(made[-1], ModelRequest) and isinstance(made[-1].parts[-1], ToolReturnPart):
                made[-1] = ModelRequest(parts=[*made[-1].parts, part])
            else:
                made.append(ModelRequest(parts=[part]))
        elif role in ("system", "developer"):
            made.append(ModelRequest(parts=[SystemPromptPart(content=text)]))
        else:
            made.append(ModelRequest(parts=[UserPromptPart(content=text)]))
    return made
