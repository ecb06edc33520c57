"""Language models as judges: one question, one repair, and the rules for what counts as an answer.

A reply is an answer only when it is complete, not a refusal, and fits the question's schema with the right ids. A reply
that does not fit is sent back once with what is wrong; after that there is no answer, and the metric is unscored. The
schema also stands in the prompt, for servers that accept the option and ignore it.

"OpenAI-compatible" covers servers that know JSON Schema output, servers that only know tool calls, and servers that
know neither; some give log-probabilities, some refuse a temperature. A judge asks for all of it, drops what the
endpoint refuses, and remembers. So the order is: JSON Schema, then a tool call, then plain words.
"""

import asyncio
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any

import orjson

from evergold.bench.metrics.questions import problem_with
from evergold.bench.native_models import NativeModel, native_model, tool_definition
from evergold.calls import endpoints
from evergold.calls.caller import CallFailure, RetryPolicy, call_with_retries
from evergold.conversation import text_of
from evergold.model.judge import JudgeAnswer, Question
from evergold.model.run import Usage
from evergold.settings import Settings

ANSWER_TOOL = "give_answer"
EVERYTHING = frozenset({"logprobs", "temperature", "schema", "tools"})
# Endpoints name the parameter they refuse in the error; the spellings differ.
MENTIONS = {
    "logprobs": ("logprob",),
    "temperature": ("temperature",),
    "schema": ("response_format", "json_schema", "structured output"),
    "tools": ("tool",),
}
DROPPED_FIRST = ("logprobs", "schema", "tools", "temperature")
TOP_ALTERNATIVES = 20


def request_options(question: Question, abilities: frozenset[str]) -> dict[str, Any]:
    """The part of a request that says how to answer."""
    options: dict[str, Any] = {}
    if "temperature" in abilities:
        options["temperature"] = 0
    if "schema" in abilities:
        described = {"name": question.task, "schema": question.answer_schema, "strict": True}
        options["response_format"] = {"type": "json_schema", "json_schema": described}
    elif "tools" in abilities:
        options["tools"] = [{"type": "function", "function": _answer_function(question)}]
        options["tool_choice"] = {"type": "function", "function": {"name": ANSWER_TOOL}}
    if "logprobs" in abilities and question.wants_logprobs:
        options |= {"logprobs": True, "top_logprobs": TOP_ALTERNATIVES}
    return options


def _answer_function(question: Question) -> dict[str, Any]:
    return {"name": ANSWER_TOOL, "description": "Give your answer.", "parameters": question.answer_schema}


def reduce_abilities(abilities: frozenset[str], question: Question, complaint: str) -> frozenset[str] | None:
    """The abilities left after a refusal: without what the endpoint names, else without the first in order.

    None when nothing is left that could be the cause.
    """
    # A tool call is the way out where there is no schema; while the schema is in use, tools are not sent.
    in_use = abilities - ({"tools"} if "schema" in abilities else frozenset())
    if not question.wants_logprobs:
        in_use -= {"logprobs"}
    lowered = complaint.casefold()
    named = [ability for ability, words in MENTIONS.items() if ability in in_use and any(w in lowered for w in words)]
    # What the endpoint names is dropped first; the fixed order applies when its message says nothing.
    ordered = [*named, *(name for name in DROPPED_FIRST if name in in_use)]
    return abilities - {ordered[0]} if ordered else None


ROUNDING = 0.01


@dataclass(frozen=True)
class Reply:
    """`final` is a reason that no repair can mend: refused, cut off, unreachable. `broken`: the judge itself failed."""

    text: str = ""
    final: str | None = None
    broken: bool = False
    logprobs: tuple[dict[str, Any], ...] = ()
    usage: Usage = field(default_factory=Usage)


def read_reply(completion: Any) -> Reply:
    choice = endpoints.first_choice(completion)
    if choice is None:
        return Reply(final=f"the judge's endpoint gave no chat completion but {str(completion)[:80]!r}", broken=True)
    message, finish_reason = choice["message"], choice.get("finish_reason")
    refusal = message.get("refusal")
    if refusal or finish_reason == "content_filter":
        return Reply(final=f"the judge refused: {refusal or 'content filter'}")
    content = text_of(message)
    calls = endpoints.tool_functions(message)
    sent = next((call.get("arguments") for call in calls if call.get("name") == ANSWER_TOOL), None)
    text = (sent if isinstance(sent, str) else orjson.dumps(sent).decode() if sent else "") or content
    if finish_reason == "length":
        return Reply(text=text, final="the judge's reply was cut off at its token limit")
    # Log-probabilities describe the text of the message; those of a tool call's arguments are not given.
    return Reply(text=text, logprobs=_logprobs(choice) if text == content else ())


def _logprobs(choice: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Each token with its alternatives; entries that do not have the protocol's shape are left out."""
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    return tuple(
        {"token": entry["token"], "top": _alternatives(entry)}
        for entry in (content if isinstance(content, list) else ())
        if isinstance(entry, dict) and isinstance(entry.get("token"), str)
    )


def _alternatives(entry: dict[str, Any]) -> list[list[Any]]:
    top = entry.get("top_logprobs")
    others = [other for other in top if isinstance(other, dict)] if isinstance(top, list) else []
    pairs = [(other.get("token"), other.get("logprob")) for other in others]
    return [
        [token, logprob]
        for token, logprob in pairs
        # The logarithm of a probability; rounding may lift it a little above zero. NaN is none.
        if isinstance(token, str) and isinstance(logprob, int | float) and logprob <= ROUNDING
    ]


SYSTEM = "You are a careful, impartial evaluator. You answer with one JSON object and nothing else."
REPAIR = "That answer cannot be used: {problem}. Give the whole answer again as one JSON object that fits this schema: {schema}"
SHAPE = "\n\nAnswer with one JSON object that fits this schema, and nothing else: {schema}"

Messages = list[dict[str, Any]]

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


class _ModelJudge:
    """One call of a model per question, one more to repair. A bad moment of the endpoint is waited out."""

    def __init__(self, model: endpoints.Endpoint | NativeModel, limits: JudgeLimits | None) -> None:
        self.identity = model.identity
        self._limits = limits or JudgeLimits()
        self._retry = RetryPolicy(tries=self._limits.retries + 1)

    async def ask(self, question: Question) -> JudgeAnswer:
        """The answer to a question, with the time it took."""
        started = perf_counter()
        schema = orjson.dumps(question.answer_schema).decode()
        messages: Messages = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": question.prompt + SHAPE.format(schema=schema)},
        ]
        usage, details = Usage(), dict[str, Any]()
        while True:
            reply = await self._reply(messages, question)
            # Both calls were paid, whichever of them gave the answer.
            usage = usage.plus(reply.usage)
            data = endpoints.parse_object(reply.text)
            problem = "it is not one JSON object" if data is None else problem_with(question, data)
            # A refusal or a cut-off would only be repeated: no second call is spent on it.
            if problem is None or reply.final is not None or details:
                break
            messages += [
                {"role": "assistant", "content": reply.text or "(nothing)"},
                {"role": "user", "content": REPAIR.format(problem=problem, schema=schema)},
            ]
            details = {"repaired": True}
        reason = reply.final or (f"no usable answer after one repair: {problem}" if problem else None)
        return JudgeAnswer(
            data=data if reason is None else None,
            reason=reason,
            text=reply.text,
            token_logprobs=reply.logprobs,
            usage=usage,
            details={
                **({"broken": True} if reply.broken else {}),
                **details,
                "latency_ms": (perf_counter() - started) * 1000,
            },
        )

    async def _reply(self, messages: Messages, question: Question) -> Reply:
        raise NotImplementedError


class OpenAIJudge(_ModelJudge):
    """`openai/…`, `local/…`: one chat completion per call."""

    def __init__(self, endpoint: endpoints.Endpoint, limits: JudgeLimits | None = None) -> None:
        super().__init__(endpoint, limits)
        self._endpoint = endpoint
        self._abilities = EVERYTHING
        self._client = endpoints.OpenAIClient(endpoint, self._limits.timeout)
        self.close = self._client.close

    async def _reply(self, messages: Messages, question: Question) -> Reply:
        """One reply, asking for less until the endpoint understands; what it refused is remembered once it answers."""
        # Concurrent calls may learn different things; each begins with what is known and writes back what worked.
        abilities = self._abilities
        while True:
            options = request_options(question, abilities)
            if self._limits.max_tokens is not None:
                options["max_tokens"] = self._limits.max_tokens
            body = {"model": self._endpoint.model, "messages": messages, **options}
            try:
                post = partial(self._client.post, "/chat/completions", body)
                completion = await call_with_retries(self._retry, post)
            except CallFailure as failure:
                refused = failure.status in NOT_UNDERSTOOD
                left = reduce_abilities(abilities, question, str(failure)) if refused else None
                if left is None:
                    return Reply(final=_reason(failure), broken=True)
                abilities = left
                continue
            self._abilities = abilities
            return replace(read_reply(completion), usage=self._endpoint.usage(completion))


def _reason(problem: CallFailure) -> str:
    if problem.status is not None:
        return f"the judge's endpoint said {problem.status}: {problem}"
    if problem.error_class == "malformed":
        return f"the judge's endpoint did not answer with JSON: {problem}"
    return f"the judge could not be reached: {problem}"


def _limits(settings: Settings, max_tokens: int | None = None) -> JudgeLimits:
    return JudgeLimits(settings.benchmark_timeout, settings.benchmark_tries - 1, max_tokens)


def make_openai_judge(address: str, settings: Settings) -> OpenAIJudge:
    """`openai/MODEL`; the judge's own URL and key where they are set, else those of the model under test."""
    own = replace(
        settings,
        model_base_url=settings.judge_base_url or settings.model_base_url,
        model_api_key=settings.judge_api_key or settings.model_api_key,
    )
    return OpenAIJudge(endpoints.openai_endpoint(address, own), _limits(settings))


def make_local_judge(address: str, settings: Settings) -> OpenAIJudge:
    return OpenAIJudge(endpoints.local_endpoint(address), _limits(settings, LOCAL_MAX_TOKENS))


class NativeJudge(_ModelJudge):
    """`anthropic/…`, `google/…`, `mistral/…`: the answer is asked for as a call of one tool, and read from it."""

    def __init__(self, model: NativeModel, limits: JudgeLimits | None = None) -> None:
        super().__init__(model, limits)
        self._model, self.close = model, model.close

    async def _reply(self, messages: Messages, question: Question) -> Reply:
        from pydantic_ai.models import ModelRequestParameters

        # The answer is demanded as the call of a tool: the one form that all three providers enforce.
        tool = tool_definition(_answer_function(question), kind="output")
        demanded = ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
        try:
            response = await call_with_retries(self._retry, partial(self._send, messages, demanded))
        except CallFailure as failure:
            return Reply(final=f"the judge's endpoint failed ({failure.error_class}): {failure}", broken=True)
        usage = self._model.usage(response)
        # Some models answer in text although a tool is demanded; text that fits is as good.
        text = next(
            (
                orjson.dumps(call.args_as_dict()).decode()
                for call in response.tool_calls
                if call.tool_name == ANSWER_TOOL
            ),
            response.text or "",
        )
        if response.finish_reason == "content_filter":
            return Reply(final="the judge refused: content filter", usage=usage)
        if response.finish_reason == "length":
            return Reply(text=text, final="the judge's reply was cut off at its token limit", usage=usage)
        return Reply(text=text, usage=usage)

    async def _send(self, messages: Messages, tool: Any) -> Any:
        timeout = self._limits.timeout
        try:
            # Of the whole exchange: the limit of the clients is on single reads, which a slow drip never reaches.
            async with asyncio.timeout(timeout):
                return await self._model.request(messages, {"timeout": timeout}, tool)
        except TimeoutError as problem:
            raise CallFailure("timeout", f"no reply within {timeout:g} s") from problem


def _make_native_judge(provider: str, address: str, settings: Settings) -> NativeJudge:
    return NativeJudge(native_model(provider, address), _limits(settings))


make_anthropic_judge = partial(_make_native_judge, "anthropic")
make_google_judge = partial(_make_native_judge, "google")
make_mistral_judge = partial(_make_native_judge, "mistral")
