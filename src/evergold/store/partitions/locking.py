"""Short exclusive locks on the tables of traces and spans: taken when both are free, given up before anybody waits for long.

Partitions have foreign keys to `traces`, whose triggers PostgreSQL makes and drops with them: both tables are locked to change
one. Writers take the two in either order, and a transaction that holds one and waits for the other can be in a deadlock with
them. So neither lock is waited for as long as `deadlock_timeout` (1 s), after which PostgreSQL would refuse one of them, perhaps
a writer: all is let go and tried again.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import Connection, text

from evergold.errors import Unavailable

if TYPE_CHECKING:
    from evergold.store.db import Database

T = TypeVar("T")
FIRST_MS = 400  # whoever reads or writes traces waits behind us for so long
SPANS_MS = 100
TRIES = 20
PAUSE_SECONDS = 0.1
HELD = ("55P03", "40P01")  # a lock that was not given in time, and a deadlock


def exclusively(db: "Database", work: Callable[[Connection], T]) -> T:
    """Run `work` in a transaction of its own in which nobody else uses traces or spans."""

    def locked(connection: Connection) -> T:
        # In the order of most transactions, which read or write traces first.
        connection.execute(text("LOCK TABLE traces IN ACCESS EXCLUSIVE MODE"))
        wait_briefly(connection, SPANS_MS)
        connection.execute(text("LOCK TABLE spans IN ACCESS EXCLUSIVE MODE"))
        return work(connection)

    return patiently(db, locked)


def patiently(db: "Database", work: Callable[[Connection], T]) -> T:
    """Run `work` in a transaction of its own, again and again for some seconds while others hold what it needs."""
    for attempt in range(1, TRIES + 1):
        try:
            with db.aside() as connection:
                wait_briefly(connection, FIRST_MS)
                return work(connection)
        except Unavailable as problem:
            state = getattr(getattr(problem.__cause__, "orig", None), "sqlstate", None)
            if state not in HELD or attempt == TRIES:
                raise
        time.sleep(PAUSE_SECONDS)
    raise AssertionError("the last attempt returns or raises")


def wait_briefly(connection: Connection, milliseconds: int) -> None:
    connection.execute(text(f"SET LOCAL lock_timeout = '{milliseconds}ms'"))
