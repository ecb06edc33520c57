"""Batches of spans in one transaction: sorted, stored, and every trace they touch told anew."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from evergold.sources.outline import SpanFacts, outline, sayable
from evergold.sources.span_lines import score_line
from evergold.store.counters import count
from evergold.store.curation_queue import enqueue, enqueue_new
from evergold.store.rows import SpanRow, TraceRow
from evergold.store.spans import (
    facts_of,
    insert_spans,
    insert_traces,
    known_traces,
    retell_traces,
    sort_spans,
    texts_of,
)
from evergold.store.values import loads, now
from evergold.workspace.about_in import apply_waiting, put_about
from evergold.workspace.arrivals import Arrivals
from evergold.workspace.ingest_report import IngestReport
from evergold.workspace.tales import facts, trace_row


@dataclass
class SpansWritten:
    """What became of a batch of spans. `refused` has one line for each span or score that was not taken."""

    spans: int = 0
    new_traces: list[str] = field(default_factory=list)
    scores: int = 0
    duplicates: int = 0
    cut: int = 0
    refused: list[str] = field(default_factory=list)


def write_spans(connection: Connection, many: Sequence[Arrivals]) -> list[SpansWritten]:
    """Store the new spans of some batches at once; the traces they belong to are recomputed, never added up."""
    pieces = Counter(trace_id for arrivals in many for trace_id in arrivals.tales)
    known = known_traces(connection, pieces)
    in_pieces = {trace_id for trace_id, times in pieces.items() if times > 1} if len(pieces) < pieces.total() else set()
    if known or in_pieces:
        for arrivals in many:
            arrivals.whole(known.keys() | in_pieces)
    batch = sort_spans(connection, [row for arrivals in many for row in arrivals.rows], known)
    problems = {id(row): _conflict(row) for row in batch.conflicting} | {id(row): _closed(row) for row in batch.closed}
    fresh = dict.fromkeys(row.trace_id for row in batch.fresh if row.trace_id not in batch.growing)
    tales = _first_tales(many, fresh)
    places = {trace_id: stored.place for trace_id, stored in known.items()}
    places |= insert_traces(connection, TraceRow._fields, tales)
    insert_spans(connection, batch.fresh, places)
    told_again = batch.growing | in_pieces.intersection(fresh)
    retell_traces(connection, _told_again(connection, told_again))
    apply_waiting(connection, fresh, IngestReport())
    new = {id(row) for row in batch.fresh}
    untold = dict(fresh)
    written = [_written(connection, arrivals, new, problems, untold) for arrivals in many]
    enqueue(connection, told_again)
    enqueue_new(connection, {tale.id: tale.session_id for tale in tales})
    counts = Counter(f"redacted.{kind}" for arrivals in many for kind in arrivals.redacted.elements())
    for arrivals, one in zip(many, written, strict=True):
        counts += Counter(
            {"otlp.refused": len(one.refused), "otlp.cut": arrivals.cut, "otlp.ignored_logs": arrivals.ignored}
        )
    count(connection, counts)
    return written


def _first_tales(many: Sequence[Arrivals], fresh: Iterable[str]) -> list[TraceRow]:
    tales: dict[str, TraceRow] = {}
    for arrivals in reversed(many):
        tales.update(arrivals.tales)
    return [tales[trace_id] for trace_id in fresh]


def _written(
    connection: Connection, arrivals: Arrivals, new: set[int], problems: dict[int, str], untold: dict[str, None]
) -> SpansWritten:
    """What became of one of the batches. A trace that several of them began is told to the first."""
    report = IngestReport()
    put_about(connection, [score_line(score, score.comment) for score in arrivals.scores], report)
    refused = [problems[id(row)] for row in arrivals.rows if id(row) in problems] if problems else []
    spans = sum(id(row) in new for row in arrivals.rows)
    began = [trace_id for trace_id in dict.fromkeys(row.trace_id for row in arrivals.rows) if trace_id in untold]
    for trace_id in began:
        del untold[trace_id]
    return SpansWritten(
        spans=spans,
        new_traces=began,
        scores=report.scores,
        duplicates=len(arrivals.rows) - spans - len(refused),
        cut=arrivals.cut,
        refused=arrivals.refused + refused,
    )


def _told_again(connection: Connection, growing: Iterable[str]) -> list[TraceRow]:
    told = []
    moment = now()
    for trace_id, rows in facts_of(connection, growing).items():
        tale = outline([_stored(row) for row in rows])
        question, _ = texts_of(connection, trace_id, tale.input_from)
        _, answer = texts_of(connection, trace_id, tale.output_from)
        told.append(trace_row(trace_id, tale, (question, answer), moment))
    return told


def _stored(row: Any) -> SpanFacts:
    return facts(row, sayable(loads(row.metadata)), has_input=bool(row.has_input), has_output=bool(row.has_output))


def _conflict(row: SpanRow) -> str:
    return f"span {row.id} of trace {row.trace_id} is known with other content; the first is kept"


def _closed(row: SpanRow) -> str:
    return f"trace {row.trace_id} was given whole and takes no more spans; span {row.id} is refused"
