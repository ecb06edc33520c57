"""A language model as judge, at any OpenAI-compatible endpoint. How it is asked is in `asking`."""

from dataclasses import dataclass, replace
from typing import Any

from evergold.bench.judges.abilities import EVERYTHING, fewer, request_options
from evergold.bench.judges.asking import Messages, ask
from evergold.bench.judges.replies import Reply, read_reply
from evergold.calls.endpoints import Endpoint, openai_endpoint
from evergold.calls.local_model import local_endpoint
from evergold.calls.prices import cost
from evergold.model.judging import Answer, Question
from evergold.model.run import Usage
from evergold.settings import Settings

# Statuses by which servers refuse a parameter they do not know; others are failures of the call itself.
NOT_UNDERSTOOD = frozenset({400, 404, 405, 415, 422, 501})
# A small model on this machine tends to repeat itself without an end.
LOCAL_MAX_TOKENS = 512


@dataclass(frozen=True)
class JudgeLimits:
    """How patient the judge is with its endpoint."""

    timeout: float = 120.0
    retries: int = 4
    max_tokens: int | None = None


class OpenAIJudge:
    """One chat completion per question, one more to repair. Its client retries 429 and 5xx on its own."""

    def __init__(self, endpoint: Endpoint, limits: JudgeLimits | None = None) -> None:
        self._endpoint = endpoint
        self._limits = limits or JudgeLimits()
        self._abilities = EVERYTHING
        self._client: Any = None

    @property
    def identity(self) -> str:
        return self._endpoint.identity

    async def ask(self, question: Question) -> Answer:
        return await ask(self._reply, question)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _reply(self, messages: Messages, question: Question) -> Reply:
        """One reply, asking for less until the endpoint understands; what it refused is remembered once it answers."""
        import openai

        # Concurrent calls may learn different things; each begins with what is known and writes back what worked.
        abilities = self._abilities
        while True:
            options = request_options(question, abilities)
            if self._limits.max_tokens is not None:
                options["max_tokens"] = self._limits.max_tokens
            try:
                completion = await self._connected().chat.completions.create(
                    model=self._endpoint.model, messages=messages, **options
                )
            except openai.APIStatusError as problem:
                left = fewer(abilities, question, str(problem)) if problem.status_code in NOT_UNDERSTOOD else None
                if left is None:
                    return Reply(final=f"the judge's endpoint said {problem.status_code}: {problem}", broken=True)
                abilities = left
                continue
            except openai.APIError as problem:
                # The client wraps the real reason ("connection refused") in a general one.
                cause = problem.__cause__ or ""
                return Reply(final=f"the judge could not be reached: {problem} {cause}".strip(), broken=True)
            except ValueError as problem:
                return Reply(final=f"the judge's endpoint did not answer with JSON: {problem}", broken=True)
            self._abilities = abilities
            return replace(read_reply(completion), usage=self._usage(getattr(completion, "usage", None)))

    def _connected(self) -> Any:
        if self._client is None:
            import openai

            self._client = openai.AsyncOpenAI(
                base_url=self._endpoint.base_url,
                api_key=self._endpoint.api_key,
                max_retries=self._limits.retries,
                timeout=self._limits.timeout,
            )
        return self._client

    def _usage(self, usage: Any) -> Usage:
        sent, made = getattr(usage, "prompt_tokens", 0) or 0, getattr(usage, "completion_tokens", 0) or 0
        price = cost(self._endpoint.provider, self._endpoint.model, sent, made)
        return Usage(input_tokens=sent, output_tokens=made, cost=price)


def make_openai_judge(address: str, settings: Settings) -> OpenAIJudge:
    """`openai/MODEL`; the judge's own URL and key where they are set, else those of the model under test."""
    own = replace(
        settings,
        model_base_url=settings.judge_base_url or settings.model_base_url,
        model_api_key=settings.judge_api_key or settings.model_api_key,
    )
    return OpenAIJudge(openai_endpoint(address, own), JudgeLimits(timeout=settings.benchmark_timeout))


def make_local_judge(address: str, settings: Settings) -> OpenAIJudge:
    return OpenAIJudge(
        local_endpoint(address), JudgeLimits(timeout=settings.benchmark_timeout, max_tokens=LOCAL_MAX_TOKENS)
    )
