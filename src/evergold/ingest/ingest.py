"""The ingest stage: files, records and OTLP requests in, redacted rows in the store.

One request, in one direction:

    body ─► prepare (decode, redact, summarise) ─► batcher ─► write_spans ─► commit ─► answer

`prepare` does everything that needs no database, so that the single writer is busy as briefly as possible.
A caller that has its answer has waited for the commit.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar, cast

from sqlalchemy import Connection

from evergold.errors import BadInput, Unavailable
from evergold.ingest.batcher import Batcher, SpansWritten
from evergold.ingest.files import FileReading, Lines, ReadFile, open_lines, read_files, redaction_of, require_file
from evergold.ingest.prepare import PreparedSpans, Request, RequestReader, SecondReader
from evergold.ingest.records import redact_record, write_records
from evergold.machine import usable_cores
from evergold.model.faults import Rejected
from evergold.model.operations import IngestReport
from evergold.model.trace import Correction
from evergold.redact.fields import FieldRedactor
from evergold.seams import Incoming, Source
from evergold.settings import Settings
from evergold.spread import Spread
from evergold.store import Store
from evergold.store.database.rows import batches
from evergold.store.facts import Portion

BATCH = 1000
ANSWER_SECONDS = 10.0  # what an exporter of OpenTelemetry waits before it gives up and sends again

T = TypeVar("T")


class _NothingStored(Exception):
    """Rolls a strict ingest back."""


class _Batch(NamedTuple):
    """Records that are stored together. `redacted`: what a worker took out of them; None where they are as they came."""

    records: Sequence[Incoming | Rejected]
    redacted: Counter[str] | None = None


class Ingest:
    """Store traces, spans and feedback, and queue them for curation in the same transaction."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._batcher = Batcher(store)
        self._reader = RequestReader(settings)
        self._redaction = redaction_of(settings)
        self.is_quick = self._reader.is_quick
        self._second_reader: SecondReader | None = None
        self._under_way: set[Future[SpansWritten]] = set()  # requests that are read or being read, and not committed
        self._settings = settings
        self.on_commit: Callable[[], None] = lambda: None  # called after each commit that stored something

    def files(
        self,
        files: Iterable[Path | BinaryIO],
        *,
        source: str | None = None,
        unit: str | None = None,
        strict: bool = False,
        progress: Callable[[int], None] = lambda _: None,
        spread: Spread | None = None,
    ) -> IngestReport:
        """Read files of traces. Bad records are reported and counted, the good ones stored; strict: all or nothing.

        With `spread` workers read the files and redact their records; they are stored here, in the order of the files.
        """
        # The first is large: most files are one transaction, in which feedback may come before its trace.
        report, portion = IngestReport(), Portion(BATCH, first=BATCH)
        sources: dict[str, Source] = {}
        read = partial(self._read, source=source, sources=sources, progress=progress, unit=unit)
        if spread is None:
            records = chain.from_iterable(map(read, files))
            # All or nothing is one transaction; its size need not follow what the last one took.
            parts: Iterator[_Batch] = map(_Batch, batches(records, BATCH) if strict else portion.of(records))
        else:
            how = FileReading(source, unit, self._redaction)
            paths = list(files)
            if not all(isinstance(file, Path) for file in paths):
                raise BadInput("standard input (-) cannot be read by the workers of a cluster; leave --cluster out")
            parts = _read_elsewhere(read_files(spread, how, cast("list[Path]", paths)), read, progress)
        if strict:
            return self._store_all(parts, report)
        for batch in parts:
            self._write(batch, report, portion)
        return report

    def accept(self, records: Iterable[Incoming | Rejected]) -> IngestReport:
        """Store records that were parsed elsewhere (over HTTP, by the SDK)."""
        report = IngestReport()
        self._write(_Batch(list(records)), report, Portion(BATCH))
        return report

    def redact_correction(self, correction: Correction) -> Correction:
        """Redact a correction as it would be stored."""
        clean = redact_record(correction, self._reader.cleaner())
        assert isinstance(clean, Correction)
        return clean

    def use_second_process(self) -> None:
        """Let a second process read requests while several are under way; on a single core there is nothing to gain."""
        if usable_cores() > 1 and self._reader.is_quick:
            self._second_reader = SecondReader(self._settings, self._reader)

    def close(self) -> None:
        """End the second process, if there is one."""
        if self._second_reader is not None:
            self._second_reader.close()

    def request(self, request: Request) -> Future[SpansWritten]:
        """Take an OTLP request; the future is done when its spans are committed."""
        written: Future[SpansWritten] = Future()
        second = self._second_reader
        read = None if second is None else second.read(request, len(self._under_way) + 1)
        prepared = self._reader.read(request) if read is None else read
        self._under_way.add(written)
        written.add_done_callback(self._finish_request)
        if isinstance(prepared, PreparedSpans):
            self._batcher.put(prepared, written)
        else:
            prepared.add_done_callback(partial(self._put_read, written))
        return written

    def _put_read(self, written: Future[SpansWritten], read: Future[PreparedSpans]) -> None:
        problem = read.exception()
        if problem is None:
            self._batcher.put(read.result(), written)
        elif written.set_running_or_notify_cancel():
            written.set_exception(problem)

    def _finish_request(self, written: Future[SpansWritten]) -> None:
        self._under_way.discard(written)
        # Also after a failure: looking for work in vain is cheaper than missing some.
        self.on_commit()

    def _cleaner(self, batch: _Batch) -> FieldRedactor:
        """Make the redactor of a batch; one that a worker has redacted is left as it is, and only counted."""
        if batch.redacted is None:
            return self._reader.cleaner()
        cleaner = FieldRedactor(None, ())
        cleaner.counts = batch.redacted
        return cleaner

    def _write(self, batch: _Batch, report: IngestReport, portion: Portion) -> None:
        """Write a batch. One that fails though the database works is written in halves: the bad record alone is rejected."""
        records = batch.records
        try:
            attempt = self._write_whole(batch, portion)
        # The database itself failed: halves would fail alike, one after the other.
        except Unavailable:
            raise
        except Exception as problem:
            if len(records) == 1:
                report.reject(_reject_unstorable(records[0], problem))
                return
            # What a worker redacted is counted once, with the first half.
            rest = None if batch.redacted is None else Counter[str]()
            self._write(_Batch(records[: len(records) // 2], batch.redacted), report, portion)
            self._write(_Batch(records[len(records) // 2 :], rest), report, portion)
            return
        report.add(attempt)
        self.on_commit()

    def _write_whole(self, batch: _Batch, portion: Portion) -> IngestReport:
        def work(connection: Connection) -> IngestReport:
            # A report of its own: counts of a batch that is rolled back must not reach the caller's.
            attempt = IngestReport()
            write_records(connection, batch.records, attempt, self._cleaner(batch))
            return attempt

        return self._store.db.write_with_retry(portion.time_work(work))

    def _store_all(self, parts: Iterator[_Batch], report: IngestReport) -> IngestReport:
        def work(connection: Connection) -> None:
            for batch in parts:
                write_records(connection, batch.records, report, self._cleaner(batch))
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
            require_file(file)
            with open_lines(file, unit) as lines:
                yield from lines.read_by(source, sources, progress)
        else:
            yield from Lines(file, "stdin", unit).read_by(source, sources, progress)


def _read_elsewhere(
    parts: Iterator[tuple[Path, ReadFile]],
    read: Callable[[Path], Iterator[Incoming | Rejected]],
    progress: Callable[[int], None],
) -> Iterator[_Batch]:
    """Batches of what workers read, across files as without them; a file that they leave to the caller is read here."""
    waiting, redacted = list[Incoming | Rejected](), Counter[str]()
    for path, part in parts:
        if part.here:
            # What was read before it is stored before it.
            if waiting:
                yield _Batch(waiting, redacted)
            waiting, redacted = [], Counter()
            yield from map(_Batch, batches(read(path), BATCH))
            continue
        waiting += part.records
        redacted.update(part.redacted)
        while len(waiting) >= BATCH:
            yield _Batch(waiting[:BATCH], redacted)
            waiting, redacted = waiting[BATCH:], Counter()
        progress(part.size)
    if waiting:
        yield _Batch(waiting, redacted)


def _reject_unstorable(record: Incoming | Rejected, problem: Exception) -> Rejected:
    reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
    name = getattr(record, "id", None) or getattr(record, "trace_id", None) or ""
    kind = type(record).__name__.removesuffix("Line").lower()
    return Rejected(where=f"{kind} {name!a}", reason=f"cannot be stored: {reason}")


async def wait_for_commit(written: Future[T], seconds: float = ANSWER_SECONDS) -> T:
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
