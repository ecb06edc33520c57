"""Traces with everything about them as records, out of the tables and back into them.

A record has the columns of a trace's row, its spans, and the rows of every table that belongs to traces, as JSON text. Texts
are whole: what the tables share between a trace and its spans, or store as the difference from another span, is written out.
Numbers that a database gives (`seq`, ids of scores) are left out: the same trace gives the same record anywhere.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Integer, TextClause

from evergold.model.values import hash_bytes
from evergold.store.database.rows import SpanRow, dumps, insert_rows, loads, read_column, tuples_among
from evergold.store.schema import metadata, traces
from evergold.store.trace.compact import (
    COLUMNS,
    FOLDED,
    SHARED_INPUT,
    SHARED_OUTPUT,
    fold_row,
    read_spans,
    unfold,
    unshare,
)
from evergold.store.trace.retention import UNCITED, delete_uncited, lock_traces
from evergold.store.trace.spans import insert_spans, insert_traces
from evergold.store.trace.traces import known_traces

Record = dict[str, Any]

TRACE = tuple(str(column.name) for column in traces.columns if column.name != "seq")
SPAN = COLUMNS[: COLUMNS.index("raw") + 1]  # without what says where a text is stored
LEASE = ("owner", "lease_until")  # who works on a row at the moment is no part of it


def _find_belonging() -> dict[str, tuple[list[str], list[str]]]:
    """Find the tables whose rows go with a trace: their columns, and those of them that name a trace."""
    tables = {}
    for table in metadata.sorted_tables:
        keys = (key for key in table.foreign_keys if key.target_fullname == "traces.id" and key.ondelete)
        if naming := [str(key.parent.name) for key in keys]:
            # A lone `id` is given by the database, and is another one after coming back.
            left_out = {"id"} if table.primary_key.columns.keys() == ["id"] else set()
            left_out |= set(LEASE) if "lease_until" in table.columns else set()
            columns = [str(column.name) for column in table.columns if column.name not in left_out]
            tables[str(table.name)] = (columns, naming)
    return tables


BELONGING = _find_belonging()


def _default_of(name: str) -> Any:
    """Give what the tables put into a column of `traces` that a row does not name."""
    column = traces.columns[name]
    given = getattr(column.server_default, "arg", None)
    if not isinstance(given, TextClause):  # none, or the moment
        return None
    return int(given.text) if isinstance(column.type, Integer) else given.text.strip("'")


def find_archivable_days(connection: Connection, before: str) -> list[str]:
    """List the days, oldest first, with traces older than `before` that no dataset entry cites."""
    days = "SELECT DISTINCT substr(started_at, 1, 10) FROM traces t WHERE started_at < :before"
    return read_column(connection, f"{days} AND {UNCITED} ORDER BY 1", before=before)


def find_archivable_traces(connection: Connection, day: str, before: str) -> list[str]:
    """List the traces of a day older than `before` that no dataset entry cites, in the order in which they came."""
    of_day = "SELECT id FROM traces t WHERE started_at >= :day AND started_at < :end AND started_at < :before"
    return read_column(connection, f"{of_day} AND {UNCITED} ORDER BY seq", day=day, end=f"{day}~", before=before)


def read_records(connection: Connection, trace_ids: Sequence[str]) -> list[Record]:
    """Read those of the traces that are stored, in the order in which they came, each with all that belongs to it."""
    # Sorted here and not by the database, whose order of texts depends on its locale; keys come first in a row.
    rows = sorted(tuples_among(connection, f"SELECT seq, {', '.join(TRACE)} FROM traces WHERE id", trace_ids))
    records = {row[0]: dict(zip(TRACE, row[1:], strict=True)) | {"spans": []} for row in rows}
    for seq, span in sorted(read_spans(connection, records), key=lambda one: one[1].id):
        raw = _unfold_raw(span.raw, span.input_text, span.output_text)
        records[seq]["spans"].append(dict(zip(SPAN, (*span[1 : len(SPAN)], raw), strict=True)))
    for name in BELONGING:
        of_traces = _read_belonging(connection, name, [record["id"] for record in records.values()])
        for record in records.values():
            record[name] = of_traces.get(record["id"], "[]")
    return list(records.values())


def _unfold_raw(raw: str, question: str | None, answer: str | None) -> str:
    """Put the span's texts back into what it carried, which is then as it came."""
    return dumps(unfold(loads(raw), question, answer)) if f'"{FOLDED}"' in raw else raw


def _read_belonging(connection: Connection, name: str, trace_ids: Sequence[str]) -> dict[str, str]:
    """Read the rows of a table that go with traces, as JSON text by trace."""
    if connection.exec_driver_sql(f"SELECT 1 FROM {name} LIMIT 1").first() is None:
        return {}
    columns, naming = BELONGING[name]
    own: dict[str, list[Any]] = {}
    first = columns.index(naming[0])
    # A remark names two traces, its message and its target; it goes with either of them.
    for named in naming:
        at = columns.index(named)
        for row in tuples_among(connection, f"SELECT {', '.join(columns)} FROM {name} WHERE {named}", trace_ids):
            if at == first or row[at] != row[first]:
                own.setdefault(row[at], []).append(row)
    # In an order of their own: that in which a database gives rows may differ.
    return {
        one: dumps([dict(zip(columns, row, strict=True)) for row in sorted(rows, key=repr)])
        for one, rows in own.items()
    }


# What a trace has in a column or table that a record of an earlier version lacks, once it is back in the tables.
ABSENT: Record = {name: _default_of(name) for name in TRACE} | {"spans": []} | dict.fromkeys(BELONGING, "[]")


def hash_record(record: Record) -> str:
    """Compute what tells one state of a trace from the next."""
    return hash_bytes(dumps({name: record.get(name, absent) for name, absent in ABSENT.items()}).encode())


def delete_archived(connection: Connection, written: Mapping[str, Record]) -> int:
    """Delete these traces where they are as they were written; one that changed or was cited meanwhile stays."""
    lock_traces(connection, written)
    same = [record["id"] for record in read_records(connection, list(written)) if record == written[record["id"]]]
    return delete_uncited(connection, same)


def put_records(connection: Connection, records: Sequence[Record]) -> int:
    """Store the records, of one part, whose traces are not there; return how many."""
    known = known_traces(connection, [record["id"] for record in records])
    new = [record for record in records if record["id"] not in known]
    if not new:
        return 0
    # A column that the tables have gained since the part was written gets its default.
    columns = [name for name in TRACE if name in new[0]]
    seqs = insert_traces(connection, columns, [[one[name] for name in columns] for one in new])
    insert_spans(connection, [_make_span_row(one, span) for one in new for span in one["spans"]], seqs)
    for name, (columns, naming) in BELONGING.items():
        own = [row for one in new if one.get(name, "[]") != "[]" for row in loads(one[name])]
        if not own:
            continue
        columns = [column for column in columns if column in own[0]]
        # A row that names a trace which is neither here nor in this batch would break a foreign key.
        other = {row[column] for row in own for column in naming} - seqs.keys()
        there = seqs.keys() | (known_traces(connection, other) if other else set())
        kept = [tuple(row[c] for c in columns) for row in own if all(row[column] in there for column in naming)]
        insert_rows(connection, name, columns, kept, new_only=True)
    return len(new)


def _make_span_row(trace: Record, span: Record) -> SpanRow:
    """Make the row of a span as intake does: a text that stands elsewhere too is not stored twice."""
    row = SpanRow(trace["id"], *(span[name] for name in SPAN))
    shares_input = bool(row.input_text) and row.input_text == trace["input_text"]
    shares_output = bool(row.output_text) and row.output_text == trace["output_text"]
    return row._replace(
        raw=fold_row(row),
        input_text=None if shares_input else row.input_text,
        output_text=None if shares_output else row.output_text,
        shared=SHARED_INPUT * shares_input | SHARED_OUTPUT * shares_output,
    )


def upgrade_record(record: Record) -> Record:
    """Bring a record of an earlier format up to date: its texts are written out."""
    spans = loads(record["spans"]) if isinstance(record["spans"], str) else record["spans"]
    texts = record["input_text"], record["output_text"]
    rows = [unshare(SpanRow("", *(span.get(name, 0) for name in (*SPAN, "shared"))), *texts) for span in spans]
    raws = [_unfold_raw(row.raw, row.input_text, row.output_text) for row in rows]
    whole = [(*row[1 : len(SPAN)], raw) for row, raw in zip(rows, raws, strict=True)]  # `raw` comes last
    return record | {"spans": [dict(zip(SPAN, row, strict=True)) for row in whole]}
