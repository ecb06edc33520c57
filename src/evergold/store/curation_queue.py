"""Which traces wait for curation: those with something new that may change what stands in the dataset.

A trace is marked in the transaction that brought what is new, so a crash forgets none.
"""

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection

from evergold.store.bulk import insert_rows
from evergold.store.facts import fact
from evergold.store.values import batches, now

CHECKS_ON = "checks.on"  # the fact that says whether new traces are to be checked


def enqueue_new(connection: Connection, sessions: Mapping[str, str | None]) -> None:
    """Mark those of some new traces, given with their sessions, that something is to be decided about.

    Of a trace that nobody has scored or corrected nothing follows, and whoever does so marks it. But it may be a turn of a
    session that has others: then it may hold a correction, or be corrected by the next one. Where checks are on, every
    new trace is to be checked.
    """
    if fact(connection, CHECKS_ON) == "on":
        enqueue(connection, sessions)
        return
    shared = shared_sessions(connection, {session for session in sessions.values() if session is not None})
    if shared:
        enqueue(connection, [trace_id for trace_id, session in sessions.items() if session in shared])


def shared_sessions(connection: Connection, sessions: Iterable[str]) -> set[str]:
    """The sessions that have more than one trace."""
    mark = "(?)" if connection.dialect.name == "sqlite" else "(%s)"
    shared: set[str] = set()
    for batch in batches(sessions):
        query = (
            f"WITH asked (session) AS (VALUES {', '.join([mark] * len(batch))}) SELECT session FROM asked "
            "WHERE EXISTS (SELECT 1 FROM traces WHERE session_id = session LIMIT 1 OFFSET 1)"
        )
        shared.update(connection.exec_driver_sql(query, tuple(batch)).scalars())
    return shared


def enqueue(connection: Connection, trace_ids: Iterable[str]) -> None:
    """Mark traces as having something new, in the transaction that brought it."""
    moment = now()
    rows = [(trace_id, moment) for trace_id in trace_ids]
    insert_rows(connection, "curation_queue", ("trace_id", "queued_at"), rows, new_only=True)
