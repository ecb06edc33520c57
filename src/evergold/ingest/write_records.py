"""Records of any kind into the store, in one transaction: redacted, then traces, spans, and what is said of them."""

from collections.abc import Sequence

from sqlalchemy import Connection

from evergold.ingest.feedback import apply_feedback, apply_pending
from evergold.ingest.merge_spans import merge_spans
from evergold.ingest.prepare import prepare_lines
from evergold.ingest.redact_records import redact_all
from evergold.ingest.report import IngestReport
from evergold.ingest.write_spans import write_spans
from evergold.model.rejected import Rejected
from evergold.model.trace import Correction, Reaction, ScoreLine, SpanLine, Trace
from evergold.redact.fields import FieldRedactor
from evergold.seams import Incoming
from evergold.store.queues import take_pending
from evergold.store.traces import put_traces
from evergold.store.workspace_facts import count


def write_records(
    connection: Connection, records: Sequence[Incoming | Rejected], report: IngestReport, cleaner: FieldRedactor
) -> None:
    """Store a batch; `report` gains what became of each record."""
    clean = redact_all(records, cleaner)
    # Traces before spans before feedback: a file may hold all three in any order.
    _store_traces(connection, [record for record in clean if isinstance(record, Trace)], report)
    _store_spans(connection, [record for record in clean if isinstance(record, SpanLine)], report)
    apply_feedback(
        connection, [record for record in clean if isinstance(record, ScoreLine | Correction | Reaction)], report
    )
    for bad in clean:
        if isinstance(bad, Rejected):
            report.reject(bad)
    count(connection, {f"redacted.{kind}": number for kind, number in cleaner.counts.items()})


def _store_traces(connection: Connection, traces: Sequence[Trace], report: IngestReport) -> None:
    if not traces:
        return
    done = put_traces(connection, traces)
    added = set(done.added)
    report.traces += len(added)
    report.spans += sum(len(trace.spans) for trace in traces if trace.id in added)
    report.scores += done.scores
    report.duplicates += len(done.duplicates)
    for trace_id in done.conflicting:
        report.reject(
            Rejected(where=f"trace {trace_id}", field="id", reason="known with other content; the first is kept")
        )
    apply_pending(connection, take_pending(connection, done.added), report)


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
