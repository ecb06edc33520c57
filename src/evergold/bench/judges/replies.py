"""A chat completion → text, or the reason why it is no answer."""

from dataclasses import dataclass, field
from typing import Any

import orjson

from evergold.bench.judges.abilities import ANSWER_TOOL
from evergold.calls.endpoints import first_choice, tool_functions
from evergold.conversation import text_of
from evergold.model.run import Usage

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
    choice = first_choice(completion)
    if choice is None:
        return Reply(final=f"the judge's endpoint gave no chat completion but {str(completion)[:80]!r}", broken=True)
    message, finish_reason = choice["message"], choice.get("finish_reason")
    refusal = message.get("refusal")
    if refusal or finish_reason == "content_filter":
        return Reply(final=f"the judge refused: {refusal or 'content filter'}")
    content = text_of(message)
    text = _tool_answer(message) or content
    if finish_reason == "length":
        return Reply(text=text, final="the judge's reply was cut off at its token limit")
    # Log-probabilities describe the text of the message; those of a tool call's arguments are not given.
    return Reply(text=text, logprobs=_logprobs(choice) if text == content else ())


def _tool_answer(message: dict[str, Any]) -> str | None:
    for function in tool_functions(message):
        if function.get("name") == ANSWER_TOOL:
            sent = function.get("arguments")
            return sent if isinstance(sent, str) else orjson.dumps(sent).decode()
    return None


def _logprobs(choice: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Each token with its alternatives; entries that do not have the protocol's shape are left out."""
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    entries = [entry for entry in content if isinstance(entry, dict)] if isinstance(content, list) else []
    tokens = [entry.get("token") for entry in entries]
    return tuple(
        {"token": token, "top": _alternatives(entry)}
        for token, entry in zip(tokens, entries, strict=True)
        if isinstance(token, str)
    )


def _alternatives(entry: dict[str, Any]) -> list[list[Any]]:
    top = entry.get("top_logprobs")
    others = [other for other in top if isinstance(other, dict)] if isinstance(top, list) else []
    pairs = [(other.get("token"), other.get("logprob")) for other in others]
    return [[token, logprob] for token, logprob in pairs if isinstance(token, str) and _is_logprob(logprob)]


def _is_logprob(value: Any) -> bool:
    """A number that is the logarithm of a probability; rounding may lift it a little above zero. NaN is none."""
    return isinstance(value, int | float) and value <= ROUNDING
