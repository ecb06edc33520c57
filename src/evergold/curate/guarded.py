"""Call plug-ins so that a failure costs nothing but their own result: curation goes on, the failure is counted and logged.

One of another package that does not return is left behind after some seconds and not called again in this process.
"""

import logging
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection

from evergold.overdue import PLUGIN_SECONDS, call_within, hanging
from evergold.plugins import is_foreign
from evergold.store.workspace_facts import count

T = TypeVar("T")
FAILED = "plugin_failed:"
_log = logging.getLogger("evergold.curate")


class Called(NamedTuple):
    """A plug-in, and what its failures are counted under."""

    what: str
    plugin: object


def guarded(connection: Connection, called: Called, call: Callable[[], T], otherwise: T) -> T:
    """Give what `call` returns, or `otherwise` if it raises or hangs; the counter `plugin_failed:WHAT` goes up then."""
    what = called.what
    known = what in hanging()
    try:
        return call_within(PLUGIN_SECONDS, what, call) if is_foreign(called.plugin) else call()
    except Exception as problem:
        # A plug-in that hangs is logged once; each further failure is only counted.
        if not known:
            _log.warning("%s failed and is left out: %s: %s", what, type(problem).__name__, problem)
        count(connection, {FAILED + what: 1})
        return otherwise
