"""What comes in: files, records and OTLP requests → traces, spans, scores and corrections in the store.

Everything is redacted here, before it is stored, whichever way it came. A caller that has its answer has waited for the commit.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from sqlalchemy import Connection

from evergold import plugins
from evergold.errors import NotFound
from evergold.model.rejected import Rejected
from evergold.model.trace import Trace
from evergold.redact.fields import FieldRedactor
from evergold.seams import Incoming, Redactor, Source
from evergold.settings import Settings
from evergold.sources.log_events import spans_of_logs
from evergold.sources.otlp import Wire, read_logs, read_traces
from evergold.sources.spans import Received
from evergold.store import Store
from evergold.store.counters import counted
from evergold.store.trace_pages import TraceFilter, count_traces, page_of_traces
from evergold.store.traces import get_trace
from evergold.store.values import batches
from evergold.store.word_index import AT_ONCE, learn_words, words_waiting
from evergold.workspace.arrivals import arrivals_of
from evergold.workspace.gathering import Gathering
from evergold.workspace.ingest_report import IngestReport
from evergold.workspace.lines_in import Lines, opened_lines
from evergold.workspace.records_in import store_records
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
        name = settings.redact_redactor
        self._redactor: Redactor | None = plugins.load("redactors", name) if name else None
        self._cleaner()  # a wrong field name is said now and not with the first trace
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
            self._store.db.write(partial(store_records, records=batch, report=report, cleaner=self._cleaner()))
            self.arrived()
        return report

    def accept(self, records: Iterable[Incoming | Rejected]) -> IngestReport:
        """Store records that were parsed elsewhere (over HTTP, by the SDK)."""
        report = IngestReport()
        batch = list(records)
        self._store.db.write(partial(store_records, records=batch, report=report, cleaner=self._cleaner()))
        self.arrived()
        return report

    def receive_traces(self, body: bytes, wire: Wire) -> Future[SpansWritten]:
        """Take an OTLP trace request; the future is done when its spans are committed."""
        return self._submit(read_traces(body, wire), len(body))

    def receive_logs(self, body: bytes, wire: Wire) -> Future[SpansWritten]:
        """Take an OTLP log request: evaluation results become scores, model and agent events become steps of a trace."""
        return self._submit(spans_of_logs(read_logs(body, wire)), len(body))

    def _submit(self, received: Received, size: int) -> Future[SpansWritten]:
        longest = self._settings.server_max_text_kb * 1000
        arrivals = arrivals_of(received, self._cleaner(), longest, size)
        written = self._gathering.put(arrivals)
        written.add_done_callback(lambda _: self.arrived())
        return written

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
                store_records(connection, batch, report, self._cleaner())
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

    def _cleaner(self) -> FieldRedactor:
        return FieldRedactor(self._redactor, self._settings.redact_fields)

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
