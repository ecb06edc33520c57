"""A language model as judge, at any OpenAI-compatible endpoint. How it is asked is in `asking`."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from evergold.bench.judges.abilities import EVERYTHING, fewer, request_options
from evergold.bench.judges.asking import Messages, ask
from evergold.bench.judges.replies import Reply, read_reply
from evergold.calls.budget import cost
from evergold.calls.caller import Failure, RetryPolicy, retried
from evergold.calls.endpoints import CallFailed, Endpoint, OpenAIClient, local_endpoint, openai_endpoint, token_counts
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
    """One chat completion per question, one more to repair. A bad moment of the endpoint is waited out."""

    def __init__(self, endpoint: Endpoint, limits: JudgeLimits | None = None) -> None:
        self._endpoint = endpoint
        self._limits = limits or JudgeLimits()
        self._abilities = EVERYTHING
        self._retry = RetryPolicy(tries=self._limits.retries + 1)
        self._client = OpenAIClient(endpoint, self._limits.timeout)

    @property
    def identity(self) -> str:
        return self._endpoint.identity

    async def ask(self, question: Question) -> Answer:
        return await ask(self._reply, question)

    async def close(self) -> None:
        await self._client.close()

    async def _reply(self, messages: Messages, question: Question) -> Reply:
        """One reply, asking for less until the endpoint understands; what it refused is remembered once it answers."""
        # Concurrent calls may learn different things; each begins with what is known and writes back what worked.
        abilities = self._abilities
        while True:
            options = request_options(question, abilities)
            if self._limits.max_tokens is not None:
                options["max_tokens"] = self._limits.max_tokens
            body = {"model": self._endpoint.model, "messages": messages, **options}
            completion = await retried(self._retry, partial(self._sent, body), _failure_of)
            if isinstance(completion, CallFailed):
                refused = completion.status in NOT_UNDERSTOOD
                left = fewer(abilities, question, str(completion)) if refused else None
                if left is None:
                    return Reply(final=_reason(completion), broken=True)
                abilities = left
                continue
            self._abilities = abilities
            return replace(read_reply(completion), usage=self._usage(completion))

    async def _sent(self, body: dict[str, Any]) -> Any | CallFailed:
        try:
            return await self._client.post("/chat/completions", body)
        except CallFailed as problem:
            return problem

    def _usage(self, completion: Any) -> Usage:
        sent, made = token_counts(completion)
        price = cost(self._endpoint.provider, self._endpoint.model, sent, made)
        return Usage(input_tokens=sent, output_tokens=made, cost=price)


def _failure_of(reply: Any | CallFailed) -> Failure | None:
    return reply.failure if isinstance(reply, CallFailed) else None


def _reason(problem: CallFailed) -> str:
    if problem.status is not None:
        return f"the judge's endpoint said {problem.status}: {problem}"
    if problem.failure.error_class == "malformed":
        return f"the judge's endpoint did not answer with JSON: {problem}"
    return f"the judge could not be reached: {problem}"


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
