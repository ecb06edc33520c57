"""Leases on work that must not be done twice at once: a row with the holder and an end, by the database's clock.

Whoever holds a lease renews it while it works. One that dies stops renewing, and another takes the work when the lease is over.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, select, text

from evergold.errors import Conflict, EvergoldError
from evergold.holders import is_dead, new_owner
from evergold.store.schema import utc_now
from evergold.store.values import stamp

if TYPE_CHECKING:
    from evergold.store.db import Database

LEASE_SECONDS = 60.0
BEATS = 4  # in the time of one lease


class HeldLease(NamedTuple):
    """Who holds a piece of work, since when, and until when if it is not renewed."""

    owner: str
    since: str
    until: str


def now_and_later(connection: Connection, seconds: float) -> tuple[str, str]:
    """The database's time, which is the same for every server, and the time so many seconds later."""
    moment = str(connection.execute(select(utc_now())).scalar_one())
    later = datetime.fromisoformat(moment.replace("Z", "+00:00")) + timedelta(seconds=seconds)
    return moment, str(stamp(later))


def take_lease(
    connection: Connection, name: str, owner: str, seconds: float = LEASE_SECONDS, taking_from: str = ""
) -> HeldLease | None:
    """Take or renew a lease, also one that `taking_from` (known to be dead) held; None when it is ours now, else who holds it."""
    now, until = now_and_later(connection, seconds)
    # One statement is both test and claim: of two holders that ask at once only one gets a row back.
    free = "work_leases.lease_until <= :now OR work_leases.owner IN (:owner, :dead)"
    since = "CASE WHEN work_leases.owner = :owner THEN work_leases.since ELSE :now END"
    statement = f"""INSERT INTO work_leases (name, owner, since, lease_until) VALUES (:name, :owner, :now, :until)
        ON CONFLICT (name) DO UPDATE SET owner = :owner, since = {since}, lease_until = :until WHERE {free} RETURNING 1"""
    params = {"name": name, "owner": owner, "dead": taking_from, "now": now, "until": until}
    if connection.execute(text(statement), params).first() is not None:
        return None
    query = text("SELECT owner, since, lease_until FROM work_leases WHERE name = :name")
    return HeldLease(*connection.execute(query, {"name": name}).one())


def drop_lease(connection: Connection, name: str, owner: str) -> None:
    """Give a lease back; one that another holds by now is left alone."""
    statement = text("DELETE FROM work_leases WHERE name = :name AND owner = :owner")
    connection.execute(statement, {"name": name, "owner": owner})


@contextmanager
def leased(db: "Database", name: str, what: str) -> Iterator[None]:
    """Hold a lease for the length of a block; raises `Conflict` when another process does the same work now."""
    owner = new_owner()
    held = db.write(partial(take_lease, name=name, owner=owner))
    # On the same machine nobody waits for a process that is gone: its command is given again at once.
    if held is not None and is_dead(held.owner):
        held = db.write(partial(take_lease, name=name, owner=owner, taking_from=held.owner))
    if held is not None:
        raise Conflict(
            f"{what} is under way in {held.owner} since {held.since}; wait for its end, or until {held.until} if that "
            "process is gone"
        )
    ended = threading.Event()
    beat = threading.Thread(target=_renew, args=(db, name, owner, ended), name="evergold-lease", daemon=True)
    beat.start()
    try:
        yield
    finally:
        ended.set()
        beat.join()
        db.write(partial(drop_lease, name=name, owner=owner))


def _renew(db: "Database", name: str, owner: str, ended: threading.Event) -> None:
    while not ended.wait(LEASE_SECONDS / BEATS):
        try:
            db.write(partial(take_lease, name=name, owner=owner))
        except EvergoldError:  # a database that is away for a moment; the lease outlives the moment
            continue
