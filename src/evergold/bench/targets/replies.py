"""Turn the reply of a user's own program, endpoint or function into an attempt.

Text is the answer. A mapping may say more: `output`, `tool_calls [{name, args}]`, `usage {input_tokens, output_tokens,
cost}`, `paths`, `ranges`, `metadata`; or `error`, which makes it a failed attempt. Anything else is an error that says
what was expected, never an empty answer.
"""

from typing import Any

import orjson
from pydantic import ValidationError

from evergold.calls.caller import failed
from evergold.model.case import Case
from evergold.model.faults import first_fault
from evergold.model.run import Attempt

MAX_OUTPUT = 1_000_000
_FIELDS = ("output", "tool_calls", "usage", "paths", "ranges", "metadata", "error", "finish_reason")


def answered(case: Case, trial: int, reply: object) -> Attempt:
    """An attempt from a value: an `Attempt`, text, or a mapping with the fields above."""
    if isinstance(reply, Attempt):
        return reply.model_copy(update={"case_id": case.id, "trial": trial})
    if isinstance(reply, str):
        reply = {"output": reply}
    if not isinstance(reply, dict):
        return failed(case, trial, "malformed", f"expected text or a mapping, got {type(reply).__name__}")
    unknown = [str(name) for name in reply if name not in _FIELDS]
    if unknown:
        return failed(case, trial, "malformed", f"unknown field {unknown[0]!r}; valid are {', '.join(_FIELDS)}")
    fields: dict[str, Any] = {name: value for name, value in reply.items() if value is not None}
    try:
        attempt = Attempt(case_id=case.id, trial=trial, **fields)
    except ValidationError as problem:
        return failed(case, trial, "malformed", str(first_fault(problem, Attempt)))
    if attempt.error is not None:
        return failed(case, trial, "target", attempt.error)
    return bounded(attempt, case)


def answered_text(case: Case, trial: int, body: bytes) -> Attempt:
    """An attempt from bytes: JSON when it is a JSON object or string, else the text itself."""
    if len(body) > 4 * MAX_OUTPUT:
        return failed(case, trial, "too_large", f"answered {len(body):,} bytes; at most {4 * MAX_OUTPUT:,} are read")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return answered(case, trial, body.decode("utf-8", "replace").rstrip("\n"))
    # A number or a list is text of an answer that happens to be JSON.
    return answered(case, trial, value if isinstance(value, str | dict) else body.decode("utf-8", "replace"))


def bounded(attempt: Attempt, case: Case) -> Attempt:
    """Nobody judges or stores a ten-megabyte answer: it is an error with its size."""
    size = len(attempt.output)
    if size <= MAX_OUTPUT:
        return attempt if _encodable(attempt.output) else attempt.model_copy(update={"output": _mended(attempt.output)})
    return failed(case, attempt.trial, "too_large", f"answered {size:,} characters; at most {MAX_OUTPUT:,} are kept")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _mended(text: str) -> str:
    """Half a surrogate pair, as a reply cut inside an emoji leaves behind, becomes a replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
