"""The rows that intake writes, as plain tuples: made before the writer's turn, also where no database is known of."""

from typing import NamedTuple

RAW = ("attributes", "events", "resource", "scope")  # what a span carried, kept apart from what was understood of it

SHARED_INPUT, SHARED_OUTPUT = 1, 2  # bits of `shared`: the text is also the trace's, and stored there


class SpanRow(NamedTuple):
    """A row of `spans`: its columns, in their order, with the trace's id for its `trace_seq`.

    A text that is also the trace's may be left to the trace's row. Where a base is named, `raw` is the difference from
    that span (see `repeats`). The last field is no column: it is what a span that repeats this one is known by.
    """

    trace_id: str
    id: str
    parent_id: str | None
    name: str
    kind: str
    input_text: str | None
    output_text: str | None
    status: str
    started_at: str | None
    ended_at: str | None
    metadata: str
    raw: str
    shared: int = 0
    base_seq: int | None = None
    base_id: str | None = None
    heads: tuple[int, ...] = ()


class TraceRow(NamedTuple):
    """A row of `traces` as its spans tell it; what is not named here has a default."""

    id: str
    session_id: str | None
    user_id: str | None
    name: str
    input_text: str
    output_text: str | None
    status: str
    message_type: str | None
    model: str | None
    started_at: str
    ended_at: str | None
    tags: str
    metadata: str
    received_at: str
    duration_ms: int | None = None
    tokens: int | None = None
    cost: float | None = None


def shares(row: SpanRow, trace: TraceRow, *, input: bool, output: bool) -> SpanRow:
    """The row of a span whose input, output or both the trace took for its own: they are left to the trace's row."""
    input = input and bool(row.input_text) and row.input_text == trace.input_text
    output = output and bool(row.output_text) and row.output_text == trace.output_text
    if not input and not output:
        return row
    return SpanRow(
        *row[:5],
        None if input else row.input_text,
        None if output else row.output_text,
        *row[7:12],
        SHARED_INPUT * input | SHARED_OUTPUT * output,
        *row[13:],
    )


def whole(row: SpanRow, question: str | None, answer: str | None) -> SpanRow:
    """The row with its own texts again, given those of its trace."""
    if not row.shared:
        return row
    return row._replace(
        input_text=question if row.shared & SHARED_INPUT else row.input_text,
        output_text=answer if row.shared & SHARED_OUTPUT else row.output_text,
        shared=0,
    )
