"""The ingest stage: files, records and OTLP requests in, redacted rows in the store.

One request, in one direction:

    body ─► prepare (decode, redact, summarise) ─► batcher ─► write_spans ─► commit ─► answer

`prepare` does everything that needs no database, so that the single writer is busy as briefly as possible.
A caller that has its answer has waited for the commit.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TypeVar

from sqlalchemy import Connection

from evergold.errors import NotFound, Unavailable
from evergold.ingest.batcher import Batcher
from evergold.ingest.open_file import Lines, open_lines
from evergold.ingest.prepare import Request, RequestReader
from evergold.ingest.redact_records import redact_record
from evergold.ingest.report import IngestReport
from evergold.ingest.write_records import write_records
from evergold.ingest.write_spans import SpansWritten
from evergold.model.rejected import Rejected
from evergold.model.trace import Correction
from evergold.seams import Incoming, Source
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.values import batches

BATCH = 1000
ANSWER_SECONDS = 10.0  # what an exporter of OpenTelemetry waits before it gives up and sends again

T = TypeVar("T")


class _NothingStored(Exception):
    """Rolls a strict ingest back."""


class Ingest:
    """Store traces, spans and feedback, and queue them for curation in the same transaction."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._batcher = Batcher(store)
        self._reader = RequestReader(settings)
        self.is_quick = self._reader.is_quick
        self.on_commit: Callable[[], None] = lambda: None  # called after each commit that stored something

    def files(
        self,
        files: Iterable[Path | BinaryIO],
        *,
        source: str | None = None,
        unit: str | None = None,
        strict: bool = False,
        progress: Callable[[int], None] = lambda _: None,
    ) -> IngestReport:
        """Read files of traces. Bad records are reported and counted, the good ones stored; strict: all or nothing."""
        report = IngestReport()
        sources: dict[str, Source] = {}
        records = chain.from_iterable(self._read(file, source, sources, progress, unit) for file in files)
        if strict:
            return self._strictly(records, report)
        for batch in batches(records, BATCH):
            self._write(batch, report)
        return report

    def records(self, records: Iterable[Incoming | Rejected]) -> IngestReport:
        """Store records that were parsed elsewhere (over HTTP, by the SDK)."""
        report = IngestReport()
        self._write(list(records), report)
        return report

    def redacted(self, correction: Correction) -> Correction:
        """Redact a correction as it would be stored."""
        clean = redact_record(correction, self._reader.cleaner())
        assert isinstance(clean, Correction)
        return clean

    def request(self, request: Request) -> Future[SpansWritten]:
        """Take an OTLP request; the future is done when its spans are committed."""
        prepared = self._reader.read(request)
        written: Future[SpansWritten] = Future()
        # Also after a failure: looking for work in vain is cheaper than missing some.
        written.add_done_callback(lambda _: self.on_commit())
        self._batcher.put(prepared, written)
        return written

    def _write(self, batch: Sequence[Incoming | Rejected], report: IngestReport) -> None:
        """Write a batch. One that fails though the database works is written in halves: the bad record alone is rejected."""
        cleaner = self._reader.cleaner()
        # A report of its own: counts of a batch that is rolled back must not reach the caller's.
        attempt = IngestReport()
        try:
            self._store.db.write(partial(write_records, records=batch, report=attempt, cleaner=cleaner))
        # The database itself failed: halves would fail alike, one after the other.
        except Unavailable:
            raise
        except Exception as problem:
            if len(batch) == 1:
                report.reject(_unstorable(batch[0], problem))
                return
            for half in (batch[: len(batch) // 2], batch[len(batch) // 2 :]):
                self._write(half, report)
            return
        report.add(attempt)
        self.on_commit()

    def _strictly(self, records: Iterator[Incoming | Rejected], report: IngestReport) -> IngestReport:
        def work(connection: Connection) -> None:
            for batch in batches(records, BATCH):
                write_records(connection, batch, report, self._reader.cleaner())
            if report.rejected:
                raise _NothingStored

        try:
            self._store.db.write(work)
        except _NothingStored:
            return IngestReport(rejected=report.rejected, problems=report.problems)
        return report

    def _read(
        self,
        file: Path | BinaryIO,
        source: str | None,
        sources: dict[str, Source],
        progress: Callable[[int], None],
        unit: str | None,
    ) -> Iterator[Incoming | Rejected]:
        if isinstance(file, Path):
            if not file.is_file():
                raise NotFound(f"no file {str(file)!r}; give a file of traces, or - for standard input")
            with open_lines(file, unit) as lines:
                yield from lines.read_by(source, sources, progress)
        else:
            yield from Lines(file, "stdin", unit).read_by(source, sources, progress)


def _unstorable(record: Incoming | Rejected, problem: Exception) -> Rejected:
    reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
    name = getattr(record, "id", None) or getattr(record, "trace_id", None) or ""
    kind = type(record).__name__.removesuffix("Line").lower()
    return Rejected(where=f"{kind} {name!a}", reason=f"cannot be stored: {reason}")


async def answered(written: Future[T], seconds: float = ANSWER_SECONDS) -> T:
    """Wait for a commit, but not longer than `seconds`; what the writer has not begun by then is left out.

    What it has begun may still be stored. The sender sends it again in either case, and spans that are known count once.
    """
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.wrap_future(written)
    except TimeoutError:
        raise Unavailable(
            f"nothing was written within {seconds:g} s: the database is busy or does not answer; send it again later"
        ) from None
