"""Scores in and out, many at a time: a score is known by its trace and its key, and what was said last under a key stands."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select
from sqlalchemy.engine import RowMapping

from evergold.model.ident import content_hash
from evergold.model.trace import Score, ScoreSource
from evergold.store.queues import enqueue
from evergold.store.rows import insert_rows, rows_among
from evergold.store.schema import trace_scores
from evergold.store.values import batches, now, stamp, storable

CONTENT = (
    "name",
    "source",
    "value",
    "comment",
    "span_id",
)  # a score under a known key that says all the same is no news
COLUMNS = ("trace_id", "key", *CONTENT, "created_at")

Key = tuple[str, str]  # a trace and the key of one of its scores


def put_scores(connection: Connection, trace_id: str, scores: Sequence[Score]) -> int:
    """Add scores to a stored trace; the same score again is no change. Returns how many were new or replaced."""
    return put_scores_of_many(connection, [(trace_id, score) for score in scores])


def put_scores_of_many(connection: Connection, scored: Sequence[tuple[str, Score]]) -> int:
    """The same for scores of any stored traces, in the order in which they were given."""
    if not scored:
        return 0
    stored = _stored(connection, {trace_id for trace_id, _ in scored})
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
    for of_trace, of_key in fresh.keys() & stored.keys():
        connection.execute(_one, {"of_trace": of_trace, "of_key": of_key})
    insert_rows(connection, "trace_scores", COLUMNS, list(fresh.values()))
    enqueue(connection, dict.fromkeys(trace_id for trace_id, _ in fresh))
    return changed


def _stored(connection: Connection, trace_ids: set[str]) -> dict[Key, tuple[Any, ...]]:
    query = f"SELECT {', '.join(COLUMNS[:-1])} FROM trace_scores WHERE trace_id"
    return {(row[0], row[1]): tuple(row[2:]) for row in rows_among(connection, query, trace_ids)}


_one = delete(trace_scores).where(
    trace_scores.c.trace_id == bindparam("of_trace"), trace_scores.c.key == bindparam("of_key")
)


def _row(trace_id: str, score: Score) -> tuple[Any, ...]:
    # Without a key of its own, the content is the key: the same score sent again is the same row.
    own = [score.span_id, score.name, score.source, score.value, score.comment]
    return (
        trace_id,
        score.key or content_hash(own),
        score.name,
        score.source.value,
        score.value,
        storable(score.comment),
        score.span_id,
        stamp(score.created_at) or now(),
    )


def drop_score(connection: Connection, trace_id: str, key: str) -> bool:
    """Take a score away again (a reaction that was removed); False when there is none."""
    held = (trace_scores.c.trace_id == trace_id) & (trace_scores.c.key == key)
    gone = connection.execute(delete(trace_scores).where(held)).rowcount > 0
    if gone:
        enqueue(connection, [trace_id])
    return gone


def scores_of(connection: Connection, trace_id: str) -> tuple[Score, ...]:
    return scores_of_many(connection, [trace_id]).get(trace_id, ())


def scores_of_many(connection: Connection, trace_ids: Sequence[str]) -> dict[str, tuple[Score, ...]]:
    """The scores of each of these traces, in the order in which they came."""
    results: dict[str, list[Score]] = {}
    for batch in batches(trace_ids):
        query = select(trace_scores).where(trace_scores.c.trace_id.in_(batch)).order_by(trace_scores.c.id)
        for row in connection.execute(query).mappings():
            results.setdefault(row["trace_id"], []).append(_score(row))
    return {trace_id: tuple(scores) for trace_id, scores in results.items()}


def _score(row: RowMapping) -> Score:
    return Score(
        name=row["name"],
        value=row["value"],
        source=ScoreSource(row["source"]),
        comment=row["comment"],
        span_id=row["span_id"],
        created_at=row["created_at"],
        # A key made of the content is ours and not shown.
        key=None if row["key"].startswith("sha256:") else row["key"],
        id=row["id"],
        version=row["version"],
    )
