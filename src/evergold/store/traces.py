"""Traces, spans and scores in and out. The first content of an id is kept; other content under it is refused."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, func, insert, select

from evergold.conversation.assembly import reply_of
from evergold.errors import NotFound
from evergold.model.trace import Correction, Score, Span, Trace, TraceStatus
from evergold.model.values import content_hash
from evergold.store.facts import ARCHIVES, fact
from evergold.store.queues import enqueue, enqueue_new
from evergold.store.rows import RAW, SpanRow, TraceRow, figures_of, summed
from evergold.store.schema import spans, trace_corrections, traces
from evergold.store.scores import put_scores_of_many, scores_of
from evergold.store.spans import OWN, insert_spans, insert_traces
from evergold.store.trace.compact import unfolded, unshared, whole_spans
from evergold.store.values import batches, dumps, loads, now, stamp, storable, text_or_none


@dataclass
class PutTraces:
    """What became of a batch: ids that are new, known already, and refused because the id holds other content."""

    added: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    conflicting: list[str] = field(default_factory=list)
    scores: int = 0


def put_traces(connection: Connection, incoming: Iterable[Trace]) -> PutTraces:
    result = PutTraces()
    for batch in batches(incoming):
        # Scores come later and again; they do not make another trace.
        contents = [content_hash(trace.model_dump(mode="json", exclude={"scores"})) for trace in batch]
        # Reversed, so that of two traces with one id the hash of the first stays.
        hashes = dict(zip((trace.id for trace in reversed(batch)), reversed(contents), strict=True))
        known: dict[str, str | None] = {
            row.id: row.content_hash
            for row in connection.execute(
                select(traces.c.id, traces.c.content_hash).where(traces.c.id.in_(list(hashes)))
            )
        }
        fresh: dict[str, Trace] = {}
        scored: list[Trace] = []
        for trace, content in zip(batch, contents, strict=True):
            if trace.id not in known and trace.id not in fresh:
                fresh[trace.id] = trace
                scored.append(trace)
            # A trace made of spans has no hash (None), so whole content under its id is a conflict.
            elif content == (hashes[trace.id] if trace.id in fresh else known[trace.id]):
                result.duplicates.append(trace.id)
                # Scores are no part of the content: a known trace may bring new ones.
                scored.append(trace)
            else:
                result.conflicting.append(trace.id)
        _insert_traces(connection, list(fresh.values()), hashes)
        result.added.extend(fresh)
        result.scores += put_scores_of_many(
            connection, [(trace.id, score) for trace in scored for score in trace.scores]
        )
        enqueue_new(connection, {trace.id: storable(trace.session_id) for trace in fresh.values()})
    return result


def put_correction(connection: Connection, correction: Correction) -> bool:
    """Add what a person said of a stored trace; the same words again are no change."""
    row = {"trace_id": correction.trace_id, "text": correction.text, "author": correction.author}
    row["kind"] = correction.kind.value
    same = (trace_corrections.c.trace_id == correction.trace_id) & (trace_corrections.c.text == correction.text)
    if connection.execute(select(trace_corrections.c.id).where(same)).first() is not None:
        return False
    connection.execute(insert(trace_corrections), row)
    enqueue(connection, [correction.trace_id])
    return True


def known_traces(connection: Connection, trace_ids: Iterable[str]) -> set[str]:
    results: set[str] = set()
    for batch in batches(trace_ids):
        results.update(connection.execute(select(traces.c.id).where(traces.c.id.in_(batch))).scalars())
    return results


def get_trace(connection: Connection, trace_id: str) -> Trace:
    row = connection.execute(select(traces).where(traces.c.id == trace_id)).mappings().first()
    if row is None:
        # Where the archives are is not said: over HTTP it would be nobody's business.
        archived = (
            ", and `evergold traces restore DAY --from URL` brings an archived day back"
            if fact(connection, ARCHIVES)
            else ""
        )
        raise NotFound(f"no trace {trace_id!r}; `evergold traces list` shows what there is{archived}")
    return trace_of(row, _spans_of(connection, row), scores_of(connection, trace_id))


def stored_size(connection: Connection, trace_id: str) -> int:
    """Characters that the spans of a trace take in the database; at least as many are read. 0 of an unknown one."""
    texts = (spans.c.input_text, spans.c.output_text, spans.c.raw)
    size = sum((func.length(func.coalesce(text, "")) for text in texts[1:]), func.length(func.coalesce(texts[0], "")))
    query = select(func.sum(size)).join(traces, traces.c.seq == spans.c.trace_seq).where(traces.c.id == trace_id)
    return int(connection.execute(query).scalar() or 0)


def _insert_traces(connection: Connection, batch: Sequence[Trace], hashes: dict[str, str]) -> None:
    moment = now()
    rows = [(*_trace_row(trace, moment), hashes[trace.id]) for trace in batch]
    seqs = insert_traces(connection, (*TraceRow._fields, "content_hash"), rows)
    insert_spans(connection, [_span_row(trace.id, span) for trace in batch for span in trace.spans], seqs)


def _trace_row(trace: Trace, moment: str) -> TraceRow:
    started, ended = stamp(trace.started_at), stamp(trace.ended_at)
    counted = summed(trace.metadata, (span.metadata for span in trace.spans))
    return TraceRow(
        trace.id,
        storable(trace.session_id),
        storable(trace.user_id),
        storable(trace.name) or "",
        storable(trace.input) or "",
        # A trace that states no output has the reply of its last model call.
        storable(reply_of(trace)),
        trace.status.value,
        text_or_none(trace.metadata.get("message_type")),
        text_or_none(trace.metadata.get("model")),
        started or moment,
        ended,
        dumps(trace.tags),
        dumps(trace.metadata),
        moment,
        *figures_of(started, ended, counted),
    )


def _span_row(trace_id: str, span: Span) -> SpanRow:
    return SpanRow(
        trace_id,
        span.id,
        span.parent_id,
        storable(span.name) or "",
        storable(span.kind) or "",
        storable(span.input),
        storable(span.output),
        span.status.value,
        stamp(span.started_at),
        stamp(span.ended_at),
        dumps({key: value for key, value in span.metadata.items() if key not in RAW}),
        dumps({key: value for key, value in span.metadata.items() if key in RAW}),
    )


def _spans_of(connection: Connection, trace: Any) -> tuple[Span, ...]:
    query = select(*(spans.c[name] for name in OWN)).where(spans.c.trace_seq == trace["seq"])
    rows = connection.execute(query.order_by(spans.c.started_at, spans.c.id))
    texts = trace["input_text"], trace["output_text"]
    own = [(trace["seq"], unshared(SpanRow(trace["id"], *row), *texts)) for row in rows]
    return tuple(map(span_of, whole_spans(connection, own)))


def span_of(row: SpanRow) -> Span:
    """A stored span. What it carried was checked when it came; a limit set since then keeps nobody from reading it."""
    span = Span(
        id=row.id,
        parent_id=row.parent_id,
        name=row.name,
        kind=row.kind,
        input=row.input_text,
        output=row.output_text,
        status=TraceStatus(row.status),
        started_at=row.started_at,
        ended_at=row.ended_at,
    )
    # `model_copy` skips validation on purpose: see the docstring.
    return span.model_copy(
        update={"metadata": loads(row.metadata) | unfolded(loads(row.raw), row.input_text, row.output_text)}
    )


def trace_of(row: Any, its_spans: tuple[Span, ...], its_scores: tuple[Score, ...]) -> Trace:
    return Trace(
        id=row["id"],
        session_id=row["session_id"],
        user_id=row["user_id"],
        name=row["name"],
        input=row["input_text"],
        output=row["output_text"],
        status=row["status"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        tags=tuple(loads(row["tags"]) or ()),
        metadata=loads(row["metadata"]),
        spans=its_spans,
        scores=its_scores,
    )
