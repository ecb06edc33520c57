"""`anthropic/…`, `google/…`, `mistral/…` as judges: the answer is asked for as a call of one tool, and read from it."""

import asyncio
from typing import Any

import orjson

from evergold.bench.judges.abilities import ANSWER_TOOL
from evergold.bench.judges.asking import Messages, ask
from evergold.bench.judges.replies import Reply
from evergold.bench.native_models import NativeModel, native_model, tool_definition
from evergold.calls.caller import Failure, RetryPolicy, retried
from evergold.model.judging import Answer, Question
from evergold.settings import Settings


class NativeJudge:
    def __init__(self, model: NativeModel, timeout: float, retry: RetryPolicy | None = None) -> None:
        self._model = model
        self._retry = retry or RetryPolicy()
        self._timeout = timeout

    @property
    def identity(self) -> str:
        return self._model.identity

    async def ask(self, question: Question) -> Answer:
        return await ask(self._reply, question)

    async def close(self) -> None:
        await self._model.close()

    async def _reply(self, messages: Messages, question: Question) -> Reply:
        tool = _answer_tool(question)
        response = await retried(
            self._retry,
            lambda: self._sent(messages, tool),
            lambda reply: reply if isinstance(reply, Failure) else None,
        )
        if isinstance(response, Failure):
            return Reply(final=f"the judge's endpoint failed ({response.error_class}): {response.message}", broken=True)
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

    async def _sent(self, messages: Messages, tool: Any) -> Any | Failure:
        try:
            # Of the whole exchange: the limit of the clients is on single reads, which a slow drip never reaches.
            async with asyncio.timeout(self._timeout):
                return await self._model.request(messages, {"timeout": self._timeout}, tool)
        except TimeoutError:
            return Failure("timeout", f"no reply within {self._timeout:g} s")


def make_anthropic_judge(address: str, settings: Settings) -> NativeJudge:
    return NativeJudge(native_model("anthropic", address), settings.benchmark_timeout)


def make_google_judge(address: str, settings: Settings) -> NativeJudge:
    return NativeJudge(native_model("google", address), settings.benchmark_timeout)


def make_mistral_judge(address: str, settings: Settings) -> NativeJudge:
    return NativeJudge(native_model("mistral", address), settings.benchmark_timeout)


def _answer_tool(question: Question) -> Any:
    from pydantic_ai.models import ModelRequestParameters

    described = {"name": ANSWER_TOOL, "description": "Give your answer.", "parameters": question.answer_schema}
    tool = tool_definition(described, kind="output")
    # The answer is demanded as the call of a tool: the one form that all three providers enforce.
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
