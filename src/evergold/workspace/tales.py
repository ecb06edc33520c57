"""A trace's own row, as some of its spans tell it.

Told where spans are read, before the writer's turn: for a trace that comes whole in one request the writer has only to
store it, and a text that is both the trace's and a span's is stored once, with the trace. Of a trace that comes in pieces the
tale of the first piece is stored, and told anew from all that is stored as the others come.
"""

from collections.abc import Sequence
from typing import Any

from evergold.sources.outline import Outline, SpanFacts, outline, outline_of_one
from evergold.store.rows import SpanRow, TraceRow, shares
from evergold.store.values import dumps, now, storable, worded

Told = tuple[SpanRow, dict[str, Any]]  # a span, and what it says


def tell(spans: Sequence[Told]) -> tuple[list[SpanRow], dict[str, TraceRow]]:
    """The rows of these spans, and the traces they tell, by id. Of a span that comes twice the first is heard."""
    rows = [row for row, _ in spans]
    traces: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        traces.setdefault(row.trace_id, []).append(number)
    moment = now()
    tales: dict[str, TraceRow] = {}
    for trace_id, numbers in traces.items():
        if len(numbers) == 1:
            rows[numbers[0]], tales[trace_id] = _told_alone(*spans[numbers[0]], moment)
            continue
        heard = {rows[number].id: number for number in reversed(numbers)}
        tale = outline([_heard(*spans[number]) for number in heard.values()])
        asking, answering = (heard.get(span_id or "") for span_id in (tale.input_from, tale.output_from))
        question = None if asking is None else rows[asking].input_text
        answer = None if answering is None else rows[answering].output_text
        tales[trace_id] = trace = trace_row(trace_id, tale, (question, answer), moment)
        if len(heard) == len(numbers):
            for number in {number for number in (asking, answering) if number is not None}:
                rows[number] = shares(rows[number], trace, input=number == asking, output=number == answering)
    return rows, tales


def _told_alone(row: SpanRow, said: dict[str, Any], moment: str) -> tuple[SpanRow, TraceRow]:
    """The same for the only span of a trace, which is how many come."""
    tale = outline_of_one(_heard(row, said))
    asks, answers = tale.input_from is not None, tale.output_from is not None
    trace = trace_row(
        row.trace_id, tale, (row.input_text if asks else None, row.output_text if answers else None), moment
    )
    return shares(row, trace, input=asks, output=answers), trace


def _heard(row: SpanRow, said: dict[str, Any]) -> SpanFacts:
    return facts(row, said, has_input=bool(row.input_text), has_output=bool(row.output_text))


def facts(row: Any, said: dict[str, Any], *, has_input: bool, has_output: bool) -> SpanFacts:
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
        said,
    )


def trace_row(trace_id: str, tale: Outline, said: tuple[str | None, str | None], moment: str) -> TraceRow:
    """An outline as a row. `said`: question and answer of the spans that the outline names."""
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
