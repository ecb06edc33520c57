"""A call that failed, as data: a class the retry policy knows, one line, and when to call again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evergold.model.case import Case
from evergold.model.run import Attempt

_LONGEST_LINE = 500


@dataclass(frozen=True)
class Failure:
    error_class: str
    message: str
    retry_after: float | None = None


def failed(case: Case, trial: int, error_class: str, error: str, retry_after: float | None = None) -> Attempt:
    """An attempt whose call failed. One line, and no longer than a line should be."""
    line = " ".join(error.split())[:_LONGEST_LINE] or error_class
    return Attempt(case_id=case.id, trial=trial, error=line, error_class=error_class, retry_after=retry_after)


def classified(status: int, code: Any, message: str, headers: Mapping[str, str]) -> Failure:
    """What a refusal of an OpenAI-compatible endpoint means for this call and for the others."""
    if status == 429:
        # OpenAI answers 429 for an empty account too; waiting does not fill it.
        if code == "insufficient_quota":
            return Failure("quota", message)
        return Failure("rate_limit", message, retry_after(headers))
    if status in (401, 403):
        return Failure("auth", message)
    if status == 404:
        return Failure("unknown_model", message)
    # 408 and 409 are what the OpenAI clients retry as well: a timeout and a lock on the server's side.
    if status >= 500 or status in (408, 409):
        return Failure("server", message, retry_after(headers))
    return Failure("bad_request", message)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from `retry-after-ms` or `retry-after`, which is a number or an HTTP date."""
    from email.utils import parsedate_to_datetime
    from time import time

    # `retry-after-ms` is what Azure and OpenAI add, more precise than whole seconds, so it wins.
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        raw = headers.get(name)
        if raw is None:
            continue
        try:
            return max(0.0, float(raw) * scale)
        except ValueError:
            pass
        try:
            return max(0.0, parsedate_to_datetime(raw).timestamp() - time())
        except ValueError:
            continue
    return None
