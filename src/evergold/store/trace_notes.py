"""Store tags and comments that people put on traces."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from evergold.errors import NotFound
from evergold.model.trace import Retagged, Trace, TraceComment
from evergold.store.rows import insert_new
from evergold.store.schema import trace_comments, trace_tags
from evergold.store.traces import known_traces
from evergold.store.values import batches, now, storable


def retag(
    connection: Connection, trace_ids: Sequence[str], add: Sequence[str], remove: Sequence[str], who: str
) -> list[Retagged]:
    """Put tags on traces and take people's tags off; returns what changed on each, by which it can be undone."""
    held = tags_by_people(connection, trace_ids)
    known = known_traces(connection, trace_ids)
    changed: list[Retagged] = []
    rows: list[dict[str, Any]] = []
    for trace_id in dict.fromkeys(trace_ids):
        before = set(held.get(trace_id, ()))
        # Only what changes is reported, because its reverse is the undo.
        added = sorted(set(add) - before) if trace_id in known else []
        removed = sorted(set(remove) & before)
        rows += [{"trace_id": trace_id, "tag": tag, "who": who, "created_at": now()} for tag in added]
        for tag in removed:
            connection.execute(delete(trace_tags).where(trace_tags.c.trace_id == trace_id, trace_tags.c.tag == tag))
        changed.append(
            Retagged(
                trace_id=trace_id,
                added=tuple(added),
                removed=tuple(removed),
                problem=None if trace_id in known else f"no trace {trace_id!r} in this workspace",
            )
        )
    # Somebody else may have put the same tag on since it was read: theirs stays.
    insert_new(connection, trace_tags, rows)
    return changed


def tags_by_people(connection: Connection, trace_ids: Sequence[str]) -> dict[str, list[str]]:
    """The tags that people put on each of these traces."""
    results: dict[str, list[str]] = {}
    for batch in batches(trace_ids):
        query = select(trace_tags.c.trace_id, trace_tags.c.tag).where(trace_tags.c.trace_id.in_(batch))
        for trace_id, tag in connection.execute(query.order_by(trace_tags.c.tag)):
            results.setdefault(trace_id, []).append(tag)
    return results


def with_tags(connection: Connection, traces: Sequence[Trace]) -> list[Trace]:
    """The traces with the tags of people among those of the app."""
    held = tags_by_people(connection, [trace.id for trace in traces])
    return [
        trace.model_copy(update={"tags": tuple(dict.fromkeys((*trace.tags, *held[trace.id])))})
        if trace.id in held
        else trace
        for trace in traces
    ]


def comments_on(connection: Connection, trace_id: str) -> list[TraceComment]:
    """The comments on a trace, the oldest first."""
    query = select(trace_comments).where(trace_comments.c.trace_id == trace_id).order_by(trace_comments.c.id)
    return [TraceComment(**row) for row in connection.execute(query).mappings()]


def put_comment(connection: Connection, trace_id: str, text: str, who: str) -> TraceComment:
    if not known_traces(connection, [trace_id]):
        raise NotFound(f"no trace {trace_id!r} in this workspace")
    row = {"trace_id": trace_id, "text": storable(text) or "", "who": who, "created_at": now()}
    connection.execute(insert(trace_comments), row)
    return comments_on(connection, trace_id)[-1]


def drop_comment(connection: Connection, comment_id: int) -> None:
    if connection.execute(delete(trace_comments).where(trace_comments.c.id == comment_id)).rowcount == 0:
        raise NotFound(f"no comment {comment_id}; it may have been deleted already")
