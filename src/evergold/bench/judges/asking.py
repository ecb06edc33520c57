"""Ask a model to judge: one question, one repair, and the rules for what counts as an answer.

A reply is an answer only when it is complete, not a refusal, and fits the question's schema with the right ids. A reply
that does not fit is sent back once with what is wrong; after that there is no answer, and the metric is unscored. The
schema also stands in the prompt, for servers that accept the option and ignore it.
"""

from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

import orjson

from evergold.bench.judges.replies import Reply
from evergold.bench.metrics.questions import problem_with
from evergold.calls.endpoints import parse_object
from evergold.model.judging import Answer, Question
from evergold.model.run import Usage

SYSTEM = "You are a careful, impartial evaluator. You answer with one JSON object and nothing else."
REPAIR = "That answer cannot be used: {problem}. Give the whole answer again as one JSON object that fits this schema: {schema}"
SHAPE = "\n\nAnswer with one JSON object that fits this schema, and nothing else: {schema}"

Messages = list[dict[str, Any]]
Send = Callable[[Messages, Question], Awaitable[Reply]]


async def ask(send: Send, question: Question) -> Answer:
    """The answer to a question, with the time it took; `send` is one call of the model."""
    started = perf_counter()
    answer = await _asked(send, question)
    details = answer.details | {"latency_ms": (perf_counter() - started) * 1000}
    return answer.model_copy(update={"details": details})


async def _asked(send: Send, question: Question) -> Answer:
    schema = orjson.dumps(question.answer_schema).decode()
    messages: Messages = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": question.prompt + SHAPE.format(schema=schema)},
    ]
    first = await send(messages, question)
    data, problem = _judged(first, question)
    # A refusal or a cut-off would only be repeated: no second call is spent on it.
    if problem is None or first.final is not None:
        return _answer(first, data, first.final, first.usage)
    messages += [
        {"role": "assistant", "content": first.text or "(nothing)"},
        {"role": "user", "content": REPAIR.format(problem=problem, schema=schema)},
    ]
    second = await send(messages, question)
    data, problem = _judged(second, question)
    reason = second.final or (f"no usable answer after one repair: {problem}" if problem else None)
    # Both calls were paid, whichever of them gave the answer.
    return _answer(second, data, reason, first.usage.plus(second.usage), repaired=True)


def _judged(reply: Reply, question: Question) -> tuple[dict[str, Any] | None, str | None]:
    data = parse_object(reply.text)
    if data is None:
        return None, "it is not one JSON object"
    problem = problem_with(question, data)
    return (data, None) if problem is None else (None, problem)


def _answer(
    reply: Reply, data: dict[str, Any] | None, reason: str | None, usage: Usage, repaired: bool = False
) -> Answer:
    details = {name: True for name, flag in (("broken", reply.broken), ("repaired", repaired)) if flag}
    return Answer(
        data=data if reason is None else None,
        reason=reason,
        text=reply.text,
        token_logprobs=reply.logprobs,
        usage=usage,
        details=details,
    )
