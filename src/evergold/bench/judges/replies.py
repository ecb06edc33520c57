"""A chat completion → text, or the reason why it is no answer."""

from dataclasses import dataclass, field
from typing import Any

from evergold.bench.judges.abilities import ANSWER_TOOL
from evergold.model.run import Usage


@dataclass(frozen=True)
class Reply:
    """`final` is a reason that no repair can mend: refused, cut off, unreachable. `broken`: the judge itself failed."""

    text: str = ""
    final: str | None = None
    broken: bool = False
    logprobs: tuple[dict[str, Any], ...] = ()
    usage: Usage = field(default_factory=Usage)


def read_reply(completion: Any) -> Reply:
    choices: Any = getattr(completion, "choices", None)
    message = getattr(choices[0], "message", None) if choices else None
    if message is None:
        return Reply(final=f"the judge's endpoint gave no chat completion but {str(completion)[:80]!r}", broken=True)
    choice = choices[0]
    refusal = getattr(message, "refusal", None)
    if refusal or choice.finish_reason == "content_filter":
        return Reply(final=f"the judge refused: {refusal or 'content filter'}")
    text = _tool_answer(message) or message.content or ""
    if choice.finish_reason == "length":
        return Reply(text=text, final="the judge's reply was cut off at its token limit")
    # Log-probabilities describe the text of the message; those of a tool call's arguments are not given.
    return Reply(text=text, logprobs=_logprobs(choice) if text == message.content else ())


def _tool_answer(message: Any) -> str | None:
    for call in getattr(message, "tool_calls", None) or ():
        if call.function.name == ANSWER_TOOL:
            return str(call.function.arguments)
    return None


def _logprobs(choice: Any) -> tuple[dict[str, Any], ...]:
    content = getattr(getattr(choice, "logprobs", None), "content", None) or ()
    return tuple(
        {"token": entry.token, "top": [[other.token, other.logprob] for other in entry.top_logprobs or ()]}
        for entry in content
    )
