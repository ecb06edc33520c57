"""Two queues of intake: traces that wait for curation, and feedback that waits for its trace.

A trace is queued in the transaction that brought what is new about it, so a crash forgets none.
"""

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, delete, insert, select

from evergold.store.rows import listed_by, rows_among
from evergold.store.schema import pending_records
from evergold.store.values import batches, dumps

CHECKS_ON = "checks.on"  # the fact that says whether new traces are to be checked
_CHECKED = f"EXISTS (SELECT 1 FROM workspace_facts WHERE name = '{CHECKS_ON}' AND value = 'on')"


def enqueue_new(connection: Connection, sessions: Mapping[str, str | None]) -> None:
    """Mark those of some new traces, given with their sessions, that something is to be decided about.

    Of a trace that nobody has scored or corrected nothing follows, and whoever does so marks it. But it may be a turn of a
    session that has others: then it may hold a correction, or be corrected by the next one. Where checks are on, every
    new trace is to be checked.
    """
    if not sessions or _mark(connection, sessions, _CHECKED):
        return
    shared = shared_sessions(connection, {session for session in sessions.values() if session is not None})
    if shared:
        enqueue(connection, [trace_id for trace_id, session in sessions.items() if session in shared])


def shared_sessions(connection: Connection, sessions: Iterable[str]) -> set[str]:
    """The sessions that have more than one trace."""
    shared: set[str] = set()
    query = (
        # OFFSET 1 stops at the second trace of a session; a count would read all of them.
        f"WITH asked (session) AS ({listed_by(connection)}) SELECT session FROM asked "
        "WHERE EXISTS (SELECT 1 FROM traces WHERE session_id = session LIMIT 1 OFFSET 1)"
    )
    for batch in batches(sessions):
        shared.update(connection.exec_driver_sql(query, (dumps(batch),)).scalars())
    return shared


def enqueue(connection: Connection, trace_ids: Iterable[str]) -> None:
    """Mark traces as having something new, in the transaction that brought it."""
    for batch in batches(trace_ids):
        _mark(connection, batch)


def _mark(connection: Connection, trace_ids: Iterable[str], condition: str = "true") -> int:
    """Mark traces that are not marked, if the condition holds; return how many."""
    # The database gives the time, so that servers with different clocks wait in one order.
    chosen = f"SELECT value FROM ({listed_by(connection)}) AS listed WHERE {condition}"
    statement = f"INSERT INTO curation_queue (trace_id) {chosen} ON CONFLICT DO NOTHING"
    return connection.exec_driver_sql(statement, (dumps(list(trace_ids)),)).rowcount


def keep_pending(connection: Connection, trace_id: str, body: str) -> bool:
    """Hold a record whose trace has not come yet; False when it is held already."""
    held = connection.execute(
        select(pending_records.c.id).where(pending_records.c.trace_id == trace_id, pending_records.c.body == body)
    ).first()
    if held is None:
        connection.execute(insert(pending_records), {"trace_id": trace_id, "body": body})
    return held is None


def take_pending(connection: Connection, trace_ids: Iterable[str]) -> list[str]:
    """Hand over, and forget, what waited for these traces."""
    # Nearly always nothing waits: one look spares the query for every batch.
    if connection.exec_driver_sql("SELECT 1 FROM pending_records LIMIT 1").first() is None:
        return []
    query = "SELECT id, trace_id, body FROM pending_records WHERE trace_id"
    # By id, which is the order of arrival: of two reactions of one person the later one must win.
    results = sorted(tuple(row) for row in rows_among(connection, query, trace_ids))
    for batch in batches({trace_id for _, trace_id, _ in results}):
        connection.execute(delete(pending_records).where(pending_records.c.trace_id.in_(batch)))
    return [body for _, _, body in results]
