"""Spans that are stored as the difference from another: read as they came, and made whole before their base is deleted."""

from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from evergold.store.compact.differences import Carried, carried_by, restored
from evergold.store.compact.folding import fold
from evergold.store.compact.sharing import unshared
from evergold.store.rows import SpanRow
from evergold.store.schema import spans, traces
from evergold.store.values import batches, dumps, loads

Key = tuple[int, str]  # the number of a trace, and a span's id
COLUMNS = SpanRow._fields[1:-1]


def whole_spans(connection: Connection, rows: Sequence[tuple[int, SpanRow]]) -> list[SpanRow]:
    """The rows, given with the numbers of their traces and with their own texts, each with everything that it carried."""
    if all(row.base_id is None for _, row in rows):
        return [row for _, row in rows]
    known = {(seq, row.id): row for seq, row in rows}
    _add_bases(connection, known)
    read: dict[Key, Carried] = {}
    return [_whole(row, seq, known, read) for seq, row in rows]


def _add_bases(connection: Connection, known: dict[Key, SpanRow]) -> None:
    """Read the bases of the spans, and those of the bases."""
    missing = _missing(known.values(), known)
    while missing:
        for batch in batches(missing):
            for seq, row in map(_with_texts, _read_chain(connection, batch)):
                known[seq, row.id] = row
        left = _missing(known.values(), known)
        # Nothing new was read in this round.
        if left == missing:
            return  # somebody deleted them by hand
        missing = left


def _missing(rows: Iterable[SpanRow], known: dict[Key, SpanRow]) -> set[Key]:
    wanted = {(row.base_seq, row.base_id) for row in rows if row.base_seq is not None and row.base_id is not None}
    return wanted - known.keys()


def _read_chain(connection: Connection, keys: Sequence[Key]) -> Iterable[Any]:
    """These spans and all that they build on: trace's number and id, own columns, the trace's texts."""
    mark = "(?, ?)" if connection.dialect.name == "sqlite" else "(%s, %s)"
    query = f"""WITH RECURSIVE wanted (seq, id) AS (VALUES {", ".join([mark] * len(keys))}),
        chain (seq, id, base_seq, base_id) AS (
            SELECT s.trace_seq, s.id, s.base_seq, s.base_id FROM wanted w JOIN spans s ON s.trace_seq = w.seq AND s.id = w.id
            UNION SELECT s.trace_seq, s.id, s.base_seq, s.base_id
                FROM chain c JOIN spans s ON s.trace_seq = c.base_seq AND s.id = c.base_id)
        SELECT t.seq, t.id, {", ".join(f"s.{name}" for name in COLUMNS)}, t.input_text, t.output_text
        FROM chain c JOIN spans s ON s.trace_seq = c.seq AND s.id = c.id JOIN traces t ON t.seq = s.trace_seq"""
    return connection.exec_driver_sql(query, tuple(chain.from_iterable(keys)))


def _whole(row: SpanRow, seq: int, known: dict[Key, SpanRow], read: dict[Key, Carried]) -> SpanRow:
    if row.base_id is None:
        return row
    return row._replace(raw=dumps(_carried((seq, row.id), known, read).raw), base_seq=None, base_id=None)


def _carried(key: Key, known: dict[Key, SpanRow], read: dict[Key, Carried]) -> Carried:
    """What a span carried, from the first span of its chain on; a loop, because a chain is as long as its session."""
    links: list[Key] = []
    at: Key | None = key
    while at is not None and at not in read and at in known:
        links.append(at)
        row = known[at]
        at = (row.base_seq, row.base_id) if row.base_seq is not None and row.base_id is not None else None
    for one in reversed(links):
        row = known[one]
        if row.base_seq is None or row.base_id is None:
            read[one] = carried_by(row)
        else:
            # A base that is gone gives what the difference itself holds: part of a span is better than none.
            base = read.get((row.base_seq, row.base_id), Carried({}, None, None))
            texts = row.input_text, row.output_text
            read[one] = Carried(restored(loads(row.raw), texts, base), *texts)
    return read[key]


def release(connection: Connection, trace_ids: Sequence[str]) -> None:
    """Let nothing build on these traces, which are about to be deleted: what stays is made whole."""
    # Read from the index of bases, which is empty where no conversation goes on over several traces.
    if connection.execute(select(spans.c.base_seq).where(spans.c.base_seq.is_not(None)).limit(1)).first() is None:
        return
    deleted = set(trace_ids)
    for batch in batches(trace_ids):
        # Spans outside of what is deleted; those inside go with it.
        dependents = connection.execute(_DEPENDENTS, {"ids": batch}).all()
        _make_whole(connection, [_with_texts(row) for row in dependents if row[1] not in deleted])
    for batch in batches(trace_ids):
        # Rows to be deleted may name each other as bases, and the foreign key would forbid the first deletion.
        connection.execute(_LET_GO, {"ids": batch})


def make_dependents_whole(connection: Connection, bases: Collection[Key]) -> None:
    """Let no other span build on these spans, which are about to change."""
    named = set(bases)
    for batch in batches({seq for seq, _ in named}):
        dependents = connection.execute(_ON_TRACES, {"seqs": batch}).all()
        rows = [_with_texts(row) for row in dependents]
        _make_whole(connection, [(seq, row) for seq, row in rows if (row.base_seq, row.base_id) in named])


def _make_whole(connection: Connection, rows: Sequence[tuple[int, SpanRow]]) -> None:
    changes = [
        {"of": seq, "named": row.id, "new_raw": _folded(row)}
        for (seq, _), row in zip(rows, whole_spans(connection, rows), strict=True)
    ]
    if changes:
        connection.execute(_MAKE_WHOLE, changes)


def _with_texts(row: Any) -> tuple[int, SpanRow]:
    """A row of trace's number and id, own columns and the trace's texts."""
    return row[0], unshared(SpanRow(row[1], *row[2:-2]), row[-2], row[-1])


def _folded(row: SpanRow) -> str:
    raw = loads(row.raw)
    fold(raw, row.input_text, row.output_text)
    return dumps(raw)


_GIVEN = select(traces.c.seq).where(traces.c.id.in_(bindparam("ids", expanding=True)))
_WITH_BASE = (
    select(traces.c.seq, traces.c.id, *(spans.c[name] for name in COLUMNS), traces.c.input_text, traces.c.output_text)
    .select_from(spans.join(traces, traces.c.seq == spans.c.trace_seq))
    .where(spans.c.base_seq.is_not(None))
)
_DEPENDENTS = _WITH_BASE.where(spans.c.base_seq.in_(_GIVEN))
_ON_TRACES = _WITH_BASE.where(spans.c.base_seq.in_(bindparam("seqs", expanding=True)))
_MAKE_WHOLE = (
    update(spans)
    .where(spans.c.trace_seq == bindparam("of"), spans.c.id == bindparam("named"))
    .values(raw=bindparam("new_raw"), base_seq=None, base_id=None)
)
_LET_GO = (
    update(spans)
    .where(spans.c.trace_seq.in_(_GIVEN), spans.c.base_seq.is_not(None))
    .values(raw="{}", base_seq=None, base_id=None)
)
