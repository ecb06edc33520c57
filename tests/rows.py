"""Many rows in one test: each is tried, and all that fail are reported together.

For rows that differ in their values alone. Parts that differ in kind (a database, a format, an encoding that has code of its
own) are tests of their own: `pytest.mark.parametrize`.
"""

import traceback
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def try_each(calls: Iterable[tuple[Any, Callable[[], Any]]]) -> None:
    """Make every call, then fail with what each of them raised, under its label."""
    tried, failed = 0, []
    for label, call in calls:
        tried += 1
        try:
            call()
        except (Exception, pytest.fail.Exception) as error:
            failed.append(f"{str(label)[:1000]}\n{''.join(traceback.format_exception(error, limit=-3))}")
    if failed:
        pytest.fail(f"{len(failed)} of {tried} rows fail:\n\n" + "\n".join(failed), pytrace=False)
