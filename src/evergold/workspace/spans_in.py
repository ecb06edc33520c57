"""Batches of spans in one transaction: sorted, stored, and every trace they touch told anew."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from evergold.sources.outline import Outline, SpanFacts, outline, sayable
from evergold.store.counters import count
from evergold.store.spans import Sorted, SpanRow, TraceRow, facts_of, insert_spans, put_outlines, sort_spans, texts_of
from evergold.store.traces import enqueue
from evergold.store.values import dumps, loads, now, storable, worded
from evergold.workspace.about_in import apply_waiting, put_about
from evergold.workspace.arrivals import Arrivals
from evergold.workspace.ingest_report import IngestReport


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
    batch = sort_spans(connection, [row for arrivals in many for row in arrivals.rows])
    problems = {id(row): _conflict(row) for row in batch.conflicting} | {id(row): _closed(row) for row in batch.closed}
    fresh = dict.fromkeys(row.trace_id for row in batch.fresh if row.trace_id not in batch.growing)
    put_outlines(connection, _told_new(batch, _first_facts(many), fresh), [])
    insert_spans(connection, batch.fresh)
    put_outlines(connection, [], _told_again(connection, batch.growing))
    apply_waiting(connection, fresh, IngestReport())
    new = {id(row) for row in batch.fresh}
    untold = dict(fresh)
    written = [_written(connection, arrivals, new, problems, untold) for arrivals in many]
    enqueue(connection, [*fresh, *batch.growing])
    counts = Counter(f"redacted.{kind}" for arrivals in many for kind in arrivals.redacted.elements())
    for arrivals, one in zip(many, written, strict=True):
        counts += Counter(
            {"otlp.refused": len(one.refused), "otlp.cut": arrivals.cut, "otlp.ignored_logs": arrivals.ignored}
        )
    count(connection, counts)
    return written


def _first_facts(many: Sequence[Arrivals]) -> dict[tuple[str, str], SpanFacts]:
    if len(many) == 1:
        return many[0].facts
    facts: dict[tuple[str, str], SpanFacts] = {}
    for arrivals in reversed(many):
        facts.update(arrivals.facts)
    return facts


def _written(
    connection: Connection, arrivals: Arrivals, new: set[int], problems: dict[int, str], untold: dict[str, None]
) -> SpansWritten:
    """What became of one of the batches. A trace that several of them began is told to the first."""
    report = IngestReport()
    put_about(connection, arrivals.scores, report)
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


def _told_new(batch: Sorted, facts: dict[tuple[str, str], SpanFacts], fresh: Iterable[str]) -> list[TraceRow]:
    spans: dict[str, list[SpanRow]] = {trace_id: [] for trace_id in fresh}
    for row in batch.fresh:
        if row.trace_id in spans:
            spans[row.trace_id].append(row)
    told = []
    moment = now()
    for trace_id, rows in spans.items():
        tale = outline([facts[trace_id, row.id] for row in rows])
        question = next((row.input_text for row in rows if row.id == tale.input_from), None)
        answer = next((row.output_text for row in rows if row.id == tale.output_from), None)
        told.append(_trace(trace_id, tale, (question, answer), moment))
    return told


def _told_again(connection: Connection, growing: Iterable[str]) -> list[TraceRow]:
    told = []
    moment = now()
    for trace_id, rows in facts_of(connection, growing).items():
        tale = outline([_facts(row) for row in rows])
        question, _ = texts_of(connection, trace_id, tale.input_from)
        _, answer = texts_of(connection, trace_id, tale.output_from)
        told.append(_trace(trace_id, tale, (question, answer), moment))
    return told


def _facts(row: Any) -> SpanFacts:
    return SpanFacts(
        row.id,
        row.parent_id,
        row.name,
        row.kind,
        row.status == "failed",
        row.started_at or "",
        row.ended_at or "",
        bool(row.has_input),
        bool(row.has_output),
        sayable(loads(row.metadata)),
    )


def _trace(trace_id: str, tale: Outline, said: tuple[str | None, str | None], moment: str) -> TraceRow:
    question, answer = said
    return TraceRow(
        trace_id,
        storable(tale.session_id),
        storable(tale.user_id),
        storable(tale.name) or "",
        storable(tale.input or question) or "",
        storable(tale.output or answer),
        tale.status,
        worded(tale.metadata.get("message_type")),
        worded(tale.metadata.get("model")),
        tale.started or moment,
        tale.ended or None,
        dumps(tale.tags) if tale.tags else "[]",
        dumps(tale.metadata),
        moment,
    )


def _conflict(row: SpanRow) -> str:
    return f"span {row.id} of trace {row.trace_id} is known with other content; the first is kept"


def _closed(row: SpanRow) -> str:
    return f"trace {row.trace_id} was given whole and takes no more spans; span {row.id} is refused"
