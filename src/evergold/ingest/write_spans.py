"""Store batches of spans in one transaction and rebuild the summaries of the traces they belong to."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from evergold.ingest.feedback import IngestReport, apply_feedback, apply_pending
from evergold.ingest.prepare import PreparedSpans
from evergold.ingest.summarise import SpanFacts, facts, summarise, trace_row, usable_facts
from evergold.sources.conventions.read_span import score_line
from evergold.store.case.content import note_growth
from evergold.store.compact.recent_spans import RecentSpans
from evergold.store.compact.sharing import unshare_texts
from evergold.store.facts import count
from evergold.store.queues import enqueue, enqueue_new, take_pending
from evergold.store.rows import SpanKey, SpanRow, TraceRow
from evergold.store.spans import (
    facts_of,
    insert_spans,
    insert_traces,
    replace_spans,
    sort_spans,
    stored_traces,
    texts_of,
    update_summaries,
)
from evergold.store.values import loads, now


@dataclass
class SpansWritten:
    """The outcome of a batch of spans. `refused` has one line for each span or score that was not stored."""

    spans: int = 0
    new_traces: list[str] = field(default_factory=list)
    scores: int = 0
    duplicates: int = 0
    cut: int = 0
    refused: list[str] = field(default_factory=list)


def write_spans(
    connection: Connection,
    many: Sequence[PreparedSpans],
    recent: RecentSpans | None = None,
    replaceable: Collection[SpanKey] = (),
) -> list[SpansWritten]:
    """Store the new spans of several batches; summaries are recomputed from all spans, never added up.

    `recent`: spans of earlier transactions, which those that repeat them are described by. `replaceable`: stored spans
    that take the content sent now; others keep their first.
    """
    pieces = Counter(trace_id for prepared in many for trace_id in prepared.summaries)
    known = stored_traces(connection, pieces)
    # Their rows are about to change, and spans that read their texts from the row would change with it.
    unshare_texts(connection, known)
    # The same trace in several requests of this batch: no single request knows its whole summary.
    in_pieces = {trace_id for trace_id, times in pieces.items() if times > 1} if len(pieces) < pieces.total() else set()
    if known or in_pieces:
        for prepared in many:
            prepared.whole(known.keys() | in_pieces)
    batch = sort_spans(connection, [row for prepared in many for row in prepared.rows], known, replaceable)
    problems = {id(row): _conflict(row) for row in batch.conflicting} | {id(row): _closed(row) for row in batch.closed}
    fresh = dict.fromkeys(row.trace_id for row in batch.fresh if row.trace_id not in batch.growing)
    summaries = _first_summaries(many, fresh)
    seqs = {trace_id: stored.seq for trace_id, stored in known.items()}
    seqs |= insert_traces(connection, TraceRow._fields, summaries)
    all_summaries = {trace_id: row for prepared in many for trace_id, row in prepared.summaries.items()}
    # Only spans of stored traces can be bases, so traces are inserted before.
    rows = (recent or RecentSpans()).shortened(connection, batch.fresh, seqs, all_summaries)
    insert_spans(connection, rows, seqs)
    replace_spans(connection, batch.replacing, seqs)
    batch.growing |= {row.trace_id for row in batch.replacing}
    rebuilt = batch.growing | in_pieces.intersection(fresh)
    if rebuilt:
        update_summaries(connection, _rebuild(connection, rebuilt))
        enqueue(connection, rebuilt)
    # Feedback that came before its trace is applied in the transaction that stores the trace.
    if waiting := take_pending(connection, fresh):
        apply_pending(connection, waiting, IngestReport())
    # By identity: requests of one batch may hold equal rows, of which one was stored.
    new = {id(row) for row in batch.fresh}
    unreported = dict(fresh)
    written = [_written(connection, prepared, new, problems, unreported) for prepared in many]
    if batch.growing:
        note_growth(connection, batch.growing)
    enqueue_new(connection, {summary.id: summary.session_id for summary in summaries})
    _count_outcomes(connection, many, written)
    return written


def _count_outcomes(connection: Connection, many: Sequence[PreparedSpans], written: Sequence[SpansWritten]) -> None:
    """Add what was redacted, refused, cut and left out to the counters of the workspace."""
    counts = Counter(f"redacted.{kind}" for prepared in many for kind in prepared.redacted.elements())
    for prepared, one in zip(many, written, strict=True):
        counts += Counter(
            {"otlp.refused": len(one.refused), "otlp.cut": prepared.cut, "otlp.ignored_logs": prepared.ignored}
        )
    count(connection, counts)


def _first_summaries(many: Sequence[PreparedSpans], fresh: Iterable[str]) -> list[TraceRow]:
    summaries: dict[str, TraceRow] = {}
    for prepared in reversed(many):
        summaries.update(prepared.summaries)
    return [summaries[trace_id] for trace_id in fresh]


def _written(
    connection: Connection,
    prepared: PreparedSpans,
    new: set[int],
    problems: dict[int, str],
    unreported: dict[str, None],
) -> SpansWritten:
    """Report the outcome of one batch. A trace that several batches began is reported to the first of them."""
    report = IngestReport()
    if prepared.scores:
        apply_feedback(connection, [score_line(score, score.comment) for score in prepared.scores], report)
    refused = [problems[id(row)] for row in prepared.rows if id(row) in problems] if problems else []
    spans = sum(id(row) in new for row in prepared.rows)
    began = [trace_id for trace_id in dict.fromkeys(row.trace_id for row in prepared.rows) if trace_id in unreported]
    for trace_id in began:
        del unreported[trace_id]
    return SpansWritten(
        spans=spans,
        new_traces=began,
        scores=report.scores,
        duplicates=len(prepared.rows) - spans - len(refused),
        cut=prepared.cut,
        refused=prepared.refused + refused,
    )


def _rebuild(connection: Connection, growing: Iterable[str]) -> list[TraceRow]:
    rebuilt = []
    moment = now()
    for trace_id, rows in facts_of(connection, growing).items():
        summary = summarise([_stored(row) for row in rows])
        question, _ = texts_of(connection, trace_id, summary.input_from)
        _, answer = texts_of(connection, trace_id, summary.output_from)
        rebuilt.append(trace_row(trace_id, summary, (question, answer), moment))
    return rebuilt


def _stored(row: Any) -> SpanFacts:
    return facts(row, usable_facts(loads(row.metadata)), has_input=bool(row.has_input), has_output=bool(row.has_output))


def _conflict(row: SpanRow) -> str:
    return f"span {row.id} of trace {row.trace_id} is known with other content; the first is kept"


def _closed(row: SpanRow) -> str:
    return f"trace {row.trace_id} was given whole and takes no more spans; span {row.id} is refused"
