"""What comes in: files and records → traces, scores and corrections in the store."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from sqlalchemy import Connection

from evergold import plugins
from evergold.errors import BadInput, NotFound
from evergold.model.rejected import Rejected
from evergold.model.trace import Correction, ScoreLine, Trace
from evergold.seams import Incoming, Source
from evergold.store import Store
from evergold.store.traces import (
    TraceFilter,
    get_trace,
    keep_pending,
    known_traces,
    page_of_traces,
    put_correction,
    put_scores,
    put_traces,
    take_pending,
)
from evergold.store.values import batches

SNIFF = 64 * 1024
BATCH = 1000
KEPT_PROBLEMS = 100


@dataclass
class IngestReport:
    """What became of what came in. Nothing is dropped without standing here."""

    traces: int = 0
    scores: int = 0
    corrections: int = 0
    duplicates: int = 0
    rejected: int = 0
    pending: int = 0
    problems: list[str] = field(default_factory=list)

    def reject(self, rejected: Rejected) -> None:
        self.rejected += 1
        if len(self.problems) < KEPT_PROBLEMS:
            self.problems.append(str(rejected))

    def counts(self) -> dict[str, int]:
        return {name: value for name, value in vars(self).items() if isinstance(value, int)}


class _NothingStored(Exception):
    """Rolls a strict ingest back."""


class Intake:
    def __init__(self, store: Store) -> None:
        self._store = store

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
        records = chain.from_iterable(self._read(file, source, progress) for file in files)
        if strict:
            return self._strictly(records, report)
        for batch in batches(records, BATCH):
            self._store.db.write(partial(_store, records=batch, report=report))
        return report

    def accept(self, records: Iterable[Incoming]) -> IngestReport:
        """Store records that were parsed elsewhere (over HTTP, by the SDK)."""
        report = IngestReport()
        part = list(records)
        self._store.db.write(lambda connection: _store(connection, part, report))
        return report

    def page(
        self, wanted: TraceFilter, *, limit: int, before: tuple[str, str] | None
    ) -> tuple[list[Trace], tuple[str, str] | None]:
        with self._store.db.read() as connection:
            return page_of_traces(connection, wanted, limit=limit, before=before)

    def get(self, trace_id: str) -> Trace:
        with self._store.db.read() as connection:
            return get_trace(connection, trace_id)

    def _strictly(self, records: Iterator[Incoming | Rejected], report: IngestReport) -> IngestReport:
        def work(connection: Connection) -> None:
            for batch in batches(records, BATCH):
                _store(connection, batch, report)
            if report.rejected:
                raise _NothingStored

        try:
            self._store.db.write(work)
        except _NothingStored:
            return IngestReport(rejected=report.rejected, problems=report.problems)
        return report

    def _read(
        self, file: Path | BinaryIO, source: str | None, progress: Callable[[int], None]
    ) -> Iterator[Incoming | Rejected]:
        if isinstance(file, Path):
            if not file.is_file():
                raise NotFound(f"no file {str(file)!r}; give a file of traces, or - for standard input")
            with file.open("rb") as handle:
                yield from self._read_open(handle, str(file), source, progress)
        else:
            yield from self._read_open(file, "stdin", source, progress)

    def _read_open(
        self, handle: BinaryIO, name: str, source: str | None, progress: Callable[[int], None]
    ) -> Iterator[Incoming | Rejected]:
        first = handle.readline()
        reader = _source_for(first[:SNIFF], source, name)

        def counted() -> Iterator[bytes]:
            for line in chain([first], handle):
                progress(len(line))
                yield line

        return reader.read(counted(), name)


def _source_for(head: bytes, source: str | None, name: str) -> Source:
    """The source that was named, or the first that knows this file; native lines are asked last."""
    if source is not None:
        named: Source = plugins.load("sources", source)
        return named
    for candidate in sorted(plugins.names("sources"), key=lambda known: known == "native"):
        reader: Source = plugins.load("sources", candidate)
        if not head.strip() or reader.accepts(head):
            return reader
    raise BadInput(f"{name}: none of the known formats ({', '.join(plugins.names('sources'))}); name one with --source")


def _store(connection: Connection, records: Sequence[Incoming | Rejected], report: IngestReport) -> None:
    arrived = [record for record in records if isinstance(record, Trace)]
    done = put_traces(connection, arrived)
    report.traces += len(done.added)
    report.scores += done.scores
    report.duplicates += len(done.duplicates)
    for trace_id in done.conflicting:
        report.reject(
            Rejected(where=f"trace {trace_id}", field="id", reason="known with other content; the first is kept")
        )
    waiting = [parse_pending(body) for body in take_pending(connection, done.added)]
    about = [record for record in records if isinstance(record, ScoreLine | Correction)]
    known = known_traces(connection, {record.trace_id for record in chain(waiting, about)})
    for record in chain(waiting, about):
        if record.trace_id in known:
            _apply(connection, record, report)
        else:
            report.pending += keep_pending(connection, record.trace_id, record.model_dump_json())
    for bad in records:
        if isinstance(bad, Rejected):
            report.reject(bad)


def parse_pending(body: str) -> ScoreLine | Correction:
    return (ScoreLine if '"type":"score"' in body else Correction).model_validate_json(body)


def _apply(connection: Connection, record: ScoreLine | Correction, report: IngestReport) -> None:
    if isinstance(record, ScoreLine):
        changed = put_scores(connection, record.trace_id, [record])
        report.scores += changed
    else:
        changed = int(put_correction(connection, record))
        report.corrections += changed
    report.duplicates += not changed
