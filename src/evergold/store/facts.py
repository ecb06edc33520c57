"""What the processes on one database agree on: facts of the workspace, counters, and who does which work.

A counter says how often something happened, never what was in it. A lease is a row with the holder and an end, by the
database's clock: whoever holds one renews it while it works, and another takes the work of one that died when its lease is
over. Work on much is done in many short transactions (`Portion`), because whoever else writes waits for the one under way.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from sqlalchemy import Connection, insert, select

from evergold.errors import Conflict, EvergoldError
from evergold.machine import is_dead, new_owner
from evergold.model.access import Holder
from evergold.model.operations import WorkUnderWay
from evergold.store.database.rows import dumps, insert_rows, loads, now, read_value, run_for_each, run_sql, stamp
from evergold.store.schema import moderations, utc_now

if TYPE_CHECKING:
    from evergold.store.database.db import Database

ARCHIVES = "archives"  # the fact that says where this workspace has archives of traces
LOCKS = 8324  # the first number of the locks of facts; the second is made of a fact's name


def fact(connection: Connection, name: str) -> str | None:
    return cast("str | None", read_value(connection, "SELECT value FROM workspace_facts WHERE name = :name", name=name))


def fact_to_change(connection: Connection, name: str) -> str | None:
    """Look a fact up of which the next value is made: no other server does the same until the transaction ends."""
    if connection.dialect.name == "postgresql":
        # Not by the row, which may not be there yet.
        run_sql(connection, "SELECT pg_advisory_xact_lock(:locks, hashtext(:name))", locks=LOCKS, name=name)
    return fact(connection, name)


def put_fact(connection: Connection, name: str, value: str) -> None:
    """Write one fact over what was there."""
    statement = "INSERT INTO workspace_facts (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = :value"
    run_sql(connection, statement, name=name, value=value)


def record_moderation(connection: Connection, by: Holder, action: str, what: str, author: str) -> None:
    """Record that somebody changed the work of somebody else."""
    row = {"who": by.name or "local", "action": action, "what": what, "author": author, "created_at": now()}
    connection.execute(insert(moderations), row)


def count(connection: Connection, amounts: Mapping[str, int]) -> None:
    """Add to counters; a name that is new begins at its amount."""
    # Sorted, so that two servers which add to the same counters lock the rows in one order.
    rows = [{"name": name, "value": amount} for name, amount in sorted(amounts.items()) if amount]
    more = "ON CONFLICT (name) DO UPDATE SET value = counters.value + excluded.value"
    run_for_each(connection, f"INSERT INTO counters (name, value) VALUES (:name, :value) {more}", rows)


def read_counters(connection: Connection, prefix: str = "") -> dict[str, int]:
    """Every counter whose name begins with `prefix`."""
    query = "SELECT name, value FROM counters WHERE substr(name, 1, :size) = :prefix ORDER BY name"
    return {row.name: row.value for row in run_sql(connection, query, prefix=prefix, size=len(prefix))}


LEASE_SECONDS = 60.0
BEATS = 4  # in the time of one lease


def database_time(connection: Connection) -> str:
    """Read the database's clock, which is the same for every server."""
    return str(connection.execute(select(utc_now())).scalar_one())


def now_and_later(connection: Connection, seconds: float) -> tuple[str, str]:
    """The database's time, and the time so many seconds later."""
    moment = database_time(connection)
    later = datetime.fromisoformat(moment.replace("Z", "+00:00")) + timedelta(seconds=seconds)
    return moment, str(stamp(later))


def take_lease(
    connection: Connection, name: str, owner: str, seconds: float = LEASE_SECONDS, taking_from: str = ""
) -> WorkUnderWay | None:
    """Take or renew a lease, also one that `taking_from` (known to be dead) held; None when it is ours now, else who holds it."""
    now, until = now_and_later(connection, seconds)
    # One statement is both test and claim: of two holders that ask at once only one gets a row back.
    free = "work_leases.lease_until <= :now OR work_leases.owner IN (:owner, :dead)"
    since = "CASE WHEN work_leases.owner = :owner THEN work_leases.since ELSE :now END"
    statement = f"""INSERT INTO work_leases (name, owner, since, lease_until) VALUES (:name, :owner, :now, :until)
        ON CONFLICT (name) DO UPDATE SET owner = :owner, since = {since}, lease_until = :until WHERE {free} RETURNING 1"""
    if read_value(connection, statement, name=name, owner=owner, dead=taking_from, now=now, until=until):
        return None
    return held_leases(connection, now, name)[0]


def held_leases(connection: Connection, moment: str, like: str = "%") -> list[WorkUnderWay]:
    """List the work that is under way at a moment, by a pattern of its names."""
    query = """SELECT name, owner, since, lease_until AS until FROM work_leases WHERE name LIKE :like AND lease_until > :now
        ORDER BY name"""
    rows = run_sql(connection, query, like=like, now=moment).mappings()
    return [WorkUnderWay.model_validate(dict(row)) for row in rows]


def drop_lease(connection: Connection, name: str, owner: str) -> None:
    """Give a lease back; one that another holds by now is left alone."""
    run_sql(connection, "DELETE FROM work_leases WHERE name = :name AND owner = :owner", name=name, owner=owner)


@contextmanager
def hold_lease(db: "Database", name: str, what: str) -> Iterator[None]:
    """Hold a lease for the length of a block; raises `Conflict` when another process does the same work now."""
    owner = new_owner()
    held = db.write(partial(take_lease, name=name, owner=owner))
    # On the same machine nobody waits for a process that is gone: its command is given again at once.
    if held is not None and is_dead(held.owner):
        held = db.write(partial(take_lease, name=name, owner=owner, taking_from=held.owner))
    if held is not None:
        raise _under_way(what, held)
    with _keep_renewed(db, name, owner):
        yield


@contextmanager
def _keep_renewed(db: "Database", name: str, owner: str) -> Iterator[None]:
    """Renew a lease for the length of a block, then give it back."""
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(LEASE_SECONDS / BEATS):
            with suppress(EvergoldError):  # a database that is away for a moment; the lease outlives the moment
                db.write(partial(take_lease, name=name, owner=owner))

    beat = threading.Thread(target=renew, name="evergold-lease", daemon=True)
    beat.start()
    try:
        yield
    finally:
        ended.set()
        beat.join()
        db.write(partial(drop_lease, name=name, owner=owner))


def _under_way(what: str, held: WorkUnderWay) -> Conflict:
    return Conflict(
        f"{what} is under way in {held.owner} since {held.since}; wait for its end, or until {held.until} if that "
        "process is gone"
    )


Parts = Sequence[tuple[int, str, str]]  # the step of each, and after and up to which keys


class WorkPart(NamedTuple):
    """A part of work that several processes share: its step, and the range of keys that is left of it."""

    name: str
    step: int
    after: str
    upto: str


@contextmanager
def shared_work(db: "Database", work: str, what: str, job: str, parts: Parts) -> Iterator[None]:
    """Take part in a job for the length of a block: begin it with these parts, or join who is at it.

    Several processes of PostgreSQL share a job; raises `Conflict` while others do another one, and on SQLite any.
    """
    owner = new_owner()
    db.write(partial(_join, work=work, what=what, owner=owner, job=job, parts=parts))
    with _keep_renewed(db, f"{work}/{owner}", owner):
        yield


def _join(connection: Connection, work: str, what: str, owner: str, job: str, parts: Parts) -> None:
    begun = fact_to_change(connection, work)
    others = [
        lease for lease in held_leases(connection, database_time(connection), f"{work}/%") if not is_dead(lease.owner)
    ]
    if others and (begun != job or connection.dialect.name == "sqlite"):
        raise _under_way(what, others[0])
    # Parts that a dead process left are of another time: what changed since may lie in those that it has done.
    if not others or not has_parts(connection, work):
        run_sql(connection, "DELETE FROM workspace_facts WHERE name LIKE :parts", parts=f"{work}/%")
        named = [(f"{work}/{step:04}/{at:08}", dumps([after, upto])) for at, (step, after, upto) in enumerate(parts)]
        insert_rows(connection, "workspace_facts", ("name", "value"), named)
        put_fact(connection, work, job)
    take_lease(connection, f"{work}/{owner}", owner)


def take_part(connection: Connection, work: str) -> WorkPart | None:
    """Take a part of the lowest step that is not done; None where others have all of those in hand.

    A part is held by the transaction that does it: of a process that dies, PostgreSQL takes the part back.
    """
    skip = " FOR UPDATE SKIP LOCKED" if connection.dialect.name == "postgresql" else ""
    query = f"""SELECT name, value FROM workspace_facts WHERE name LIKE :parts AND substr(name, 1, :step) =
        (SELECT min(substr(name, 1, :step)) FROM workspace_facts WHERE name LIKE :parts) ORDER BY name LIMIT 1{skip}"""
    row = run_sql(connection, query, parts=f"{work}/%", step=len(work) + 5).first()
    if row is None:
        return None
    after, upto = loads(row[1])
    return WorkPart(row[0], int(row[0][len(work) + 1 : len(work) + 5]), after, upto)


def keep_part(connection: Connection, part: WorkPart, after: str | None) -> None:
    """Note how far a part is done; None: to its end."""
    if after is None:
        run_sql(connection, "DELETE FROM workspace_facts WHERE name = :name", name=part.name)
    else:
        put_fact(connection, part.name, dumps([after, part.upto]))


def has_parts(connection: Connection, work: str) -> bool:
    """Whether parts of some work are left, also those that others have in hand."""
    query = "SELECT 1 FROM workspace_facts WHERE name LIKE :parts LIMIT 1"
    return read_value(connection, query, parts=f"{work}/%") is not None


T = TypeVar("T")

HELD_SECONDS = 0.2  # that a transaction should take
FIRST = 100
MOST_GROWTH = 4.0  # from one transaction to the next: a quick one may have had nothing to change
# A transaction has costs that do not shrink with its size; below a few items only really slow ones, as a tagger of seconds, do.
FEW, SLOW_SECONDS = 25, 2.0


class Portion:
    """How many items the next transaction takes; at most `most`.

    >>> portion = Portion(most=1000)
    >>> portion.adapt(0.4)  # twice as long as it should have
    >>> portion.size
    50
    """

    def __init__(self, most: int, first: int | None = None) -> None:
        self._most = most
        self.size = min(first or FIRST, most)

    def time_work(self, work: Callable[[Connection], T]) -> Callable[[Connection], T]:
        """The same work, whose time decides about the next size."""

        def run(connection: Connection) -> T:
            began = time.perf_counter()
            result = work(connection)
            self.adapt(time.perf_counter() - began)
            return result

        return run

    def adapt(self, seconds: float) -> None:
        growth = min(MOST_GROWTH, HELD_SECONDS / max(seconds, 1e-6))
        fewest = 1 if seconds > SLOW_SECONDS else min(FEW, self.size)
        self.size = max(fewest, min(self._most, int(self.size * growth) or 1))

    def of(self, items: Iterable[T]) -> Iterator[Sequence[T]]:
        """The items in lists, each of the size that holds when it is asked for."""
        source = iter(items)
        while batch := list(islice(source, self.size)):
            yield batch
