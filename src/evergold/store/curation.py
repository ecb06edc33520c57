"""Curation as set-based SQL: a batch of traces is judged, compared with its living entries, and only what differs is
written, each change with its revision. One late score and a million old traces go through the same statements.

A batch is a range of trace ids (a backfill) or what waits in the queue. It runs in one transaction, so a crash leaves
a batch done or not begun; doing it again changes nothing.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, bindparam, text

from evergold.holders import is_dead
from evergold.model.policy import Policy
from evergold.store.curation_sql import COUNTED, CREATE_VERDICTS, statements
from evergold.store.leases import now_and_later
from evergold.store.rows import insert_rows
from evergold.store.schema import policies
from evergold.store.traces import insert_new
from evergold.store.values import batches, dumps, now
from evergold.store.verdict_dialects import dialect_of
from evergold.store.verdict_sql import Scope
from evergold.store.workspace_facts import count, fact_to_change

BATCH = 5_000
LENT_SECONDS = 120.0  # longer than slow checks, or a batch, take before they are stored
PLAIN = Scope()
IN_RANGE = "trace_id > :after AND trace_id <= :upto"
IN_CHOSEN = "trace_id IN (SELECT trace_id FROM curation_chosen)"
UNHELD = "(lease_until IS NULL OR lease_until <= :now OR owner = :owner)"
NOT_CHOSEN = f"{IN_RANGE} AND trace_id NOT IN (SELECT trace_id FROM curation_chosen)"


@dataclass
class Changes:
    """What curation did, or would do: how many traces were looked at, the changes by kind, and what they led to."""

    traces: int = 0
    by_kind: dict[str, int] = field(default_factory=dict)
    by_tier: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.by_kind.values())

    def add(self, other: "Changes") -> None:
        self.traces += other.traces
        for mine, theirs in ((self.by_kind, other.by_kind), (self.by_tier, other.by_tier)):
            for name, number in theirs.items():
                mine[name] = mine.get(name, 0) + number
        for kind, ids in other.examples.items():
            self.examples[kind] = (self.examples.get(kind, []) + ids)[:5]


def record_policy(connection: Connection, policy: Policy) -> None:
    """Keep what a policy revision said, so that its name can still be explained when its file has changed."""
    insert_new(
        connection, policies, [{"name": policy.name, "rev": policy.rev, "body": dumps(policy.model_dump(mode="json"))}]
    )


def ranges(connection: Connection, size: int = BATCH) -> Iterator[tuple[str, str, int]]:
    """All traces as ranges of ids of about `size`: after, up to and including, how many."""
    after = ""
    while (following := next_range(connection, after, size)) is not None:
        yield following
        after = following[1]


def next_range(connection: Connection, after: str, size: int, last: str | None = None) -> tuple[str, str, int] | None:
    """The range of the next traces, at most `size` and up to the `last`; None behind the last one."""
    bound = "" if last is None else " AND id <= :last"
    # Ranges of ids and not OFFSET: traces that arrive meanwhile shift no range.
    query = (
        f"SELECT max(id), count(*) FROM (SELECT id FROM traces WHERE id > :after{bound} ORDER BY id LIMIT :size) AS x"
    )
    upto, count = connection.execute(text(query), {"after": after, "size": size, "last": last}).one()
    return (after, upto, count) if count else None


def last_id(connection: Connection) -> str:
    """The greatest id of a trace; "" where there is none."""
    return str(connection.execute(text("SELECT max(id) FROM traces")).scalar() or "")


def curate_range(connection: Connection, policy: Policy, after: str, upto: str, scope: Scope = PLAIN) -> Changes:
    return _curate(connection, policy, IN_RANGE, {"after": after, "upto": upto}, scope)


def curate_traces(connection: Connection, policy: Policy, trace_ids: Iterable[str], scope: Scope = PLAIN) -> Changes:
    choose(connection, trace_ids)
    return _curate(connection, policy, IN_CHOSEN, {}, scope)


def take_queued(connection: Connection, limit: int = BATCH, owner: str = "") -> list[str]:
    """Take traces off the queue, oldest first. Taken before they are judged: what comes meanwhile queues again.

    Traces that a server other than `owner` runs slow checks over are left to it until its lease is over.
    """
    now, _ = now_and_later(connection, 0)
    statement = f"DELETE FROM curation_queue WHERE trace_id IN ({_free(connection)}) RETURNING trace_id"
    taken = connection.execute(text(statement), {"limit": limit, "now": now, "owner": owner})
    return list(taken.scalars())


def lend_queued(connection: Connection, limit: int, owner: str) -> list[str]:
    """Lend the next traces to a process that takes them off the queue when it curates them.

    Sessions of which another process has a turn in hand are left to it: remarks and checks of a turn change the turns before.
    """
    fact_to_change(connection, "curation.lend")  # two that lend at once would not see what the other one has in hand
    now, until = now_and_later(connection, LENT_SECONDS)
    skip = " FOR UPDATE OF q SKIP LOCKED" if connection.dialect.name == "postgresql" else ""
    statement = f"""WITH busy AS (SELECT t.session_id FROM curation_queue q JOIN traces t ON t.id = q.trace_id
            WHERE q.lease_until > :now AND q.owner <> :owner AND t.session_id IS NOT NULL),
          free AS (SELECT q.trace_id FROM curation_queue q LEFT JOIN traces t ON t.id = q.trace_id WHERE {UNHELD}
            AND NOT EXISTS (SELECT 1 FROM busy b WHERE b.session_id = t.session_id)
            ORDER BY q.queued_at, q.trace_id LIMIT :limit{skip})
        UPDATE curation_queue SET owner = :owner, lease_until = :until
        WHERE trace_id IN (SELECT trace_id FROM free) RETURNING trace_id, queued_at"""
    rows = connection.execute(text(statement), {"limit": limit, "now": now, "owner": owner, "until": until}).all()
    # An update gives its rows in any order.
    return [trace_id for _, trace_id in sorted((queued_at, trace_id) for trace_id, queued_at in rows)]


def free_lent(connection: Connection) -> None:
    """Give traces back to the queue whose server is known to be dead: nobody waits for its lease."""
    owners = connection.execute(text("SELECT DISTINCT owner FROM curation_queue WHERE owner IS NOT NULL")).scalars()
    for owner in [owner for owner in owners if is_dead(owner)]:
        _give_back(connection, owner)


def _give_back(connection: Connection, owner: str) -> None:
    statement = text("UPDATE curation_queue SET owner = NULL, lease_until = NULL WHERE owner = :owner")
    connection.execute(statement, {"owner": owner})


def take_lent(connection: Connection, trace_ids: Sequence[str], owner: str) -> list[str]:
    """Take these traces off the queue, as far as they are still lent to this server; its other ones are free again."""
    query = text("DELETE FROM curation_queue WHERE trace_id IN :batch AND owner = :owner RETURNING trace_id")
    taken: list[str] = []
    for batch in batches(trace_ids):
        rows = connection.execute(
            query.bindparams(bindparam("batch", expanding=True)), {"batch": batch, "owner": owner}
        )
        taken += rows.scalars()
    _give_back(connection, owner)
    return taken


def _free(connection: Connection) -> str:
    """The oldest traces that nobody else holds, as a query with the parameters owner, now and limit."""
    # Two servers that curate take different traces instead of waiting for each other.
    skip = " FOR UPDATE SKIP LOCKED" if connection.dialect.name == "postgresql" else ""
    return f"SELECT trace_id FROM curation_queue WHERE {UNHELD} ORDER BY queued_at, trace_id LIMIT :limit{skip}"


def queued(connection: Connection, after: str, size: int = BATCH) -> list[str]:
    """A batch of the traces that wait, by id, left where they are."""
    query = text("SELECT trace_id FROM curation_queue WHERE trace_id > :after ORDER BY trace_id LIMIT :size")
    return list(connection.execute(query, {"after": after, "size": size}).scalars())


def set_aside(connection: Connection, trace_ids: Sequence[str], owner: str = "") -> tuple[str, ...]:
    """Take traces off the queue without curating them, and count that; one that another server holds by now is left to it."""
    now, _ = now_and_later(connection, 0)
    statement = text(f"DELETE FROM curation_queue WHERE trace_id IN :batch AND {UNHELD} RETURNING trace_id")
    params = {"batch": list(trace_ids), "now": now, "owner": owner}
    taken = tuple(connection.execute(statement.bindparams(bindparam("batch", expanding=True)), params).scalars())
    count(connection, {"curation.failed": len(taken)})
    return taken


def queue_counts(connection: Connection) -> tuple[int, int]:
    """How many traces wait, and how many could not be curated since the workspace began."""
    waiting = connection.execute(text("SELECT count(*) FROM curation_queue")).scalar_one()
    failed = connection.execute(text("SELECT value FROM counters WHERE name = 'curation.failed'")).scalar()
    return int(waiting), int(failed or 0)


def is_queued_before(connection: Connection, moment: str) -> bool:
    """Whether a trace waits that was queued at this moment or before, also one that another process has in hand."""
    query = text("SELECT 1 FROM curation_queue WHERE queued_at <= :moment LIMIT 1")
    return connection.execute(query, {"moment": moment}).first() is not None


def preview(
    connection: Connection,
    policy: Policy,
    after: str,
    upto: str,
    without: Collection[str] | None = None,
    scope: Scope = PLAIN,
) -> Changes:
    """What `curate_range` would do, without doing it; `without` some traces of the range."""
    chosen = IN_RANGE
    if without:
        choose(connection, without)
        chosen = NOT_CHOSEN
    plan = statements(policy, dialect_of(connection), chosen, scope)
    return _counted(connection.execute(plan.preview, plan.params | {"after": after, "upto": upto}))


def _counted(rows: Iterable[Any]) -> Changes:
    changes = Changes()
    for kind, tier, number, example in rows:
        changes.add(Changes(by_kind={kind: number}, by_tier={tier: number}, examples={kind: [example]}))
    return changes


def choose(connection: Connection, trace_ids: Iterable[str]) -> None:
    connection.execute(text("CREATE TEMPORARY TABLE IF NOT EXISTS curation_chosen (trace_id TEXT PRIMARY KEY)"))
    # The table lives as long as the connection, which the pool hands to others.
    connection.execute(text("DELETE FROM curation_chosen"))
    insert_rows(connection, "curation_chosen", ("trace_id",), [(one,) for one in dict.fromkeys(trace_ids)])
    _measure(connection, "curation_chosen")


def _measure(connection: Connection, table: str) -> None:
    """Tell PostgreSQL how small a temporary table is; left to guess, it reads whole tables for one trace."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"ANALYZE {table}"))


def _curate(connection: Connection, policy: Policy, chosen: str, bounds: dict[str, object], scope: Scope) -> Changes:
    """Judge, keep the verdicts that differ from what stands in the dataset, and write what follows from them."""
    plan = statements(policy, dialect_of(connection), chosen, scope)
    params = plan.params | bounds | {"now": now()}
    connection.execute(text(CREATE_VERDICTS))
    connection.execute(text("DELETE FROM curation_verdicts"))
    # Only verdicts that differ from the dataset land in the temporary table; all further statements read it.
    connection.execute(plan.judge, params)
    # Counted before anything is written: nothing follows from a batch in which no verdict differs.
    changes = _counted(connection.execute(text(COUNTED.format("curation_verdicts"))))
    if not changes.by_kind:
        return changes
    _measure(connection, "curation_verdicts")
    record_policy(connection, policy)
    if "added" in changes.by_kind:
        for statement in plan.first:
            connection.execute(statement, params)
    if not changes.by_kind.keys().isdisjoint(("questioned", "settled")):
        connection.execute(plan.ask, params)
    # Most batches only add; the update would scan for nothing.
    if set(changes.by_kind) != {"added"}:
        connection.execute(plan.update, params)
        if plan.forget_tags is not None:
            connection.execute(plan.forget_tags)
    connection.execute(plan.revise, params)
    for statement in plan.tag:
        connection.execute(statement, params)
    return changes
