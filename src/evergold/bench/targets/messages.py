"""What a target is sent for a case, and what its reply means.

A task's `input` is its prompt, word for word. A case that carries its own conversation or rendered prompt is sent that.
Passages are put before the question for question-answering and summary cases, whose answer must rest on them; for a
task they are material for the judge, unless the run's parameter `send_context` says otherwise.

In the reply of a user's own program, endpoint or function text is the answer. A mapping may say more: `output`,
`tool_calls [{name, args}]`, `usage {input_tokens, output_tokens, cost}`, `paths`, `ranges`, `metadata`; or `error`,
which makes it a failed attempt. Anything else is an error that says what was expected, never an empty answer.
"""

from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from evergold import replay
from evergold.calls.caller import failed_attempt
from evergold.model.case import Case, CaseKind, plain_messages
from evergold.model.faults import first_fault
from evergold.model.run import CUT_BY_LENGTH, Attempt

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


MAX_OUTPUT = 1_000_000
_FIELDS = ("output", "tool_calls", "usage", "paths", "ranges", "metadata", "error", "finish_reason")


def read_answer(case: Case, trial: int, reply: object) -> Attempt:
    """An attempt from a value: an `Attempt`, text, or a mapping with the fields above."""
    if isinstance(reply, Attempt):
        return reply.model_copy(update={"case_id": case.id, "trial": trial})
    if isinstance(reply, str):
        reply = {"output": reply}
    if not isinstance(reply, dict):
        return failed_attempt(case, trial, "malformed", f"expected text or a mapping, got {type(reply).__name__}")
    unknown = [str(name) for name in reply if name not in _FIELDS]
    if unknown:
        return failed_attempt(case, trial, "malformed", f"unknown field {unknown[0]!r}; valid are {', '.join(_FIELDS)}")
    fields: dict[str, Any] = {name: value for name, value in reply.items() if value is not None}
    try:
        attempt = Attempt(case_id=case.id, trial=trial, **fields)
    except ValidationError as problem:
        return failed_attempt(case, trial, "malformed", str(first_fault(problem, Attempt)))
    if attempt.error is not None:
        return failed_attempt(case, trial, "target", attempt.error)
    return bound_output(attempt, case)


def read_text_answer(case: Case, trial: int, body: bytes) -> Attempt:
    """An attempt from bytes: JSON when it is a JSON object or string, else the text itself."""
    if len(body) > 4 * MAX_OUTPUT:
        return failed_attempt(
            case, trial, "too_large", f"answered {len(body):,} bytes; at most {4 * MAX_OUTPUT:,} are read"
        )
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return read_answer(case, trial, body.decode("utf-8", "replace").rstrip("\n"))
    # A number or a list is text of an answer that happens to be JSON.
    return read_answer(case, trial, value if isinstance(value, str | dict) else body.decode("utf-8", "replace"))


def bound_output(attempt: Attempt, case: Case) -> Attempt:
    """Refuse what is no answer: nothing at all, and ten megabytes that nobody judges or stores."""
    size = len(attempt.output)
    answers = attempt.tool_calls or attempt.ranges or attempt.paths
    if not answers and not attempt.output.strip() and case.kind is not CaseKind.CONTEXT:
        why = " (cut by its length)" if attempt.finish_reason in CUT_BY_LENGTH else ""
        return failed_attempt(case, attempt.trial, "no_answer", f"the reply has no text and no tool call{why}")
    if size <= MAX_OUTPUT:
        # Half a surrogate pair, as a reply cut inside an emoji leaves behind, becomes a replacement character.
        whole = attempt.output.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return attempt if whole == attempt.output else attempt.model_copy(update={"output": whole})
    return failed_attempt(
        case, attempt.trial, "too_large", f"answered {size:,} characters; at most {MAX_OUTPUT:,} are kept"
    )
