"""Traces with everything about them as rows and records, out of the tables and back into them.

The state of a trace is its row, its spans, and the rows of every table that belongs to traces and would go with them. Texts
stay as the tables hold them: nothing is parsed or written anew, but for a span that is stored as the difference from
another, which is made whole. Numbers that a database gives (`seq`, ids of scores) are no part of a state: the same trace has the
same state anywhere.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, Table, text

from evergold.model.ident import hash_bytes
from evergold.store.compact.chains import COLUMNS, whole_spans
from evergold.store.compact.folding import fold
from evergold.store.compact.sharing import unshared
from evergold.store.retention import UNCITED, delete_traces
from evergold.store.rows import SpanRow, delete_among, insert_rows, tuples_among
from evergold.store.schema import metadata, traces
from evergold.store.spans import insert_spans, insert_traces
from evergold.store.traces import known_traces
from evergold.store.values import batches, dumps, loads

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

    @property
    def size(self) -> int:
        """How many characters its spans carried, about."""
        return sum(len(span[RAW]) for span in self.spans)


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


def archivable(connection: Connection, day: str, before: str) -> list[str]:
    """The traces of a day older than that which no dataset entry cites, in the order in which they came."""
    query = (
        "SELECT id FROM traces t WHERE started_at >= :day AND started_at < :end AND started_at < :before "
        f"AND {UNCITED} ORDER BY seq"
    )
    return list(connection.execute(text(query), {"day": day, "end": f"{day}~", "before": before}).scalars())


def states_of(connection: Connection, trace_ids: Sequence[str]) -> dict[str, TraceState]:
    """The traces of these ids that are there, each with all that belongs to it."""
    rows = tuples_among(connection, f"SELECT seq, id, {', '.join(TRACE)} FROM traces WHERE id", trace_ids)
    own = {row[1]: row for row in rows}
    spans = _spans(connection, rows)
    belonging = _belonging_rows(connection, own.keys())
    return {
        one: TraceState(own[one][1:], spans.get(own[one][0], ()), belonging.get(one, {}))
        for one in trace_ids
        if one in own
    }


def _spans(connection: Connection, rows: Sequence[Any]) -> dict[int, list[tuple[Any, ...]]]:
    """The spans of traces, given by their rows, by the numbers of the traces."""
    query = f"SELECT trace_seq, {', '.join(COLUMNS)} FROM spans WHERE trace_seq"
    # Sorted here and not by the database, whose order of texts depends on its locale.
    spans = sorted(tuples_among(connection, query, [row[0] for row in rows]), key=lambda row: (row[0], row[1]))
    if any(span[-1] is not None for span in spans):
        spans = _without_bases(connection, spans, rows)
    results: dict[int, list[tuple[Any, ...]]] = {}
    for span in spans:
        results.setdefault(span[0], []).append(span[1:-2])
    return results


def _without_bases(connection: Connection, spans: Sequence[Any], rows: Sequence[Any]) -> list[Any]:
    """Make those whole that are stored as the difference from another, as `release` would before that one is deleted."""
    question, answer = (TRACE.index(name) + 2 for name in ("input_text", "output_text"))
    traces = {row[0]: (row[1], row[question], row[answer]) for row in rows}
    own = [(span[0], unshared(SpanRow(traces[span[0]][0], *span[1:]), *traces[span[0]][1:])) for span in spans]
    return [
        span if span[-1] is None else (*span[: RAW + 1], _folded(whole).raw, *span[RAW + 2 : -2], None, None)
        for span, whole in zip(spans, whole_spans(connection, own), strict=True)
    ]


def _belonging_rows(connection: Connection, trace_ids: Iterable[str]) -> dict[str, dict[str, list[tuple[Any, ...]]]]:
    """The rows of every table that go with traces, by trace and table."""
    wanted = list(trace_ids)
    results: dict[str, dict[str, list[tuple[Any, ...]]]] = {}
    for name, (_, columns, naming) in BELONGING.items():
        if connection.exec_driver_sql(f"SELECT 1 FROM {name} LIMIT 1").first() is None:
            continue
        first = columns.index(naming[0])
        # A remark names two traces, its message and its target; it goes with either of them.
        for named in naming:
            at = columns.index(named)
            for row in tuples_among(connection, f"SELECT {', '.join(columns)} FROM {name} WHERE {named}", wanted):
                if at == first or row[at] != row[first]:
                    results.setdefault(row[at], {}).setdefault(name, []).append(row)
    for own in results.values():
        for rows in own.values():
            # In an order of their own, so that a state does not depend on the order in which a database gives rows.
            if len(rows) > 1:
                rows.sort(key=repr)
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
    return [record_of_state(state) for state in states_of(connection, trace_ids).values()]


def digest_of(record: Record) -> str:
    """What tells one state of a trace from the next; when it was last looked at makes no other state."""
    looked_at = {
        name: [{column: value for column, value in row.items() if column != moment} for row in record.get(name, ())]
        for name, moment in LOOKED_AT.items()
    }
    return hash_bytes(orjson.dumps(record | looked_at, option=orjson.OPT_SORT_KEYS))


def delete_archived(connection: Connection, states: Mapping[str, TraceState]) -> int:
    """Delete these traces where they are as they were archived; one that changed or was cited meanwhile stays."""
    now = states_of(connection, list(states))
    same = [one for one, state in now.items() if state == states[one]]
    free = [row[0] for row in tuples_among(connection, f"SELECT t.id FROM traces t WHERE {UNCITED} AND t.id", same)]
    filled = {name for one in free for name in now[one].belonging}
    with _without_overwriting(connection):
        # By one statement for each table: following a foreign key from row to row costs more.
        for name in filled:
            for column in BELONGING[name][2]:
                delete_among(connection, name, column, free)
        return delete_traces(connection, free)


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
