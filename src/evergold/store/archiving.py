"""Traces with everything about them as rows and records, out of the tables and back into them.

The state of a trace is its row, its spans, and the rows of every table that belongs to traces and would go with them. Texts
stay as the tables hold them: nothing is parsed or written anew, but for a span that is stored as the difference from
another, which is made whole. Numbers that a database gives (`seq`, ids of scores) are no part of a state: the same trace has the
same state anywhere.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, Table, text

from evergold.model.ident import hash_bytes
from evergold.store.compact.chains import COLUMNS, whole_spans
from evergold.store.compact.folding import fold
from evergold.store.compact.sharing import unshared
from evergold.store.retention import UNCITED, let_go, lock_traces
from evergold.store.rows import SpanRow, delete_among, insert_rows, tuples_among
from evergold.store.schema import metadata, traces
from evergold.store.spans import insert_spans, insert_traces
from evergold.store.traces import known_traces
from evergold.store.values import batches, dumps, loads
from evergold.store.write_mark import WriteMark, write_mark

Record = dict[str, Any]

TRACE = tuple(str(column.name) for column in traces.columns if column.name not in ("seq", "id"))
LEASE = ("owner", "lease_until")  # who works on a row at the moment is no part of it
LOOKED_AT = {"trace_checks": "checked_at", "curation_queue": "queued_at"}
SPAN = COLUMNS[:-2]  # without the base of a span: a state names no other trace
RAW = SPAN.index("raw")


class TraceState(NamedTuple):
    """The rows of one trace: its own (`id` and `TRACE`), its spans (`SPAN`), and those of each table that has any."""

    row: tuple[Any, ...]
    spans: Sequence[tuple[Any, ...]]
    belonging: Mapping[str, Sequence[tuple[Any, ...]]]


class TraceRows(NamedTuple):
    """The rows of some traces as the driver gives them, in the order in which the traces came.

    The traces' own (`seq`, `id` and `TRACE`), their spans (`trace_seq` and `SPAN`), and by table and trace what else there is.
    """

    traces: list[tuple[Any, ...]]
    spans: list[tuple[Any, ...]]
    belonging: dict[str, dict[str, list[tuple[Any, ...]]]]

    @property
    def size(self) -> int:
        """How many characters the spans carried, about."""
        return sum(len(span[RAW + 1]) for span in self.spans)

    def states(self) -> dict[str, TraceState]:
        """The state of each trace."""
        spans: dict[int, list[tuple[Any, ...]]] = {}
        for span in self.spans:
            spans.setdefault(span[0], []).append(span[1:])
        return {
            row[1]: TraceState(
                row[1:],
                spans.get(row[0], ()),
                {name: rows[row[1]] for name, rows in self.belonging.items() if row[1] in rows},
            )
            for row in self.traces
        }

    def among(self, trace_ids: Collection[str]) -> "TraceRows":
        """The rows of some of the traces."""
        traces = [row for row in self.traces if row[1] in trace_ids]
        seqs = {row[0] for row in traces}
        spans = [span for span in self.spans if span[0] in seqs]
        kept = {
            name: {one: own for one, own in rows.items() if one in trace_ids} for name, rows in self.belonging.items()
        }
        return TraceRows(traces, spans, {name: rows for name, rows in kept.items() if rows})


def _belonging() -> dict[str, tuple[Table, list[str], list[str]]]:
    """The tables whose rows go with a trace: their columns, and those of them that name a trace."""
    tables = {}
    for table in metadata.sorted_tables:
        naming = [
            str(key.parent.name) for key in table.foreign_keys if key.target_fullname == "traces.id" and key.ondelete
        ]
        if naming:
            # A lone `id` is given by the database, and is another one after coming back.
            numbered = table.primary_key.columns.keys() == ["id"]
            left_out = LEASE if "lease_until" in table.columns else ()
            columns = [
                str(column.name)
                for column in table.columns
                if column.name not in left_out and not (numbered and column.name == "id")
            ]
            tables[str(table.name)] = (table, columns, naming)
    return tables


BELONGING = _belonging()
LISTS = ("spans", *BELONGING)


def archivable_days(connection: Connection, before: str) -> list[str]:
    """The days, oldest first, with traces older than that which no dataset entry cites."""
    query = (
        f"SELECT DISTINCT substr(started_at, 1, 10) FROM traces t WHERE started_at < :before AND {UNCITED} ORDER BY 1"
    )
    return list(connection.execute(text(query), {"before": before}).scalars())


def archivable(connection: Connection, day: str, before: str) -> list[int]:
    """The numbers of the traces of a day older than that which no dataset entry cites, in the order in which they came."""
    query = (
        "SELECT seq FROM traces t WHERE started_at >= :day AND started_at < :end AND started_at < :before "
        f"AND {UNCITED} ORDER BY seq"
    )
    return list(connection.execute(text(query), {"day": day, "end": f"{day}~", "before": before}).scalars())


def rows_of(connection: Connection, seqs: Sequence[int]) -> TraceRows:
    """The rows of the traces with these numbers that are there."""
    # Sorted here and not by the database, whose order of texts depends on its locale; keys come first in a row.
    rows = sorted(tuples_among(connection, f"SELECT seq, id, {', '.join(TRACE)} FROM traces WHERE seq", seqs))
    query = f"SELECT trace_seq, {', '.join(COLUMNS)} FROM spans WHERE trace_seq"
    spans = sorted(tuples_among(connection, query, [row[0] for row in rows]))
    if any(span[-1] is not None for span in spans):
        spans = _without_bases(connection, spans, rows)
    return TraceRows(rows, [span[:-2] for span in spans], _belonging_rows(connection, [row[1] for row in rows]))


def _without_bases(connection: Connection, spans: Sequence[Any], rows: Sequence[Any]) -> list[Any]:
    """Make those whole that are stored as the difference from another, as `release` would before that one is deleted."""
    question, answer = (TRACE.index(name) + 2 for name in ("input_text", "output_text"))
    traces = {row[0]: (row[1], row[question], row[answer]) for row in rows}
    own = [(span[0], unshared(SpanRow(traces[span[0]][0], *span[1:]), *traces[span[0]][1:])) for span in spans]
    return [
        span if span[-1] is None else (*span[: RAW + 1], _folded(whole).raw, *span[RAW + 2 : -2], None, None)
        for span, whole in zip(spans, whole_spans(connection, own), strict=True)
    ]


def _belonging_rows(connection: Connection, trace_ids: Sequence[str]) -> dict[str, dict[str, list[tuple[Any, ...]]]]:
    """The rows of every table that go with traces, by table and trace."""
    results: dict[str, dict[str, list[tuple[Any, ...]]]] = {}
    for name, (_, columns, naming) in BELONGING.items():
        if connection.exec_driver_sql(f"SELECT 1 FROM {name} LIMIT 1").first() is None:
            continue
        own: dict[str, list[tuple[Any, ...]]] = {}
        first = columns.index(naming[0])
        # A remark names two traces, its message and its target; it goes with either of them.
        for named in naming:
            at = columns.index(named)
            for row in tuples_among(connection, f"SELECT {', '.join(columns)} FROM {name} WHERE {named}", trace_ids):
                if at == first or row[at] != row[first]:
                    own.setdefault(row[at], []).append(row)
        for rows in own.values():
            # In an order of their own, so that a state does not depend on the order in which a database gives rows.
            if len(rows) > 1:
                rows.sort(key=repr)
        if own:
            results[name] = own
    return results


def record_of_state(state: TraceState) -> Record:
    """A state with names for its values."""
    record = dict(zip(("id", *TRACE), state.row, strict=True))
    record["spans"] = [dict(zip(SPAN, span, strict=True)) for span in state.spans]
    for name, (_, columns, _) in BELONGING.items():
        record[name] = [dict(zip(columns, row, strict=True)) for row in state.belonging.get(name, ())]
    return record


def records_of(connection: Connection, trace_ids: Sequence[str]) -> list[Record]:
    """The traces of these ids that are there, each with all that belongs to it."""
    seqs = [row[0] for row in tuples_among(connection, "SELECT seq FROM traces WHERE id", trace_ids)]
    states = rows_of(connection, seqs).states()
    return [record_of_state(states[one]) for one in trace_ids if one in states]


def digest_of(record: Record) -> str:
    """What tells one state of a trace from the next; when it was last looked at makes no other state."""
    looked_at = {
        name: [{column: value for column, value in row.items() if column != moment} for row in record.get(name, ())]
        for name, moment in LOOKED_AT.items()
    }
    return hash_bytes(orjson.dumps(record | looked_at, option=orjson.OPT_SORT_KEYS))


def delete_archived(connection: Connection, read: TraceRows, mark: WriteMark | None) -> tuple[int, WriteMark | None]:
    """Delete these traces where they are as they were read; one that changed or was cited meanwhile stays.

    `mark` is of the moment before they were read. Returns how many went and, if nobody has written since, the mark of now:
    what else was read since that moment need not be compared either.
    """
    lock_traces(connection, [row[1] for row in read.traces])
    if mark is None or write_mark(connection) != mark:
        mark, read = None, _unchanged(connection, read)
    free = tuples_among(
        connection, f"SELECT t.seq, t.id FROM traces t WHERE {UNCITED} AND t.seq", [row[0] for row in read.traces]
    )
    seqs, trace_ids = [row[0] for row in free], [row[1] for row in free]
    let_go(connection, trace_ids)
    with _without_overwriting(connection):
        # By one statement for each table: following a foreign key from row to row costs more.
        for name in read.belonging:
            for column in BELONGING[name][2]:
                delete_among(connection, name, column, trace_ids)
        delete_among(connection, "spans", "trace_seq", seqs)
        deleted = delete_among(connection, "traces", "seq", seqs)
    return deleted, mark and write_mark(connection)


def _unchanged(connection: Connection, read: TraceRows) -> TraceRows:
    """Those of the rows that are as they were read."""
    now = rows_of(connection, [row[0] for row in read.traces])
    if now == read:
        return read
    before = read.states()
    return read.among({one for one, state in now.states().items() if state == before[one]})


@contextmanager
def _without_overwriting(connection: Connection) -> Iterator[None]:
    """Let SQLite leave the bytes of what it deletes in free pages, where it is built to overwrite them.

    What was archived is not secret, and overwriting costs as much as all the rest of deleting. Erasure of a user writes the
    whole file anew.
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    before = connection.exec_driver_sql("PRAGMA secure_delete").scalar_one()
    connection.exec_driver_sql("PRAGMA secure_delete = OFF")
    try:
        yield
    finally:
        connection.exec_driver_sql(f"PRAGMA secure_delete = {before}")


def entered_with_sessions(connection: Connection) -> tuple[list[str], list[str]]:
    """The traces that a dataset entry cites, and all traces of their sessions, which entries are read from."""
    cited = "SELECT trace_id FROM eval_dataset WHERE trace_id IS NOT NULL"
    of_sessions = f"SELECT session_id FROM traces WHERE id IN ({cited}) AND session_id IS NOT NULL"
    query = f"SELECT id FROM traces WHERE id IN ({cited}) OR session_id IN ({of_sessions}) ORDER BY seq"
    return list(connection.execute(text(cited)).scalars()), list(connection.execute(text(query)).scalars())


def put_records(connection: Connection, records: Iterable[Record]) -> int:
    """Store the records whose traces are not there; return how many."""
    given = list(records)
    known = known_traces(connection, [record["id"] for record in given])
    new = [record for record in given if record["id"] not in known]
    seqs = insert_traces(connection, ("id", *TRACE), [(one["id"], *(one[name] for name in TRACE)) for one in new])
    insert_spans(connection, [span_row_of(one["id"], span) for one in new for span in one["spans"]], seqs)
    for name, (_, columns, naming) in BELONGING.items():
        own = [row for one in new for row in one.get(name, ())]
        # A row that names a trace which is neither here nor in this batch would break a foreign key.
        other = {row[column] for row in own for column in naming} - seqs.keys()
        there = seqs.keys() | (known_traces(connection, other) if other else set())
        kept = [tuple(row[c] for c in columns) for row in own if all(row[column] in there for column in naming)]
        for batch in batches(kept):
            insert_rows(connection, name, columns, batch, new_only=True)
    return len(new)


def span_row_of(trace_id: str, span: Record) -> SpanRow:
    """The row of an archived span; one of the first format holds its own texts, and is folded as intake does it."""
    if "shared" in span:
        return SpanRow(trace_id, *(span[name] for name in SPAN))
    return _folded(SpanRow(trace_id, *(span[name] for name in SPAN if name != "shared")))


def _folded(row: SpanRow) -> SpanRow:
    """The row as intake stores it: a text that is the input or output is not written twice."""
    raw = loads(row.raw)
    fold(raw, row.input_text, row.output_text)
    return row._replace(raw=dumps(raw))
