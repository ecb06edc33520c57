"""Put span lines that state parts of a span together, with each other and with what is stored of it."""

from collections.abc import Sequence

from sqlalchemy import Connection

from evergold.model.trace import SpanLine, TraceStatus
from evergold.sources.langfuse import is_mergeable, merge_lines
from evergold.store.compact.differences import carried_by
from evergold.store.compact.sharing import unshare_texts
from evergold.store.rows import SpanKey, SpanRow
from evergold.store.spans import held_spans, stored_traces
from evergold.store.values import loads


def merge_spans(connection: Connection, lines: Sequence[SpanLine]) -> tuple[list[SpanLine], set[SpanKey]]:
    """The lines, those of one span as one, and the keys of the stored spans that they may replace.

    A span that came another way (OTLP, a file) is not replaced: it was sent whole.
    """
    parts = {(line.trace_id, line.id) for line in lines if is_mergeable(line)}
    if not parts:
        return list(lines), set()
    trace_ids = {trace_id for trace_id, _ in parts}
    known = {trace_id: one for trace_id, one in stored_traces(connection, trace_ids).items() if not one.given_whole}
    unshare_texts(connection, known)
    stored = {key: _line_of(row) for key, row in held_spans(connection, list(known), parts, known).items()}
    together = {key: line for key, line in stored.items() if is_mergeable(line)}
    replaceable = set(together)
    others: list[SpanLine] = []
    for line in lines:
        key = (line.trace_id, line.id)
        # Handled like any span: equal content is a duplicate, other content a conflict.
        if key not in parts or (key in stored and key not in replaceable):
            others.append(line)
        else:
            together[key] = merge_lines(together[key], line) if key in together else line
    return [*others, *together.values()], replaceable


def _line_of(row: SpanRow) -> SpanLine:
    return SpanLine(
        trace_id=row.trace_id,
        id=row.id,
        parent_id=row.parent_id,
        name=row.name,
        kind=row.kind,
        input=row.input_text,
        output=row.output_text,
        status=TraceStatus(row.status),
        started_at=row.started_at,
        ended_at=row.ended_at,
        metadata=loads(row.metadata) | carried_by(row).raw,
    )
