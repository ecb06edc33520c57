"""What comes in: files, records and OTLP requests → traces, spans, scores and corrections in the store.

Everything is redacted here, before it is stored, whichever way it came. A caller that has its answer has waited for the commit.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from sqlalchemy import Connection

from evergold.errors import NotFound
from evergold.model.rejected import Rejected
from evergold.model.trace import Correction, Trace
from evergold.seams import Incoming, Source
from evergold.settings import Settings
from evergold.sources.otlp import Wire
from evergold.store import Store
from evergold.store.counters import counted
from evergold.store.trace_pages import TraceFilter, count_traces, page_of_traces
from evergold.store.traces import get_trace
from evergold.store.values import batches
from evergold.store.word_index import AT_ONCE, learn_words, words_waiting
from evergold.workspace.arrivals import Arrivals
from evergold.workspace.cleaning import cleaned
from evergold.workspace.gathering import Gathering
from evergold.workspace.ingest_report import IngestReport
from evergold.workspace.lines_in import Lines, opened_lines
from evergold.workspace.reader import Reader, cores
from evergold.workspace.records_in import store_records
from evergold.workspace.requests_in import Request, RequestReader, rules_of
from evergold.workspace.spans_in import SpansWritten

BATCH = 1000


class _NothingStored(Exception):
    """Rolls a strict ingest back."""


class Intake:
    """The door for traces. What it stores it also queues for curation, in the same transaction."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._gathering = Gathering(store)
        rules = rules_of(settings)
        self._here = RequestReader(rules)
        self._reader = Reader(rules, self._here.read, enabled=settings.server_reader and cores() > 1)
        self._under_way = 0  # requests without an answer yet
        self._counting = threading.Lock()
        self.arrived: Callable[[], None] = lambda: None  # called after each commit that brought something

    def ingest(
        self,
        files: Iterable[Path | BinaryIO],
        *,
        source: str | None = None,
        strict: bool = False,
        progress: Callable[[int], None] = lambda _: None,
    ) -> IngestReport:
        """Read files of traces. Bad records are reported and counted, the good ones stored; strict: all or nothing."""
        report = IngestReport()
        sources: dict[str, Source] = {}
        records = chain.from_iterable(self._read(file, source, sources, progress) for file in files)
        if strict:
            return self._strictly(records, report)
        for batch in batches(records, BATCH):
            self._store.db.write(partial(store_records, records=batch, report=report, cleaner=self._here.cleaner()))
            self.arrived()
        return report

    def accept(self, records: Iterable[Incoming | Rejected]) -> IngestReport:
        """Store records that were parsed elsewhere (over HTTP, by the SDK)."""
        report = IngestReport()
        batch = list(records)
        self._store.db.write(partial(store_records, records=batch, report=report, cleaner=self._here.cleaner()))
        self.arrived()
        return report

    def redacted(self, correction: Correction) -> Correction:
        """A correction as it would be stored."""
        clean = cleaned(correction, self._here.cleaner())
        assert isinstance(clean, Correction)
        return clean

    def receive_traces(self, body: bytes, wire: Wire) -> Future[SpansWritten]:
        """Take an OTLP trace request; the future is done when its spans are committed."""
        return self._receive(Request("traces", wire, body))

    def receive_logs(self, body: bytes, wire: Wire) -> Future[SpansWritten]:
        """Take an OTLP log request: evaluation results become scores, model and agent events become steps of a trace."""
        return self._receive(Request("logs", wire, body))

    def _receive(self, request: Request) -> Future[SpansWritten]:
        reading = self._reader.take(request, self._under_way)
        arrivals = self._here.read(request) if reading is None else None
        written: Future[SpansWritten] = Future()
        written.set_running_or_notify_cancel()  # a sender that goes away takes nothing back
        self._count(1)
        written.add_done_callback(self._answered)
        if arrivals is not None:
            self._gathering.put(arrivals, written)
        elif reading is not None:
            reading.add_done_callback(partial(self._store_read, written))
        return written

    def _store_read(self, written: Future[SpansWritten], reading: Future[Arrivals]) -> None:
        problem = reading.exception()
        if problem is None:
            self._gathering.put(reading.result(), written)
        else:
            written.set_exception(problem)

    def _answered(self, _: Future[SpansWritten]) -> None:
        self._count(-1)
        self.arrived()

    def _count(self, step: int) -> None:
        with self._counting:
            self._under_way += step

    def close(self) -> None:
        """End the reading process, if there is one; what it was reading is stored."""
        self._reader.close()

    def page(self, wanted: TraceFilter, *, limit: int, before: str | None = None) -> tuple[list[Trace], str | None]:
        """Newest first, and the cursor of the next page."""
        self._learn_words_for(wanted)
        with self._store.db.read() as connection:
            return page_of_traces(connection, wanted, limit=limit, before=before)

    def count(self, wanted: TraceFilter) -> int:
        self._learn_words_for(wanted)
        with self._store.db.read() as connection:
            return count_traces(connection, wanted)

    def get(self, trace_id: str) -> Trace:
        with self._store.db.read() as connection:
            return get_trace(connection, trace_id)

    def counts(self) -> dict[str, int]:
        """What was redacted, refused, cut or left out since the workspace began."""
        with self._store.db.read() as connection:
            return counted(connection)

    def _strictly(self, records: Iterator[Incoming | Rejected], report: IngestReport) -> IngestReport:
        def work(connection: Connection) -> None:
            for batch in batches(records, BATCH):
                store_records(connection, batch, report, self._here.cleaner())
            if report.rejected:
                raise _NothingStored

        try:
            self._store.db.write(work)
        except _NothingStored:
            return IngestReport(rejected=report.rejected, problems=report.problems)
        return report

    def _learn_words_for(self, wanted: TraceFilter) -> None:
        """Before words are looked for, those of the latest traces are learnt: nothing is found late."""
        if wanted.search is None:
            return
        with self._store.db.read() as connection:
            known, last = words_waiting(connection)
        while known < last and self._store.db.write(learn_words):
            known += AT_ONCE

    def _read(
        self, file: Path | BinaryIO, source: str | None, sources: dict[str, Source], progress: Callable[[int], None]
    ) -> Iterator[Incoming | Rejected]:
        if isinstance(file, Path):
            if not file.is_file():
                raise NotFound(f"no file {str(file)!r}; give a file of traces, or - for standard input")
            with opened_lines(file) as lines:
                yield from lines.read_by(source, sources, progress)
        else:
            yield from Lines(file, "stdin").read_by(source, sources, progress)
