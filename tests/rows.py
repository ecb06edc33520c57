"""Many rows in one test: each is tried, and all that fail are reported together.

For rows that differ in their values alone. Parts that differ in kind (a database, a format, an encoding that has code of its
own) are tests of their own: `pytest.mark.parametrize`.
"""

import inspect
import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import partial, wraps
from typing import Any

import pytest

Test = Callable[..., None]


def each_row(names: str | Sequence[str], rows: Iterable[Any], ids: Any = None) -> Callable[[Test], Test]:
    """Call a test with every row, as `pytest.mark.parametrize` does, but within one test.

    The other parameters are fixtures, which all rows share: take none that a row changes.
    """
    known = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = list(rows)
    labels = [ids(row) for row in table] if callable(ids) else list(ids or table)

    def decorate(test: Test) -> Test:
        @wraps(test)
        def try_rows(**fixtures: Any) -> None:
            values = [[row] if len(known) == 1 else row for row in table]
            calls = [partial(test, **dict(zip(known, row, strict=True)), **fixtures) for row in values]
            try_each(zip(labels, calls, strict=True))

        signature = inspect.signature(test)
        shared = [parameter for name, parameter in signature.parameters.items() if name not in known]
        try_rows.__signature__ = signature.replace(parameters=shared)  # type: ignore[attr-defined]
        return try_rows

    return decorate


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
