"""Store records of any kind in one transaction: redacted, then traces, then spans, then feedback on them.

Each part of a record is redacted under the switch of its field. Span lines that state parts of one span are merged, with
each other and with what is stored of it.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection

from evergold.conversation.message import split_thinking
from evergold.ingest.batcher import write_spans
from evergold.ingest.feedback import apply_feedback, apply_pending
from evergold.ingest.prepare import prepare_lines, redact_parts
from evergold.model.faults import Rejected
from evergold.model.operations import IngestReport
from evergold.model.trace import Correction, Reaction, Score, ScoreLine, Span, SpanLine, Trace
from evergold.redact.fields import FieldRedactor
from evergold.seams import Incoming
from evergold.sources.langfuse import is_mergeable, merge_lines
from evergold.store.database.rows import RAW, SpanKey, batches
from evergold.store.facts import count
from evergold.store.trace.compact import unshare_texts
from evergold.store.trace.scores import take_pending
from evergold.store.trace.spans import held_spans, stored_traces
from evergold.store.trace.traces import put_traces, span_of

SpanT = TypeVar("SpanT", bound=Span)
ScoreT = TypeVar("ScoreT", bound=Score)
TOGETHER = 100  # records that are looked at as one


def redact_all(records: Sequence[Incoming | Rejected], cleaner: FieldRedactor) -> list[Incoming | Rejected]:
    """The records with private things taken out. They are looked at many together: nearly all of them hold nothing."""
    clean: list[Incoming | Rejected] = []
    for some in batches(list(map(_part_thinking, records)), TOGETHER):
        private = cleaner.find_suspected([_texts(record) for record in some])
        for number, record in enumerate(some):
            if isinstance(record, Rejected) or number not in private:
                clean.append(record)
            else:
                clean.append(redact_record(record, cleaner))
    return clean


def _part_thinking(record: Incoming | Rejected) -> Incoming | Rejected:
    """The record with the thinking that stands before its answer as `reasoning` of its metadata."""
    if not isinstance(record, Trace | SpanLine) or not record.output:
        return record
    thinking, answer = split_thinking(record.output)
    if answer == record.output:
        return record
    return record.model_copy(update={"output": answer, "metadata": {**record.metadata, "reasoning": thinking}})


def _texts(record: Incoming | Rejected) -> list[Any]:
    """List everything in a record that `redact_record` looks at."""
    if isinstance(record, Trace):
        own = [record.input, record.output, record.name, record.tags, record.metadata]
        return [*own, [_span_texts(span) for span in record.spans], [score.comment for score in record.scores]]
    if isinstance(record, SpanLine):
        return _span_texts(record)
    if isinstance(record, ScoreLine):
        return [record.comment]
    return [record.text] if isinstance(record, Correction) else []


def _span_texts(span: Span) -> list[Any]:
    return [span.name, span.input, span.output, span.metadata]


def redact_record(record: Incoming, cleaner: FieldRedactor) -> Incoming:
    """The record with private things taken out of the fields that are switched on."""
    if isinstance(record, Trace):
        rest = {"name": record.name, "tags": record.tags, "metadata": record.metadata}
        clean_fields = cleaner.clean({"input": record.input, "output": record.output, "metadata": rest})
        spans = tuple(_clean_span(span, cleaner) for span in record.spans)
        scores = tuple(_clean_score(score, cleaner) for score in record.scores)
        parts = {"input": clean_fields["input"], "output": clean_fields["output"], **clean_fields["metadata"]}
        # Redaction gives lists; `model_copy` does not validate, so the type is restored here.
        parts |= {"tags": tuple(parts["tags"]), "spans": spans, "scores": scores}
        return record.model_copy(update=parts)
    if isinstance(record, SpanLine):
        return _clean_span(record, cleaner)
    if isinstance(record, ScoreLine):
        return _clean_score(record, cleaner)
    if isinstance(record, Correction):
        return record.model_copy(update={"text": cleaner.clean({"corrections": record.text})["corrections"]})
    return record


def _clean_span(span: SpanT, cleaner: FieldRedactor) -> SpanT:
    facts = {key: value for key, value in span.metadata.items() if key not in RAW}
    raw = {key: value for key, value in span.metadata.items() if key in RAW}
    (name, question, answer), facts, raw = redact_parts((span.name, span.input, span.output), facts, raw, cleaner)
    return span.model_copy(update={"name": name, "input": question, "output": answer, "metadata": facts | raw})


def _clean_score(score: ScoreT, cleaner: FieldRedactor) -> ScoreT:
    return score.model_copy(update={"comment": cleaner.clean({"comments": score.comment})["comments"]})


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
    held = held_spans(connection, list(known), parts, known)
    stored = {key: SpanLine(trace_id=row.trace_id, **dict(span_of(row))) for key, row in held.items()}
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


def write_records(
    connection: Connection, records: Sequence[Incoming | Rejected], report: IngestReport, cleaner: FieldRedactor
) -> None:
    """Store a batch; `report` gains what became of each record."""
    clean = redact_all(records, cleaner)
    # Traces before spans before feedback: a file may hold all three in any order.
    added = put_traces(connection, [record for record in clean if isinstance(record, Trace)], report)
    apply_pending(connection, take_pending(connection, added), report)
    _store_spans(connection, [record for record in clean if isinstance(record, SpanLine)], report)
    apply_feedback(
        connection, [record for record in clean if isinstance(record, ScoreLine | Correction | Reaction)], report
    )
    for bad in clean:
        if isinstance(bad, Rejected):
            report.reject(bad)
    count(connection, {f"redacted.{kind}": number for kind, number in cleaner.counts.items()})


def _store_spans(connection: Connection, lines: Sequence[SpanLine], report: IngestReport) -> None:
    if not lines:
        return
    together, replaceable = merge_spans(connection, lines)
    (written,) = write_spans(connection, [prepare_lines(together)], replaceable=replaceable)
    report.traces += len(written.new_traces)
    report.spans += written.spans
    report.scores += written.scores
    report.duplicates += written.duplicates
    for problem in written.refused:
        report.reject(problem)
