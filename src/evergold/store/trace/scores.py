"""Scores in and out, many at a time, and the two queues of intake: traces to curate, and feedback that waits for its trace.

A score is known by its trace and its key, and what was said last under a key stands. A trace is queued in the transaction that
brought what is new about it, so a crash forgets none.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from sqlalchemy import Connection

from evergold.model.trace import Score
from evergold.model.values import content_hash
from evergold.store.database.rows import (
    ROWS,
    batches,
    delete_among,
    dumps,
    listed_by,
    make_storable,
    now,
    rows_among,
    run_sql,
    stamp,
)

CHECKS_ON = "checks.on"  # the fact that says whether new traces are to be checked
_CHECKED = f"EXISTS (SELECT 1 FROM workspace_facts WHERE name = '{CHECKS_ON}' AND value = 'on')"


def enqueue_new(connection: Connection, sessions: Mapping[str, str | None]) -> None:
    """Mark those of some new traces, given with their sessions, that something is to be decided about.

    Of a trace that nobody has scored or corrected nothing follows, and whoever does so marks it. But it may be a turn of a
    session that has others: then it may hold a correction, or be corrected by the next one. Where checks are on, every
    new trace is to be checked.
    """
    if not sessions or enqueue(connection, sessions, _CHECKED):
        return
    shared = find_shared_sessions(connection, {session for session in sessions.values() if session is not None})
    if shared:
        enqueue(connection, [trace_id for trace_id, session in sessions.items() if session in shared])


def find_shared_sessions(connection: Connection, sessions: Iterable[str]) -> set[str]:
    """The sessions that have more than one trace."""
    # OFFSET 1 stops at the second trace of a session; a count would read all of them.
    query = f"""WITH asked (session) AS ({listed_by(connection)}) SELECT session FROM asked
        WHERE EXISTS (SELECT 1 FROM traces WHERE session_id = session LIMIT 1 OFFSET 1)"""
    return set(connection.exec_driver_sql(query, (dumps(list(sessions)),)).scalars())


def enqueue(connection: Connection, trace_ids: Collection[str], condition: str = "true") -> int:
    """Mark traces as having something new, in the transaction that brought it, if the condition holds; return how many."""
    if not trace_ids:
        return 0
    # The database gives the time, so that servers with different clocks wait in one order.
    chosen = f"SELECT value FROM ({listed_by(connection)}) AS listed WHERE {condition}"
    statement = f"INSERT INTO curation_queue (trace_id) {chosen} ON CONFLICT DO NOTHING"
    return connection.exec_driver_sql(statement, (dumps(list(trace_ids)),)).rowcount


def keep_pending(connection: Connection, trace_id: str, body: str) -> bool:
    """Hold a record whose trace has not come yet; False when it is held already."""
    keep = "INSERT INTO pending_records (trace_id, body) VALUES (:trace_id, :body) ON CONFLICT DO NOTHING"
    return run_sql(connection, keep, trace_id=trace_id, body=body).rowcount > 0


def take_pending(connection: Connection, trace_ids: Iterable[str]) -> list[str]:
    """Hand over, and forget, what waited for these traces."""
    # Nearly always nothing waits: one look spares the query for every batch.
    if connection.exec_driver_sql("SELECT 1 FROM pending_records LIMIT 1").first() is None:
        return []
    query = "SELECT id, trace_id, body FROM pending_records WHERE trace_id"
    # By id, which is the order of arrival: of two reactions of one person the later one must win.
    results = sorted(tuple(row) for row in rows_among(connection, query, trace_ids))
    delete_among(connection, "pending_records", "trace_id", {trace_id for _, trace_id, _ in results})
    return [body for _, _, body in results]


# A score under a known key that says all the same is no news.
CONTENT = ("name", "source", "value", "comment", "span_id")
COLUMNS = ("trace_id", "key", *CONTENT, "created_at")

Key = tuple[str, str]  # a trace and the key of one of its scores


def put_scores(connection: Connection, scored: Sequence[tuple[str, Score]]) -> int:
    """Add scores to stored traces, in the order given; the same again is no change. Returns how many were new or replaced."""
    if not scored:
        return 0
    query = f"SELECT {', '.join(COLUMNS[:-1])} FROM trace_scores WHERE trace_id"
    rows = rows_among(connection, query, {trace_id for trace_id, _ in scored})
    stored = {(row[0], row[1]): tuple(row[2:]) for row in rows}
    current = dict(stored)
    fresh: dict[Key, tuple[Any, ...]] = {}
    changed = 0
    for trace_id, score in scored:
        row = _row(trace_id, score)
        key, new_values = row[:2], row[2:-1]
        if current.get(key) == new_values:
            continue
        # Kept up to date within the batch: a file may hold the same score twice.
        current[key] = new_values
        fresh.pop(key, None)  # a score that is said again is the latest
        fresh[key] = row
        changed += 1
    drop_scores(connection, fresh.keys() & stored.keys())
    insert_scores(connection, COLUMNS, list(fresh.values()))
    enqueue(connection, {trace_id: None for trace_id, _ in fresh})
    return changed


def insert_scores(connection: Connection, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Insert scores; one that another server stored under its key meanwhile is replaced: what is said last stands."""
    if not rows:
        return
    changed = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in ("trace_id", "key"))
    head = f"INSERT INTO trace_scores ({', '.join(columns)})"
    tail = f"ON CONFLICT (trace_id, key) DO UPDATE SET {changed}"
    if connection.dialect.name == "postgresql":
        # A list for each column: one statement, prepared once, whatever the number of rows.
        lists = ", ".join(f"%s::{'float8' if name == 'value' else 'text'}[]" for name in columns)
        # The driver sends lists of one type alone: a check may give 1 beside 0.5.
        kinds = [float if name == "value" else str for name in columns]
        values = tuple(
            [None if value is None else kind(value) for value in column]
            for kind, column in zip(kinds, zip(*rows, strict=True), strict=True)
        )
        connection.exec_driver_sql(f"{head} SELECT * FROM unnest({lists}) {tail}", values)
        return
    one = f"({', '.join('?' * len(columns))})"
    for batch in batches(rows, ROWS):
        listed = ", ".join([one] * len(batch))
        connection.exec_driver_sql(f"{head} VALUES {listed} {tail}", tuple(chain.from_iterable(batch)))


def drop_scores(connection: Connection, keys: Collection[Key]) -> None:
    """Delete the scores with these keys, many in a statement."""
    for batch in batches(keys, ROWS):
        run_sql(connection, "DELETE FROM trace_scores WHERE (trace_id, key) IN :keys", keys=tuple(batch))


def _row(trace_id: str, score: Score) -> tuple[Any, ...]:
    # Without a key of its own, the content is the key: the same score sent again is the same row.
    own = [score.span_id, score.name, score.source, score.value, score.comment]
    return (
        trace_id,
        score.key or content_hash(own),
        score.name,
        score.source.value,
        score.value,
        make_storable(score.comment),
        score.span_id,
        stamp(score.created_at) or now(),
    )


def drop_score(connection: Connection, trace_id: str, key: str) -> bool:
    """Take a score away again (a reaction that was removed); False when there is none."""
    drop = "DELETE FROM trace_scores WHERE trace_id = :trace_id AND key = :key"
    gone = run_sql(connection, drop, trace_id=trace_id, key=key).rowcount > 0
    if gone:
        enqueue(connection, [trace_id])
    return gone


def scores_of(connection: Connection, trace_id: str) -> tuple[Score, ...]:
    return scores_of_many(connection, [trace_id]).get(trace_id, ())


def scores_of_many(connection: Connection, trace_ids: Sequence[str]) -> dict[str, tuple[Score, ...]]:
    """The scores of each of these traces, in the order in which they came."""
    results: dict[str, list[Score]] = {}
    for row in rows_among(connection, "SELECT * FROM trace_scores WHERE trace_id", trace_ids, "ORDER BY id"):
        held = {name: row._mapping[name] for name in Score.model_fields}
        # A key made of the content is ours and not shown.
        held["key"] = None if row.key.startswith("sha256:") else row.key
        results.setdefault(row.trace_id, []).append(Score.model_validate(held))
    return {trace_id: tuple(scores) for trace_id, scores in results.items()}
