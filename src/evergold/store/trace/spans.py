"""Spans that arrive on their own, in bulk: the hot path of intake.

Rows are plain tuples, many to a statement; nothing is validated here a second time. A span id is kept
with its first content: the same again is a duplicate, other content under it is refused.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection

from evergold.store.database.rows import (
    SpanKey,
    SpanRow,
    TraceRow,
    change_among,
    insert_rows,
    rows_among,
    run_for_each,
    run_sql,
)
from evergold.store.schema import spans, traces
from evergold.store.trace.compact import COLUMNS, carried_by, make_dependents_whole, whole_spans

_OF_TRACES = "FROM spans s JOIN traces t ON t.seq = s.trace_seq WHERE t.id"


class StoredTrace(NamedTuple):
    """A stored trace: its sequence number, and whether it was given whole."""

    seq: int
    given_whole: bool


@dataclass
class SortedSpans:
    """A batch held against what is stored."""

    fresh: list[SpanRow] = field(default_factory=list)
    conflicting: list[SpanRow] = field(default_factory=list)
    replacing: list[SpanRow] = field(default_factory=list)
    closed: list[SpanRow] = field(default_factory=list)
    growing: set[str] = field(default_factory=set)


def sort_spans(
    connection: Connection,
    batch: Sequence[SpanRow],
    known: Mapping[str, StoredTrace],
    replaceable: Collection[SpanKey] = (),
) -> SortedSpans:
    """Which rows are new, and which at odds with the first content of their id; the others are repeated.

    `known`: the stored traces; their rows, stored or new, hold their own texts (`unshare_texts`).
    `closed` are spans of a trace that was given whole, by its own content; it takes no more. `growing` are the traces
    that are stored already and get more spans. `replacing` are rows of `replaceable` spans, whose content has grown.
    """
    result = SortedSpans()
    open_traces = [trace_id for trace_id, stored in known.items() if not stored.given_whole]
    # Texts and attributes of stored spans are read only for ids that were sent again.
    held = held_spans(connection, open_traces, {(row.trace_id, row.id) for row in batch}, known) if open_traces else {}
    for row in batch:
        stored = known.get(row.trace_id)
        if stored is not None and stored.given_whole:
            result.closed.append(row)
            continue
        key = (row.trace_id, row.id)
        # The first row of an id wins, whether it is stored or only earlier in this batch.
        first = held.setdefault(key, row)
        if first is row:
            result.fresh.append(row)
            if stored is not None:
                result.growing.add(row.trace_id)
        elif not _is_same(first, row):
            (result.replacing if key in replaceable else result.conflicting).append(row)
    return result


def stored_traces(connection: Connection, trace_ids: Iterable[str]) -> dict[str, StoredTrace]:
    """Read which of these traces are stored, before spans are added to them.

    No other server adds spans to them or deletes them until the transaction ends: each computes the summary of a trace from
    the spans that it sees. Scores may come meanwhile.
    """
    query = "SELECT id, seq, content_hash IS NOT NULL FROM traces WHERE id"
    # In one order everywhere: two transactions that lock the same traces must not wait for each other.
    lock = "ORDER BY seq FOR NO KEY UPDATE" if connection.dialect.name == "postgresql" else ""
    return {row[0]: StoredTrace(row[1], bool(row[2])) for row in rows_among(connection, query, trace_ids, lock)}


def held_spans(
    connection: Connection, trace_ids: Sequence[str], wanted: Set[SpanKey], known: Mapping[str, StoredTrace]
) -> dict[SpanKey, SpanRow]:
    """Those of the wanted spans that are stored in these traces, each with everything that it carried."""
    query = f"SELECT t.id, s.id {_OF_TRACES}"
    held: dict[SpanKey, SpanRow] = {}
    for trace_id, span_id in wanted & {(*row,) for row in rows_among(connection, query, trace_ids)}:
        one = f"SELECT {', '.join(COLUMNS)} FROM spans WHERE trace_seq = :seq AND id = :id"
        row = run_sql(connection, one, seq=known[trace_id].seq, id=span_id).one()
        held[trace_id, span_id] = SpanRow(trace_id, *row)
    bases = [(known[row.trace_id].seq, row) for row in held.values() if row.base_id is not None]
    held |= {(row.trace_id, row.id): row for row in whole_spans(connection, bases)}
    return held


def _is_same(stored: SpanRow, sent: SpanRow) -> bool:
    """Whether a span that is sent again is the one that is stored."""
    if stored == sent._replace(heads=stored.heads):
        return True
    # The same attributes may be written in another order, or folded differently: compared as values.
    alike = stored._replace(raw=sent.raw, heads=sent.heads) == sent
    return alike and carried_by(stored).raw == carried_by(sent).raw


def insert_spans(connection: Connection, rows: Sequence[SpanRow], seqs: Mapping[str, int]) -> None:
    """Store spans of stored traces; `seqs` are the sequence numbers of the traces."""
    insert_rows(connection, spans, ("trace_seq", *COLUMNS), [(seqs[row.trace_id], *row[1:-1]) for row in rows])


def replace_spans(connection: Connection, rows: Sequence[SpanRow], seqs: Mapping[str, int]) -> None:
    """Write the content of stored spans anew; spans that are stored as the difference from one of them are made whole."""
    make_dependents_whole(connection, [(seqs[row.trace_id], row.id) for row in rows])
    assigned = ", ".join(f"{name} = :{name}" for name in COLUMNS[1:])
    statement = f"UPDATE spans SET {assigned} WHERE trace_seq = :seq AND id = :id"
    run_for_each(connection, statement, ({"seq": seqs[row.trace_id], **row._asdict()} for row in rows))


def insert_traces(connection: Connection, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, int]:
    """Store new traces, whose ids come first; return their sequence numbers.

    The numbers are drawn beforehand: reading back those the database would assign takes a search for each row.
    """
    if not rows:
        return {}
    seqs: Sequence[int]
    if connection.dialect.name == "sqlite":  # its writer is alone with its sequence
        last = connection.exec_driver_sql("SELECT seq FROM sqlite_sequence WHERE name = 'traces'").scalar() or 0
        seqs = range(last + 1, last + 1 + len(rows))
    else:
        # A query of its own for the name: else it would be looked up for every number.
        drawn = "SELECT nextval((SELECT pg_get_serial_sequence('traces', 'seq'))::regclass) FROM generate_series(1, %s)"
        seqs = connection.exec_driver_sql(drawn, (len(rows),)).scalars().all()
    insert_rows(connection, traces, ("seq", *columns), [(seq, *row) for seq, row in zip(seqs, rows, strict=True)])
    return {row[0]: seq for seq, row in zip(seqs, rows, strict=True)}


def bare_spans(connection: Connection, trace_ids: Iterable[str]) -> dict[str, list[Any]]:
    """The stored spans of traces with whether they have a text in place of it: what a trace is recomputed from."""
    grouped: dict[str, list[Any]] = {}
    query = f"""SELECT t.id AS trace_id, s.id, s.parent_id, s.name, s.kind, s.status, s.started_at, s.ended_at, s.metadata,
        coalesce(s.input_text, '') <> '' AS input_text, coalesce(s.output_text, '') <> '' AS output_text {_OF_TRACES}"""
    for row in rows_among(connection, query, trace_ids):
        grouped.setdefault(row.trace_id, []).append(row)
    return grouped


def texts_of(connection: Connection, trace_id: str, span_id: str | None) -> tuple[str | None, str | None]:
    """Input and output of one stored span."""
    if span_id is None:
        return None, None
    query = f"SELECT s.input_text, s.output_text {_OF_TRACES} = :trace AND s.id = :span"
    row = run_sql(connection, query, trace=trace_id, span=span_id).one()
    return row[0], row[1]


def update_summaries(connection: Connection, grown: Sequence[TraceRow]) -> None:
    """Replace the summary columns of traces by these rows; their checks have seen less, and run again."""
    named = (name for name in TraceRow._fields if name not in ("id", "received_at"))
    statement = f"UPDATE traces SET {', '.join(f'{name} = :{name}' for name in named)} WHERE id = :id"
    run_for_each(connection, statement, (row._asdict() for row in grown))
    # A suite that no check has marks them as unchecked.
    change_among(connection, "UPDATE trace_checks SET suite = '' WHERE trace_id", [row.id for row in grown])
