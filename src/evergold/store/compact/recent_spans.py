"""The latest spans that were stored, by what a span that repeats one of them begins with.

Held in memory, so that intake reads nothing to find a span's base; a span that is pushed out, or was stored by another
server, is no base any more, and what repeats it is stored in full once. Only the writer's thread uses it.
"""

from collections import deque
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from evergold.store.compact.differences import Carried, carried_by, difference
from evergold.store.compact.sharing import unshared
from evergold.store.rows import SpanRow, TraceRow, rows_among
from evergold.store.values import dumps

MOST_CHARACTERS = 12_000_000  # the memory of a server has a limit
OVERHEAD = 1000  # of the objects that hold a span
WORTH_IT = 0.75  # of its own size that a difference takes at most


class _Recent:
    """A stored span that later ones may be described by. `live`: how many of its keys still lead to it."""

    __slots__ = ("carried", "keys", "live", "row", "seq", "size", "trace")

    def __init__(self, seq: int, row: SpanRow, trace: TraceRow, keys: Sequence[int]) -> None:
        self.seq = seq
        self.row = row
        self.trace = trace
        self.keys = keys
        self.live = len(keys)
        texts = (row.input_text, row.output_text) if not row.shared else (trace.input_text, trace.output_text)
        self.size = len(row.raw) + len(texts[0] or "") + len(texts[1] or "") + OVERHEAD
        self.carried: Carried | None = None

    def read(self) -> Carried:
        if self.carried is None:
            self.carried = carried_by(unshared(self.row, self.trace.input_text, self.trace.output_text))
        return self.carried


class RecentSpans:
    def __init__(self) -> None:
        self._by_key: dict[int, _Recent] = {}
        self._in_order: deque[_Recent] = deque()
        self._size = 0

    def clear(self) -> None:
        """Forget all: what was written last may not have been stored."""
        self._by_key.clear()
        self._in_order.clear()
        self._size = 0

    def shortened(
        self,
        connection: Connection,
        rows: Sequence[SpanRow],
        seqs: Mapping[str, int],
        summaries: Mapping[str, TraceRow],
    ) -> list[SpanRow]:
        """The rows as they are to be stored, those that repeat a recent one as the difference from it.

        `seqs` are the numbers of their traces, `told` the summaries of these, which hold the texts that rows share with them.
        """
        sessions = {trace_id: hash(trace.session_id or trace_id) for trace_id, trace in summaries.items()}
        # Only spans of the same session can be a base: erasing a session then never touches another one's spans.
        keys = [[sessions[row.trace_id] ^ head for head in row.heads] for row in rows]
        self._drop_unstored(connection, keys)
        return [
            self._shortened(row, _Recent(seqs[row.trace_id], row, summaries[row.trace_id], its_keys))
            if its_keys
            else row
            for row, its_keys in zip(rows, keys, strict=True)
        ]

    def _shortened(self, row: SpanRow, recent: _Recent) -> SpanRow:
        base = self._add(recent)
        if base is None:
            return row
        raw = dumps(difference(recent.read(), base.read()))
        if len(raw) > WORTH_IT * len(row.raw):
            return row
        return row._replace(raw=raw, base_seq=base.seq, base_id=base.row.id)

    def _add(self, recent: _Recent) -> _Recent | None:
        """Remember a span; returns the one that it repeats."""
        base: _Recent | None = None
        by_key = self._by_key
        for key in recent.keys:
            before = by_key.get(key)
            by_key[key] = recent
            # The newest span of a conversation holds most of it, so it takes the place of the one before.
            if before is not None and before is not recent:
                base = base or before
                before.live -= 1
                self._size -= 0 if before.live else before.size
        in_order = self._in_order
        in_order.append(recent)
        self._size += recent.size
        # Spans to which no key leads any more are only let go at the head of the queue; their size was taken off
        # already.
        while self._size > MOST_CHARACTERS or not in_order[0].live:
            self._push_out(in_order.popleft())
        return base

    def _push_out(self, recent: _Recent) -> None:
        if recent.live:
            self._size -= recent.size
            recent.live = 0
            for key in recent.keys:
                if self._by_key.get(key) is recent:
                    del self._by_key[key]

    def _drop_unstored(self, connection: Connection, keys: Sequence[Sequence[int]]) -> None:
        """Forget those of the spans found by these keys that are not stored: deleted since, or never committed."""
        by_key = self._by_key
        bases = {by_key[key] for some in keys for key in some if key in by_key}
        if not bases:
            return
        query = "SELECT t.id, t.seq, s.id FROM spans s JOIN traces t ON t.seq = s.trace_seq WHERE t.id"
        stored = {tuple(row) for row in rows_among(connection, query, {one.row.trace_id for one in bases})}
        for recent in bases:
            if (recent.row.trace_id, recent.seq, recent.row.id) not in stored:
                self._push_out(recent)
