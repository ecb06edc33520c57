"""Call plug-ins so that a failure costs nothing but their own result: curation goes on, the failure is counted and logged."""

import logging
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection

from evergold.store.counters import count

T = TypeVar("T")
FAILED = "plugin_failed:"
_log = logging.getLogger("evergold.curate")


def guarded(connection: Connection, what: str, call: Callable[[], T], otherwise: T) -> T:
    """Give what `call` returns, or `otherwise` if it raises; the counter `plugin_failed:WHAT` goes up then."""
    try:
        return call()
    except Exception as problem:
        _log.warning("%s failed and is left out: %s: %s", what, type(problem).__name__, problem)
        count(connection, {FAILED + what: 1})
        return otherwise
