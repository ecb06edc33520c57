"""Traces with their spans, many at once, and the traces of a session that came before one: what conversations are read from."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, select

from evergold.model.trace import Span, Trace
from evergold.store.rows import SpanRow
from evergold.store.schema import spans, traces
from evergold.store.spans import OWN
from evergold.store.trace.compact import unshared, whole_spans
from evergold.store.traces import span_of, trace_of
from evergold.store.values import batches

KINDS_OF_TURNS = ("tool",)  # the spans that an earlier turn is read from
KINDS_OF_CALLS = ("llm", "event")  # the spans that say which tools a model called


def traces_with_spans(connection: Connection, trace_ids: Iterable[str]) -> dict[str, Trace]:
    """The stored traces of these ids with their spans; their scores are not read."""
    by_key: dict[str, Trace] = {}
    # Traces with all of their spans are large; so many are in memory at a time.
    for batch in batches(dict.fromkeys(trace_ids), 200):
        rows = connection.execute(select(traces).where(traces.c.id.in_(batch))).mappings().all()
        by_key |= {trace.id: trace for trace in _with_spans(connection, rows)}
    return by_key


class Sessions:
    """The sessions of traces, each read once. Holds them all: make one for each batch of traces.

    When the first session is asked for, those of all `traces` are read with it.
    """

    def __init__(self, connection: Connection, traces: Iterable[Trace] = ()) -> None:
        self._connection = connection
        self._named = {trace.session_id for trace in traces if trace.session_id is not None}
        self._read: dict[tuple[str, Sequence[str]], list[Trace]] = {}

    def before(self, trace: Trace) -> Sequence[Trace]:
        """The traces of the same session that began before this one, oldest first, with their tool spans."""
        return self._before(trace, KINDS_OF_TURNS)

    def called_before(self, trace: Trace) -> Sequence[Trace]:
        """The same traces with their model calls, which are read only where a history lacks the calls of its results."""
        return self._before(trace, KINDS_OF_CALLS)

    def _before(self, trace: Trace, kinds: Sequence[str]) -> Sequence[Trace]:
        if trace.session_id is None:
            return ()
        key = (trace.session_id, kinds)
        if key not in self._read:
            self._read_sessions({trace.session_id} | self._named, kinds)
        session = self._read[key]
        position = next((number for number, one in enumerate(session) if one.id == trace.id), len(session))
        return session[:position]

    def _read_sessions(self, names: Iterable[str], kinds: Sequence[str]) -> None:
        for batch in batches(sorted(names)):
            self._read |= {(name, kinds): [] for name in batch}
            query = select(traces).where(traces.c.session_id.in_(batch))
            rows = self._connection.execute(query.order_by(traces.c.started_at, traces.c.seq)).mappings().all()
            for trace in _with_spans(self._connection, rows, kinds):
                self._read[trace.session_id or "", kinds].append(trace)


def _with_spans(connection: Connection, rows: Sequence[Any], kinds: Sequence[str] = ()) -> list[Trace]:
    by_seq = {row["seq"]: row for row in rows}
    by_key: dict[int, list[Span]] = {}
    for batch in batches(by_seq):
        query = select(spans.c.trace_seq, *(spans.c[name] for name in OWN)).where(spans.c.trace_seq.in_(batch))
        if kinds:
            query = query.where(spans.c.kind.in_(kinds))
        own = []
        for seq, *fields in connection.execute(query.order_by(spans.c.started_at, spans.c.id)):
            trace = by_seq[seq]
            own.append((seq, unshared(SpanRow(trace["id"], *fields), trace["input_text"], trace["output_text"])))
        for (seq, _), row in zip(own, whole_spans(connection, own), strict=True):
            by_key.setdefault(seq, []).append(span_of(row))
    return [trace_of(row, tuple(by_key.get(row["seq"], ())), ()) for row in rows]
