"""Read files of traces: unpacked, their text as UTF-8, by the source that knows them.

Workers can read them too: each reads a file and takes private text out, and whoever gave the command stores the records.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import BufferedReader, BytesIO
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

import orjson

from evergold import plugins
from evergold.errors import BadInput, NotFound
from evergold.ingest.prepare import RequestReader
from evergold.ingest.records import redact_all
from evergold.model.faults import Rejected
from evergold.model.operations import KEPT_PROBLEMS
from evergold.model.values import load_json
from evergold.seams import Incoming, OfUnits, Source
from evergold.settings import Settings
from evergold.sources import jsonl
from evergold.spread import Spread
from evergold.storage import location
from evergold.storage.charset import PARQUET
from evergold.storage.compression import note_on, read_as_utf8, unpack_stream

SNIFF = 64 * 1024
WIDE = 32 << 20  # of a file whose first document is longer than that: the keys that tell its format may come last


@contextmanager
def open_lines(path: Path, unit: str | None = None, name: str | None = None) -> Iterator["Lines"]:
    """Open a file, by the name that reports use."""
    with cast(BufferedReader, path.open("rb", buffering=SNIFF)) as handle:
        yield Lines(handle, name or str(path), unit)


class Lines:
    """The lines of a file that is open, which may be packed."""

    def __init__(self, handle: BinaryIO, name: str, unit: str | None = None) -> None:
        self.name = name
        self.source = ""  # the name of the source that reads it, once that is known
        self.unit = unit  # what becomes a trace of a log that holds several turns: task or turn
        buffered = handle if isinstance(handle, BufferedReader) else BufferedReader(BytesIO(handle.read()), SNIFF)
        self._text = read_as_utf8(unpack_stream(buffered, name), name)
        self._ahead = b""
        self._is_table = self._text.peek(len(PARQUET)).startswith(PARQUET)

    def read_by(
        self, source: str | None, sources: dict[str, Source], progress: Callable[[int], None]
    ) -> Iterator[Incoming | Rejected]:
        """What the source of that name reads, or the one that knows the file; `sources` are those of this call so far."""
        if self._is_table:
            # A table's rows, as the lines of JSON that they would be in such a file.
            from evergold.formats.tables import json_lines

            rows = json_lines(self._text, self.name)
            first = next(rows, b"")
            reader = self._source(first, source, sources)
            yield from self._read_guarded(reader, chain((first,), rows))
            progress(self._text.tell())
            return
        head = self._text.peek(SNIFF)
        if not head.strip():
            head = self._read_ahead()
        if nothing := jsonl.describe_nothing(head):
            yield Rejected(where=self.name, reason=nothing, is_note=True)
            return
        if source is None and not self._ahead and self._is_cut(head) and not self._is_claimed(head, sources):
            head = self._read_ahead()
        records = self._read_guarded(self._source(head, source, sources), self._lines(progress))
        # Native lines accept any JSON object: of a file that holds none of them, one line says what it is.
        yield from records if source or self.source != "native" else self._explain_unread(records, head)
        if note := note_on(self._text):
            yield Rejected(where=self.name, reason=note, is_note=True)

    def _read_ahead(self) -> bytes:
        self._ahead = self._text.read(WIDE)
        return self._ahead

    def _explain_unread(self, records: Iterator[Incoming | Rejected], head: bytes) -> Iterator[Incoming | Rejected]:
        """The records; where none of several could be read, one line for all of them."""
        refused: list[Rejected] = []
        number = 0
        for record in records:
            if not isinstance(record, Rejected):
                yield from (*refused, record)
                yield from records
                return
            number += 1
            refused += [record] if len(refused) < KEPT_PROBLEMS else []
        # A line of ours with one wrong field is named as such.
        if number and all(_is_foreign(one) for one in refused):
            many = f"none of its {number} lines is a trace" if number > 1 else "its line is no trace"
            reason = f"{many} ({refused[0].field or ''}: {refused[0].reason}); {jsonl.describe_head(head)}"
            yield Rejected(where=self.name, reason=reason.replace("(: ", "("), record=refused[0].record)
            refused = []
        yield from refused

    def _is_cut(self, head: bytes) -> bool:
        """Whether the first document of a file of JSON goes on behind its head."""
        if head.lstrip()[:1] not in (b"{", b"["):
            return False
        try:
            load_json(head.lstrip().partition(b"\n")[0])
        except orjson.JSONDecodeError:
            return True
        return False

    def _is_claimed(self, head: bytes, sources: dict[str, Source]) -> bool:
        return any(name != "native" for name, _ in self._list_claims(head, sources))

    def _list_claims(self, head: bytes, sources: dict[str, Source]) -> Iterator[tuple[str, Source]]:
        """The sources that know a file, native lines last: those accept any JSON object."""
        for name in sorted(plugins.names("sources"), key=lambda one: one == "native"):
            made = {name: sources[name]} if name in sources else plugins.load_all("sources", [name])
            for reader in made.values():
                if not head.strip() or plugins.try_call("sources", name, partial(reader.accepts, head), False):
                    yield name, reader

    def _lines(self, progress: Callable[[int], None]) -> Iterator[bytes]:
        """The lines of what was read ahead, the last one completed, and of the rest."""
        ahead = list(BytesIO(self._ahead))
        self._ahead = b""
        if ahead and not ahead[-1].endswith(b"\n"):
            ahead[-1] += self._text.readline(jsonl.LONGEST_DOCUMENT)
        for line in chain(ahead, iter(partial(self._text.readline, jsonl.LONGEST_DOCUMENT), b"")):
            if len(line) == jsonl.LONGEST_DOCUMENT and not line.endswith(b"\n"):
                raise jsonl.too_long(self.name, "a line")
            progress(len(line))
            yield line

    def _source(self, head: bytes, named: str | None, sources: dict[str, Source]) -> Source:
        """The source that was named, or the first that knows this file; native lines are asked last."""
        if named:
            chosen = [(named, sources.get(named) or plugins.load("sources", named))]
        for name, reader in chosen if named else self._list_claims(head, sources):
            self.source = name
            if name not in sources and self.unit is not None and isinstance(reader, OfUnits):
                reader = reader.with_unit(self.unit)
            return sources.setdefault(name, reader)
        known = ", ".join(plugins.names("sources"))
        looks = jsonl.describe_head(head)
        raise BadInput(f"{self.name}: none of the known formats ({known}): {looks}; name one with --source")

    def _read_guarded(self, reader: Source, lines: Iterable[bytes]) -> Iterator[Incoming | Rejected]:
        """Read by a source; one of another package that raises ends its file there, with what it read before."""
        try:
            with plugins.name_culprit("sources", self.source):
                yield from reader.read(lines, self.name)
        except BadInput as problem:
            if self.source not in plugins.foreign_names("sources"):
                raise
            yield Rejected(where=self.name, reason=f"{problem.message}; the rest of the file was not read")


def _is_foreign(refused: Rejected) -> bool:
    """Whether a line is none of ours: it names no type, and lacks the id or has a field that is not known."""
    strange = refused.field == "id" or refused.reason.startswith("unknown field")
    return strange and '"type"' not in (refused.record or "")[:100]


MOST_BYTES = 256 << 20
"""A larger file is read where the command runs, record by record: as one part it would be held whole, twice."""


@dataclass(frozen=True)
class FileReading:
    """How files are read: the source and unit that were asked for, and the settings of redaction."""

    source: str | None
    unit: str | None
    redaction: Settings


@dataclass
class ReadFile:
    """The records of a file, redacted, and what was redacted in them; `here` where the file must be read by the caller."""

    records: list[Incoming | Rejected] = field(default_factory=list)
    redacted: Counter[str] = field(default_factory=Counter)
    size: int = 0
    here: bool = False


def redaction_of(settings: Settings) -> Settings:
    """The settings that redaction needs, without the keys and passwords that others hold."""
    return Settings(
        redact_redactor=settings.redact_redactor,
        redact_ip_addresses=settings.redact_ip_addresses,
        redact_fields=settings.redact_fields,
    )


def read_files(spread: Spread, how: FileReading, files: Sequence[Path]) -> Iterator[tuple[Path, ReadFile]]:
    """Have workers read the files; gives each with its records, in order."""
    for path in files:
        require_file(path)
    parts = [(str(path.absolute()), str(path)) for path in files]
    yield from zip(files, spread(partial(read_file, how), parts), strict=True)


def read_file(how: FileReading, file: tuple[str, str]) -> ReadFile:
    """Read one file whole, given its absolute address and the name that reports use; what a worker does."""
    address, name = file
    path = location(address)
    require_file(path)
    if path.stat().st_size > MOST_BYTES:
        return ReadFile(here=True)
    cleaner = RequestReader(how.redaction).cleaner()
    sources: dict[str, Source] = {}
    read = ReadFile()

    def count(size: int) -> None:
        read.size += size

    with open_lines(path, how.unit, name) as lines:
        records = list(lines.read_by(how.source, sources, count))
    # A source that remembers one file for the next must see all of them, in order.
    if any(getattr(source, "remembers", False) for source in sources.values()):
        return ReadFile(here=True)
    read.records = redact_all(records, cleaner)
    read.redacted = cleaner.counts
    return read


def require_file(path: Path) -> None:
    if path.is_dir():
        raise BadInput(f"{str(path)!r} is a folder; name its files, as {str(path / '*.jsonl')!r} does")
    if not path.is_file():
        raise NotFound(f"no file {str(path)!r}; give a file of traces, or - for standard input")
