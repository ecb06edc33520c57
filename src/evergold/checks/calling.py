"""Calls a check function of the user's: whatever it does, the caller gets a result or one error."""

import importlib
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from evergold.errors import BadInput
from evergold.model.checking import CheckResult, Turn


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


_stuck: set[str] = set()  # functions that hung once; each would cost a thread again


def called_function(name: str, turn: Turn, timeout: float) -> CheckResult | None:
    """Call the function in a thread of its own, at most so long. One that hung is not called again in this process."""
    if name in _stuck:
        raise CheckFailed(f"{name} did not return before; restart after mending it")
    box: list[Any] = []

    def work() -> None:
        try:
            box.append((imported(name)(turn), None))
        except Exception as problem:
            box.append((None, f"{type(problem).__name__}: {problem}"))

    thread = threading.Thread(target=work, name=f"evergold-check-{name}", daemon=True)
    thread.start()
    thread.join(timeout)
    if not box:
        _stuck.add(name)
        raise CheckFailed(f"{name} did not return within {timeout:g} s")
    value, error = box[0]
    if error is not None:
        raise CheckFailed(f"{name} raised {error}")
    return as_result(value, name)


def as_result(value: Any, name: str) -> CheckResult | None:
    """Read what a check returned; anything but a value from 0 to 1 is an error, never a score."""
    if value is None:
        return None
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
