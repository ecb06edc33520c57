"""Traces in an archive: for each day Parquet files, and beside each a manifest that names its hash.

    URL/day=2026-01-05/part-8c1f….parquet     a row for each trace: plain columns, spans as a list, the rest as JSON text
    URL/day=2026-01-05/part-8c1f….json        how many, how large, the SHA-256 of the file

A part exists when its manifest does: that is written last. Two writers never write one file. Where a trace is in several
parts, the newest part counts. Records of earlier formats are read as they are; `store.archive` brings them up to date.
"""

import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

from pydantic import BaseModel, ValidationError

from evergold.errors import BadInput, NotFound
from evergold.formats.atomic import FileSet
from evergold.formats.tables import arrow, read_rows

FORMAT = 3
READABLE = (
    1,
    2,
    FORMAT,
)  # in the first, spans were JSON text; in the second, texts were shared between trace and spans
NUMBERS = {"duration_ms": "int64", "tokens": "int64", "cost": "float64", "priced": "int64"}
FILTERED = ["id", "session_id", "user_id", "name", "status", "model", "started_at"]  # what people ask for
SPAN = (
    *("id", "parent_id", "name", "kind", "input_text", "output_text", "status", "started_at", "ended_at"),
    *("metadata", "raw"),
)
BATCH = 500

Record = dict[str, Any]


class PartManifest(BaseModel, frozen=True):
    """What one file of an archive holds."""

    format: int
    file: str
    traces: int
    bytes: int
    sha256: str
    created_at: str


def write_part(folder: Path, records: Sequence[Record], created_at: str = "") -> PartManifest:
    """Write records as a new part of a day; it exists when this returns. A part that replaces another keeps its time."""
    pyarrow, parquet = arrow()
    # A random name: two servers may archive the same day at once.
    name = f"part-{token_hex(8)}"
    created_at = created_at or datetime.now(UTC).isoformat(timespec="microseconds")
    # Declared and not inferred: a column that is all null would get the type null. `large_string` may exceed 2 GB.
    kinds = {column: getattr(pyarrow, kind)() for column, kind in NUMBERS.items()}
    kinds["spans"] = pyarrow.list_(pyarrow.struct([(column, pyarrow.large_string()) for column in SPAN]))
    columns = [column for column in records[0] if column != "archived_at"]  # a part that is written anew has it
    schema = pyarrow.schema([(column, kinds.get(column, pyarrow.large_string())) for column in columns])
    table = pyarrow.Table.from_pylist(records, schema)
    # For those who ask the files: of a trace that is in several parts, the newest counts.
    table = table.append_column("archived_at", pyarrow.repeat(created_at, len(records)))
    data = pyarrow.BufferOutputStream()
    parquet.write_table(
        table, data, BATCH, compression="zstd", use_dictionary=[*FILTERED, "archived_at"], write_statistics=FILTERED
    )
    content = data.getvalue()
    part = PartManifest(
        format=FORMAT,
        file=f"{name}.parquet",
        traces=len(records),
        bytes=content.size,
        sha256=hashlib.sha256(content).hexdigest(),
        created_at=created_at,
    )
    with FileSet(private=True) as files:
        files.open(folder / part.file).write(content)
        files.open(folder / f"{name}.json").write(part.model_dump_json(indent=1).encode() + b"\n")
    return part


def list_days(archive: Path) -> list[str]:
    """List the days that an archive has, oldest first."""
    folders = {path.parent.name for path in archive.glob("day=*/part-*.json")}
    return sorted(name.removeprefix("day=") for name in folders)


def folder_of(archive: Path, day: str) -> Path:
    return archive / f"day={day}"


def list_parts(folder: Path) -> list[PartManifest]:
    """Read the manifests of a day's parts, newest first."""
    parts = []
    for path in folder.glob("part-*.json"):
        try:
            part = PartManifest.model_validate_json(path.read_bytes())
        except ValidationError:
            raise BadInput(f"{path} is damaged: it is no manifest of a part; use another copy of it") from None
        if part.format not in READABLE:
            known = ", ".join(map(str, READABLE))
            raise BadInput(f"{path} has format {part.format}, this program reads {known}; upgrade evergold")
        parts.append(part)
    # The file name breaks the tie of two parts written in the same microsecond.
    return sorted(parts, key=lambda part: (part.created_at, part.file), reverse=True)


def require_whole(folder: Path, part: PartManifest) -> None:
    """Compare a part with its hash."""
    path = folder / part.file
    if not path.is_file():
        raise NotFound(f"{path} is missing, though its manifest is there; use another copy of the archive")
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while block := handle.read(1 << 20):
            digest.update(block)
    if digest.hexdigest() != part.sha256:
        raise BadInput(f"{path} is damaged: it does not match its hash; use another copy of it")


def read_part(path: Path, columns: Sequence[str] | None = None) -> Iterator[list[Record]]:
    """Read the records of a part, some at a time; all columns, or these."""
    try:
        with path.open("rb") as handle:
            yield from read_rows(handle, path.name, columns)
    except BadInput as problem:
        raise BadInput(f"{path} is damaged: {problem.message}; use another copy of it") from problem


def remove_part(folder: Path, part: PartManifest) -> None:
    """Take a part out of an archive: its manifest first, so that no manifest is without its file."""
    (folder / part.file).with_suffix(".json").unlink(missing_ok=True)
    (folder / part.file).unlink(missing_ok=True)
