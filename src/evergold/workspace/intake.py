"""The facade of ingest: store files, records and OTLP requests; read traces back, page by page; tags and comments on them."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, BinaryIO

from evergold.ingest.batcher import SpansWritten
from evergold.ingest.feedback import IngestReport
from evergold.ingest.ingest import Ingest
from evergold.ingest.prepare import Request
from evergold.model.access import LOCAL, Holder
from evergold.model.trace import Retagged, Retagging, Trace, TraceComment
from evergold.sources.langfuse import records_of_batch, reply_to
from evergold.sources.spans import Wire
from evergold.spread import spread_over
from evergold.store.facts import read_counters
from evergold.store.text_index import AT_ONCE, learn_words, words_waiting
from evergold.store.trace.filter import TraceFilter, TraceOrder
from evergold.store.trace.pages import TraceFacets, count_traces, page_of_traces, trace_facets
from evergold.store.trace.traces import comments_on, drop_comment, get_trace, put_comment, retag, stored_size, with_tags


class Intake(Ingest):
    """Traces in and out of the workspace."""

    def ingest(
        self,
        files: Iterable[Path | BinaryIO],
        *,
        source: str | None = None,
        unit: str | None = None,
        strict: bool = False,
        progress: Callable[[int], None] = lambda _: None,
        cluster: str | None = None,
    ) -> IngestReport:
        """Read files of traces. Bad records are reported and counted, the good ones stored; strict: all or nothing.

        `unit`: what becomes a trace of an agent's log, the whole `task` (default) or each `turn`. With the address of a
        Dask cluster its workers read and redact the files, which they see under the same paths; they are stored here.
        """
        with spread_over(cluster) as spread:
            return self.files(files, source=source, unit=unit, strict=strict, progress=progress, spread=spread)

    def accept_langfuse(self, events: list[dict[str, Any]]) -> dict[str, Any]:
        """Store a batch of Langfuse's events; the answer names each by its id, as Langfuse's does."""
        records = list(records_of_batch(events))
        report = self.accept(record for _, record in records)
        return reply_to(events, records, report.problems)

    def receive_traces(self, body: bytes, wire: Wire) -> Future[SpansWritten]:
        """Take an OTLP trace request; the future is done when its spans are committed."""
        return self.request(Request("traces", wire, body))

    def receive_logs(self, body: bytes, wire: Wire) -> Future[SpansWritten]:
        """Take an OTLP log request: evaluation results become scores, model and agent events become steps of a trace."""
        return self.request(Request("logs", wire, body))

    def page(
        self,
        wanted: TraceFilter,
        *,
        limit: int,
        before: str | None = None,
        order: TraceOrder = TraceOrder.NEWEST,
        scores: bool = False,
        preview: int | None = None,
    ) -> tuple[list[Trace], str | None]:
        """A page, newest first unless another order is asked for, and the cursor of the next page."""
        self._learn_words_for(wanted)
        return self._store.read(
            page_of_traces, wanted, limit=limit, before=before, order=order, scores=scores, preview=preview
        )

    def count(self, wanted: TraceFilter) -> int:
        self._learn_words_for(wanted)
        return self._store.read(count_traces, wanted)

    def facets(self, wanted: TraceFilter) -> TraceFacets:
        """Count the values by which a list of traces can be narrowed."""
        self._learn_words_for(wanted)
        return self._store.read(trace_facets, wanted)

    def get(self, trace_id: str) -> Trace:
        with self._store.db.read() as connection:
            return with_tags(connection, [get_trace(connection, trace_id)])[0]

    def size(self, trace_id: str) -> int:
        """Characters of the spans of a trace as they are stored; 0 of an unknown one."""
        return self._store.read(stored_size, trace_id)

    def counts(self) -> dict[str, int]:
        """What was redacted, refused, cut or left out since the workspace began."""
        return self._store.read(read_counters)

    def retag(self, wanted: Retagging, who: str) -> list[Retagged]:
        """Put tags on traces and take people's tags off."""
        work = (wanted.trace_ids, wanted.add, wanted.remove, who)
        return self._store.write(retag, *work)

    def comments(self, trace_id: str) -> list[TraceComment]:
        return self._store.read(comments_on, trace_id)

    def comment(self, trace_id: str, text: str, who: str) -> TraceComment:
        """Write a comment on a trace."""
        return self._store.write(put_comment, trace_id, text, who)

    def uncomment(self, comment_id: int, by: Holder = LOCAL) -> None:
        """Delete a comment of one's own, or of somebody else as a moderator."""
        self._store.write(drop_comment, comment_id, by)

    def _learn_words_for(self, wanted: TraceFilter) -> None:
        """Index the words of the latest traces before a search, so that no trace is missing from its result."""
        if wanted.search is None:
            return
        known, last = self._store.read(words_waiting)
        # Each write learns a bounded number of traces; in between other writers get their turn.
        while known < last and self._store.db.write(learn_words):
            known += AT_ONCE
