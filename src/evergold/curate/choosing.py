"""When the candidates of a day are chosen anew: at once for a small day, for a large one not more often than it is worth.

Choosing reads every candidate of the day, so choosing after each batch would cost time in the square of the day's traces. A day
whose choice is put off is noted in the transaction that put it off, and chosen when its time has come, by whichever process
curates then. So the choice is exact as soon as nothing more comes, and at every curation by hand.

A large day is read beside the writer, whom others wait for; only what changed is written. When the pool changed meanwhile, the
day stays noted.
"""

import time
from collections.abc import Iterable

from sqlalchemy import Connection

from evergold.machine import give_back_memory
from evergold.model.policy import Policy
from evergold.store.candidates import (
    DayChoice,
    choice_of,
    due_days,
    gathered,
    is_small,
    keep_choice,
    note_gathered,
    put_due_days,
)

SMALL = 2_000  # candidates of a day that are chosen anew in a few milliseconds
REST = 100.0  # so many times as long as a choice took, the next one of that day waits


class DayChoices:
    """Remembers when each day may be chosen again, and choices that are not written yet."""

    def __init__(self) -> None:
        self._rests_until: dict[tuple[str, str], float] = {}
        self._ahead: dict[tuple[str, str], DayChoice] = {}

    def look_ahead(self, connection: Connection, policy: Policy, *, now: bool = False) -> None:
        """Choose large days that were put off and are due, `now`: all of them, for `choose` to write down."""
        for day in due_days(connection, policy):
            rested = time.monotonic() >= self._rests_until.get((policy.name, day), 0.0)
            if (now or rested) and not is_small(connection, policy, day, SMALL):
                began = time.monotonic()
                self._ahead[policy.name, day] = choice_of(connection, policy, day)
                ended = time.monotonic()
                self._rests_until[policy.name, day] = ended + REST * (ended - began)
                give_back_memory()  # SQLite sorted the whole day in it

    def choose(
        self, connection: Connection, policy: Policy, days: Iterable[str], *, now: bool = False
    ) -> tuple[list[str], list[str]]:
        """Choose those days that are due, and earlier ones that were put off; `now`: all of them.

        Returns the traces whose place changed, and the days that were chosen.
        """
        days = set(days)
        noted = due_days(connection, policy, to_change=True)
        if days:
            note_gathered(connection, policy)
        state = gathered(connection, policy)
        left, chosen, exchanged = set[str](), list[str](), list[str]()
        for day in sorted(noted | days):
            choice = self._ahead.pop((policy.name, day), None)
            current = choice is not None and choice.gathered == state
            if not current and (now or is_small(connection, policy, day, SMALL)):
                choice, current = choice_of(connection, policy, day), True
            if not current:
                left.add(day)
            if choice is not None:
                exchanged += keep_choice(connection, policy, day, choice)
                chosen.append(day)
        # Written only on change: most batches put nothing off.
        if left != noted:
            put_due_days(connection, policy, left)
        return exchanged, chosen
