"""A trace's own row, as some of its spans tell it.

Told where spans are read, before the writer's turn: for a trace that comes whole in one request the writer has only to
store it, and a text that is both the trace's and a span's is stored once, with the trace. Of a trace that comes in pieces the
tale of the first piece is stored, and told anew from all that is stored as the others come.
"""

from collections.abc import Sequence
from typing import Any

from evergold.sources.trace_summary import SpanFacts, TraceSummary, summarise, summarise_one
from evergold.store.figures import figures_of
from evergold.store.rows import SpanRow, TraceRow, shares
from evergold.store.values import dumps, now, storable, text_or_none

SpanWithFacts = tuple[SpanRow, dict[str, Any]]  # a span, and what it says


def summarise_spans(spans: Sequence[SpanWithFacts]) -> tuple[list[SpanRow], dict[str, TraceRow]]:
    """The rows of these spans, and the traces they tell, by id. Of a span that comes twice the first is heard."""
    rows = [row for row, _ in spans]
    traces: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        traces.setdefault(row.trace_id, []).append(number)
    moment = now()
    summaries: dict[str, TraceRow] = {}
    for trace_id, numbers in traces.items():
        if len(numbers) == 1:
            rows[numbers[0]], summaries[trace_id] = _summarise_single(*spans[numbers[0]], moment)
            continue
        first_seen = {rows[number].id: number for number in reversed(numbers)}
        summary = summarise([_facts_of(*spans[number]) for number in first_seen.values()])
        asking, answering = (first_seen.get(span_id or "") for span_id in (summary.input_from, summary.output_from))
        question = None if asking is None else rows[asking].input_text
        answer = None if answering is None else rows[answering].output_text
        summaries[trace_id] = trace = trace_row(trace_id, summary, (question, answer), moment)
        if len(first_seen) == len(numbers):
            for number in numbers:
                rows[number] = shares(rows[number], trace, input=True, output=True)
    return rows, summaries


def _summarise_single(row: SpanRow, stated: dict[str, Any], moment: str) -> tuple[SpanRow, TraceRow]:
    """The same for the only span of a trace, which is how many come."""
    summary = summarise_one(_facts_of(row, stated))
    asks, answers = summary.input_from is not None, summary.output_from is not None
    trace = trace_row(
        row.trace_id, summary, (row.input_text if asks else None, row.output_text if answers else None), moment
    )
    return shares(row, trace, input=asks, output=answers), trace


def _facts_of(row: SpanRow, stated: dict[str, Any]) -> SpanFacts:
    return facts(row, stated, has_input=bool(row.input_text), has_output=bool(row.output_text))


def facts(row: Any, stated: dict[str, Any], *, has_input: bool, has_output: bool) -> SpanFacts:
    """What an outline asks of a span, from a row that has just come or one that is stored."""
    return SpanFacts(
        row.id,
        row.parent_id,
        row.name,
        row.kind,
        row.status == "failed",
        row.started_at or "",
        row.ended_at or "",
        has_input,
        has_output,
        stated,
    )


def trace_row(trace_id: str, summary: TraceSummary, texts: tuple[str | None, str | None], moment: str) -> TraceRow:
    """Make the row of a summary. `texts`: input and output of the spans that the summary names."""
    question, answer = texts
    return TraceRow(
        trace_id,
        storable(summary.session_id),
        storable(summary.user_id),
        storable(summary.name) or "",
        storable(summary.input or question) or "",
        storable(summary.output or answer),
        summary.status,
        text_or_none(summary.metadata.get("message_type")),
        text_or_none(summary.metadata.get("model")),
        summary.started or moment,
        summary.ended or None,
        dumps(summary.tags) if summary.tags else "[]",
        dumps(summary.metadata),
        moment,
        *figures_of(summary.started, summary.ended, summary.metadata),
    )
