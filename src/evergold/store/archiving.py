"""Traces with everything about them as records, out of the tables and back into them.

A record holds the row of a trace, its spans made whole, and the rows of every table that belongs to traces and would go with
them. Numbers that a database gives (`seq`, ids of scores) are no part of it: the same trace gives the same record anywhere.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import orjson
from sqlalchemy import Connection, Table, bindparam, or_, select, text

from evergold.model.ident import hash_bytes
from evergold.store.compact.chains import COLUMNS, whole_spans
from evergold.store.compact.differences import carried_by
from evergold.store.compact.folding import fold
from evergold.store.compact.sharing import unshared
from evergold.store.retention import UNCITED, delete_traces
from evergold.store.rows import SpanRow, insert_rows, rows_among
from evergold.store.schema import metadata, traces
from evergold.store.spans import insert_spans, insert_traces
from evergold.store.traces import known_traces
from evergold.store.values import batches, dumps, loads

Record = dict[str, Any]

TRACE = tuple(str(column.name) for column in traces.columns if column.name not in ("seq", "id"))
LEASE = ("owner", "lease_until")  # who works on a row at the moment is no part of it
SPAN = tuple(name for name in SpanRow._fields[1:-1] if name not in ("shared", "base_seq", "base_id"))


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


def records_of(connection: Connection, trace_ids: Sequence[str]) -> list[Record]:
    """The traces of these ids that are there, each with all that belongs to it."""
    columns = ("seq", "id", *TRACE)
    query = f"SELECT {', '.join(columns)} FROM traces WHERE id"
    rows = {row[1]: dict(zip(columns, row, strict=True)) for row in rows_among(connection, query, trace_ids)}
    results = {
        one: {"id": one, **{name: rows[one][name] for name in TRACE}, "spans": []} for one in trace_ids if one in rows
    }
    for span in _spans(connection, rows):
        row_of_span = {name: getattr(span, name) for name in SPAN}
        results[span.trace_id]["spans"].append(row_of_span | {"raw": _carried(span)})
    for name, of_trace in _belonging_rows(connection, results.keys()):
        for one, record in results.items():
            # In an order of their own, so that the digest does not depend on the order in which a database gives rows.
            own = of_trace.get(one, [])
            record[name] = sorted(own, key=orjson.dumps) if len(own) > 1 else own
    return list(results.values())


def _belonging_rows(connection: Connection, trace_ids: Set[str]) -> Iterator[tuple[str, dict[str, list[Record]]]]:
    """For each table whose rows go with traces: its rows by trace."""
    for name, (table, columns, naming) in BELONGING.items():
        of_trace: dict[str, list[Record]] = defaultdict(list)
        if len(naming) == 1:
            query = f"SELECT {', '.join(columns)} FROM {name} WHERE {naming[0]}"
            chosen: Iterable[Any] = rows_among(connection, query, trace_ids)
        else:
            either = or_(*(table.c[column].in_(bindparam("ids", expanding=True)) for column in naming))
            chosen = connection.execute(
                select(*(table.c[column] for column in columns)).where(either), {"ids": list(trace_ids)}
            )
        for row in chosen:
            own = dict(zip(columns, row, strict=True))
            # A remark names two traces, its message and its target; it goes with either of them.
            for one in {own[column] for column in naming} & trace_ids:
                of_trace[one].append(own)
        yield name, of_trace


def _carried(span: SpanRow) -> str:
    """All that a span carried, in one spelling, whether its row held it folded or whole."""
    return orjson.dumps(carried_by(span).raw, option=orjson.OPT_SORT_KEYS).decode()


def _folded(row: SpanRow) -> SpanRow:
    """The row as intake stores it: a text that is the input or output is not written twice."""
    raw = loads(row.raw)
    fold(raw, row.input_text, row.output_text)
    return row._replace(raw=dumps(raw))


def _spans(connection: Connection, rows: Mapping[str, Any]) -> list[SpanRow]:
    by_seq = {row["seq"]: row for row in rows.values()}
    query = f"SELECT trace_seq, {', '.join(COLUMNS)} FROM spans WHERE trace_seq"
    own = []
    # Sorted here and not by the database, whose order of texts depends on its locale.
    for seq, *values in sorted(rows_among(connection, query, by_seq), key=lambda row: (row[0], row[1])):
        trace = by_seq[seq]
        own.append((seq, unshared(SpanRow(trace["id"], *values), trace["input_text"], trace["output_text"])))
    return whole_spans(connection, own)


def digest_of(record: Record) -> str:
    """What tells one state of a trace from the next."""
    return hash_bytes(orjson.dumps(record, option=orjson.OPT_SORT_KEYS))


def delete_archived(connection: Connection, digests: Mapping[str, str]) -> int:
    """Delete these traces where they are as they were archived; one that changed or was cited meanwhile stays."""
    same = [
        record["id"] for record in records_of(connection, list(digests)) if digest_of(record) == digests[record["id"]]
    ]
    query = text(f"SELECT id FROM traces t WHERE {UNCITED} AND id IN :ids").bindparams(bindparam("ids", expanding=True))
    free = list(connection.execute(query, {"ids": same}).scalars()) if same else []
    return delete_traces(connection, free)


def put_records(connection: Connection, records: Iterable[Record]) -> int:
    """Store the records whose traces are not there; return how many."""
    given = list(records)
    known = known_traces(connection, [record["id"] for record in given])
    new = [record for record in given if record["id"] not in known]
    seqs = insert_traces(connection, ("id", *TRACE), [(one["id"], *(one[name] for name in TRACE)) for one in new])
    rows = [SpanRow(one["id"], *(span[name] for name in SPAN)) for one in new for span in one["spans"]]
    insert_spans(connection, [_folded(row) for row in rows], seqs)
    for name, (_, columns, naming) in BELONGING.items():
        own = [row for one in new for row in one.get(name, ())]
        # A row that names a trace which is neither here nor in this batch would break a foreign key.
        other = {row[column] for row in own for column in naming} - seqs.keys()
        there = seqs.keys() | (known_traces(connection, other) if other else set())
        kept = [tuple(row[c] for c in columns) for row in own if all(row[column] in there for column in naming)]
        for batch in batches(kept):
            insert_rows(connection, name, columns, batch, new_only=True)
    return len(new)
