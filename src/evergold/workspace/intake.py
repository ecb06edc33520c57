"""The facade of ingest: store files, records and OTLP requests; read traces back, page by page; tags and comments on them."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import wraps
from math import inf
from pathlib import Path
from typing import Any, BinaryIO, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from evergold.errors import BadInput
from evergold.ingest.batcher import SpansWritten
from evergold.ingest.ingest import Ingest
from evergold.ingest.prepare import Request
from evergold.model.operations import IngestReport
from evergold.model.trace import Retagged, Retagging, Trace
from evergold.sources.conventions.scores import use_scales
from evergold.sources.langfuse import records_of_batch, reply_to
from evergold.sources.spans import Wire
from evergold.spread import spread_over
from evergold.store import make_reader, make_writer
from evergold.store.facts import read_counters
from evergold.store.text_index import count_due
from evergold.store.trace.filter import TraceFilter, outcomes_of
from evergold.store.trace.pages import count_traces, page_of_traces, trace_facets
from evergold.store.trace.passages import hits_of, learn_words
from evergold.store.trace.traces import comments_on, drop_comment, get_trace, put_comment, retag, stored_size, with_tags

SEARCH_SECONDS = 0.5  # that a search gives to traces which are not indexed yet
P = ParamSpec("P")
T = TypeVar("T")


def _make_search(
    work: Callable[Concatenate[Connection, TraceFilter, P], T],
) -> Callable[Concatenate["Intake", TraceFilter, P], T]:
    """Make a method that searches by this function; what waits is indexed before, unless it is too much for a search."""

    @wraps(work)
    def search(intake: "Intake", wanted: TraceFilter, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if wanted.search is not None:
            intake.index(seconds=SEARCH_SECONDS)
        return intake._store.read(work, wanted, *args, **kwargs)

    return search


class Intake(Ingest):
    """Traces in and out of the workspace."""

    page = _make_search(page_of_traces)
    count = _make_search(count_traces)
    facets = _make_search(trace_facets)
    outcomes = make_reader(outcomes_of)
    hits = make_reader(hits_of)
    size = make_reader(stored_size)
    counts = make_reader(read_counters)
    comments = make_reader(comments_on)
    comment = make_writer(put_comment)
    uncomment = make_writer(drop_comment)

    def ingest(
        self,
        files: Iterable[Path | BinaryIO],
        *,
        source: str | None = None,
        unit: str | None = None,
        strict: bool = False,
        scale: Sequence[str] = (),
        progress: Callable[[int], None] = lambda _: None,
        cluster: str | None = None,
    ) -> IngestReport:
        """Read files of traces. Bad records are reported and counted, the good ones stored; strict: all or nothing.

        `scale`: scores that are not from 0 to 1, as `NAME=BAD:GOOD`, numbers or words; not with a cluster.
        `unit`: what becomes a trace of an agent's log, the whole `task` (default) or each `turn`. With the address of a
        Dask cluster its workers read and redact the files, which they see under the same paths; they are stored here.
        """
        if scale and cluster:
            raise BadInput("--scale is read on this machine; leave --cluster out")
        with spread_over(cluster) as spread, use_scales(scale):
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

    def get(self, trace_id: str) -> Trace:
        with self._store.db.read() as connection:
            return with_tags(connection, [get_trace(connection, trace_id)])[0]

    def retag(self, wanted: Retagging, who: str) -> list[Retagged]:
        """Put tags on traces and take people's tags off."""
        return self._store.write(retag, wanted.trace_ids, wanted.add, wanted.remove, who)

    def index(self, *, seconds: float = inf) -> int:
        """Index the traces that wait, as far as the time allows; how many still wait, 10,000 at most."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and learn_words(self._store.db):
            pass
        return self._store.read(count_due, 10_000)
