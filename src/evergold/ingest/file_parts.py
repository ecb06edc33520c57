"""Files of traces as parts of work: a worker reads a file and takes private text out; whoever gave the command stores it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import cast

from evergold.errors import NotFound
from evergold.ingest.open_file import SNIFF, Lines
from evergold.ingest.prepare import RequestReader
from evergold.ingest.redact_records import redact_all
from evergold.model.rejected import Rejected
from evergold.seams import Incoming, Source
from evergold.settings import Settings
from evergold.spread import Spread
from evergold.storage import location

MOST_BYTES = 256 << 20
"""A larger file is read where the command runs, record by record: as one part it would be held whole, twice."""


@dataclass(frozen=True)
class FileReading:
    """How files are read: the source and unit that were asked for, and the settings of redaction."""

    source: str | None
    unit: str | None
    redaction: Settings


@dataclass(frozen=True)
class NamedFile:
    """A file by its absolute address, and by the name that reports use."""

    address: str
    name: str


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
    parts = [NamedFile(str(path.absolute()), str(path)) for path in files]
    yield from zip(files, spread(partial(read_file, how), parts), strict=True)


def read_file(how: FileReading, file: NamedFile) -> ReadFile:
    """Read one file whole; what a worker does."""
    path = location(file.address)
    require_file(path)
    if path.stat().st_size > MOST_BYTES:
        return ReadFile(here=True)
    cleaner = RequestReader(how.redaction).cleaner()
    sources: dict[str, Source] = {}
    read = ReadFile()

    def count(size: int) -> None:
        read.size += size

    with cast(BufferedReader, path.open("rb", buffering=SNIFF)) as handle:
        records = list(Lines(handle, file.name, how.unit).read_by(how.source, sources, count))
    # A source that remembers one file for the next must see all of them, in order.
    if any(getattr(source, "remembers", False) for source in sources.values()):
        return ReadFile(here=True)
    read.records = redact_all(records, cleaner)
    read.redacted = cleaner.counts
    return read


def require_file(path: Path) -> None:
    if not path.is_file():
        raise NotFound(f"no file {str(path)!r}; give a file of traces, or - for standard input")
