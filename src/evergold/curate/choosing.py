"""When the candidates of a day are chosen anew: at once for a small day, for a large one not more often than it is worth.

Choosing reads every candidate of the day, so choosing after each batch would cost time in the square of the day's traces. A day
whose choice is put off is noted in the transaction that put it off, and chosen when its time has come, by whichever process
curates then. So the choice is exact as soon as nothing more comes, and at every curation by hand.
"""

import time
from collections.abc import Iterable

from sqlalchemy import Connection

from evergold.model.policy import Policy
from evergold.store.candidates import choose_day, due_days, pool_size, put_due_days

SMALL = 2_000  # candidates of a day that are chosen anew in a few milliseconds
REST = 20.0  # so many times as long as a choice took, the next one of that day waits


class DayChoices:
    """Remembers when each day may be chosen again."""

    def __init__(self) -> None:
        self._rests_until: dict[tuple[str, str], float] = {}

    def choose(
        self, connection: Connection, policy: Policy, days: Iterable[str], *, now: bool = False
    ) -> tuple[list[str], list[str]]:
        """Choose those days that are due, and earlier ones that were put off; `now`: all of them.

        Returns the traces whose place changed, and the days that were chosen.
        """
        noted = due_days(connection, policy)
        waiting = sorted(noted | set(days))
        chosen = [day for day in waiting if now or self._is_due(connection, policy, day)]
        exchanged: list[str] = []
        for day in chosen:
            began = time.monotonic()
            exchanged += choose_day(connection, policy, day)
            ended = time.monotonic()
            self._rests_until[policy.name, day] = ended + REST * (ended - began)
        left = set(waiting) - set(chosen)
        # Written only on change: most batches put nothing off.
        if left != noted:
            put_due_days(connection, policy, left)
        return exchanged, chosen

    def _is_due(self, connection: Connection, policy: Policy, day: str) -> bool:
        rested = time.monotonic() >= self._rests_until.get((policy.name, day), 0.0)
        return rested or pool_size(connection, policy, day) <= SMALL
