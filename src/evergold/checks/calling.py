"""Calls a check function of the user's: whatever it does, the caller gets a result or one error."""

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

from evergold.errors import BadInput
from evergold.model.checking import CheckResult, Turn
from evergold.overdue import Overdue, call_within


class CheckFailed(Exception):
    """A check could not be run; its words are the reason that is counted and shown."""


@cache
def imported(name: str) -> Callable[[Turn], Any]:
    """Import `module:function`."""
    module, _, function = name.partition(":")
    try:
        called = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as problem:
        raise BadInput(f"python check {name!r} cannot be imported: {problem}; write module:function") from problem
    if not callable(called):
        raise BadInput(f"python check {name!r} is not a function")
    return called  # type: ignore[no-any-return]


def called_function(name: str, turn: Turn, timeout: float) -> CheckResult | None:
    """Call the function, at most so long. One that hung is not called again in this process."""
    try:
        value = call_within(timeout, name, lambda: imported(name)(turn))
    except Overdue as problem:
        raise CheckFailed(str(problem)) from problem
    except Exception as problem:
        raise CheckFailed(f"{name} raised {type(problem).__name__}: {problem}") from problem
    return as_result(value, name)


def as_result(value: Any, name: str) -> CheckResult | None:
    """Read what a check returned; anything but a value from 0 to 1 is an error, never a score."""
    if value is None:
        return None
    # bool before int: True is an int in Python and means a pass here.
    if isinstance(value, bool):
        value = float(value)
    result = value if isinstance(value, CheckResult) else None
    if result is None and isinstance(value, int | float):
        result = CheckResult(float(value), f"{name} returned {value:g}")
    if result is None:
        raise CheckFailed(
            f"{name} returned {value!r}; allowed are a number from 0 to 1, a truth value, CheckResult, None"
        )
    if not 0.0 <= result.value <= 1.0:
        raise CheckFailed(f"{name} returned {result.value:g}; a value lies from 0 to 1")
    return result
