"""Store a text that is both a trace's and a span's once, with the trace.

`SpanRow.shared` has a bit for each side whose text stands in the row of the trace.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, bindparam, case, select, update

from evergold.store.rows import SpanRow, TraceRow
from evergold.store.schema import spans, traces
from evergold.store.values import batches

SHARED_INPUT, SHARED_OUTPUT = 1, 2  # bits of `shared`: the text is also the trace's, and stored there


def share_texts(row: SpanRow, trace: TraceRow, *, input: bool, output: bool) -> SpanRow:
    """The row of a span whose input, output or both the trace took for its own: they are left to the trace's row."""
    # Compared once more: the trace's row may state another text than the span that it names.
    input = input and bool(row.input_text) and row.input_text == trace.input_text
    output = output and bool(row.output_text) and row.output_text == trace.output_text
    if not input and not output:
        return row
    return SpanRow(
        # By position and not `_replace`: this runs for every span, and `_replace` builds a dict.
        *row[:5],
        None if input else row.input_text,
        None if output else row.output_text,
        *row[7:12],
        SHARED_INPUT * input | SHARED_OUTPUT * output,
        *row[13:],
    )


def unshared(row: SpanRow, question: str | None, answer: str | None) -> SpanRow:
    """The row with its own texts again, given those of its trace."""
    if not row.shared:
        return row
    return row._replace(
        input_text=question if row.shared & SHARED_INPUT else row.input_text,
        output_text=answer if row.shared & SHARED_OUTPUT else row.output_text,
        shared=0,
    )


def unshare_texts(connection: Connection, trace_ids: Iterable[str]) -> None:
    """Copy shared texts back from stored traces to their spans.

    A trace that gains spans may take its input and output from other spans than before.
    """
    for batch in batches(trace_ids):
        connection.execute(_take_back, {"ids": batch})


def _of_trace(bit: int, column: Column[Any], of_trace: Column[Any]) -> ColumnElement[Any]:
    text = select(of_trace).where(traces.c.seq == spans.c.trace_seq).scalar_subquery()
    return case((spans.c.shared.op("&")(bit) != 0, text), else_=column)


_take_back = (
    update(spans)
    .where(
        spans.c.trace_seq.in_(select(traces.c.seq).where(traces.c.id.in_(bindparam("ids", expanding=True)))),
        spans.c.shared != 0,
    )
    .values(
        input_text=_of_trace(SHARED_INPUT, spans.c.input_text, traces.c.input_text),
        output_text=_of_trace(SHARED_OUTPUT, spans.c.output_text, traces.c.output_text),
        shared=0,
    )
)
