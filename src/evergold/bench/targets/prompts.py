"""A case → what a chat model is sent.

A task's `input` is its prompt, word for word. A case that carries its own conversation or rendered prompt is sent that.
Passages are put before the question for question-answering and summary cases, whose answer must rest on them; for a
task they are material for the judge, unless the run's parameter `send_context` says otherwise.
"""

from collections.abc import Mapping
from typing import Any

from evergold import replay
from evergold.model.case import Case, CaseKind, plain_messages

OWN_PARAMS = frozenset({"system", "send_context", "timeout"})
"""Parameters of a run that are ours; all others go to the model's API as they are."""


def messages(case: Case, params: Mapping[str, Any]) -> list[dict[str, Any]]:
    # The system prompt of a run comes first; a recorded one of the case follows it and is not replaced.
    system = [{"role": "system", "content": params["system"]}] if params.get("system") else []
    if case.messages:
        return [*system, *plain_messages(case.messages)]
    return [*system, {"role": "user", "content": prompt(case, params)}]


def prompt(case: Case, params: Mapping[str, Any]) -> str:
    if case.prompt:
        return case.prompt
    passages = [context.text for context in case.contexts if context.text]
    # Whether passages are sent is a question of the kind of case, unless the run says otherwise.
    wanted = params.get("send_context", case.kind in (CaseKind.QA, CaseKind.SUMMARY))
    if not passages or not wanted:
        return case.input
    return "\n\n".join(["Use only the following passages.", *passages, case.input])


def payload(case: Case, params: Mapping[str, Any], trial: int, seed: int | None) -> dict[str, Any]:
    """What a program or an HTTP endpoint of the user's is sent; under replay with the address that answers tool calls."""
    session = replay.current.get()
    return {
        "id": case.id,
        "input": case.input,
        "messages": messages(case, params),
        "contexts": [context.text for context in case.contexts],
        "tools": list(case.tools),
        "metadata": case.metadata,
        "params": {name: value for name, value in params.items() if name not in OWN_PARAMS},
        "trial": trial,
        "seed": seed,
        **({} if session is None else {"tools_url": session.url()}),
    }
