"""Traces in an archive: for each day Parquet files, and beside each a list that names its hash.

    URL/day=2026-01-05/part-8c1f….parquet     a row for each trace; what belongs to it as JSON text
    URL/day=2026-01-05/part-8c1f….json        how many, how large, the SHA-256 of the file

A part is there when its list is: the list is written last. Two writers never write one file. Where a trace is in several parts,
the newest part counts.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

import numpy as np
import orjson
from pydantic import BaseModel, ValidationError

from evergold.errors import BadInput, NotFound
from evergold.formats.atomic import FileSet
from evergold.formats.columns import arrow

FORMAT = 1
NUMBERS = {"duration_ms": "int64", "tokens": "int64", "cost": "float64"}
BATCH = 500

Record = dict[str, Any]


class ArchivePartList(BaseModel, frozen=True):
    """What one file of an archive holds."""

    format: int
    file: str
    traces: int
    bytes: int
    json_bytes: int
    sha256: str
    created_at: str


class _Hashed:
    """A file that is hashed while it is written."""

    closed = False

    def __init__(self, handle: BinaryIO) -> None:
        self._handle = handle
        self._digest = hashlib.sha256()
        self.bytes = 0

    def write(self, data: Any) -> int:
        self._handle.write(data)
        self._digest.update(data)
        size = memoryview(data).nbytes
        self.bytes += size
        return size

    def tell(self) -> int:
        return self.bytes

    def flush(self) -> None:
        self._handle.flush()

    # ParquetWriter closes its sink; FileSet has to sync and rename it first.
    def close(self) -> None:
        """Leave the file to whoever opened it."""

    def sha256(self) -> str:
        return self._digest.hexdigest()


def write_part(folder: Path, batches: Iterable[Sequence[Record]]) -> ArchivePartList | None:
    """Write records as a new part of a day; None where there is none. The part is there when this returns."""
    pyarrow, parquet = arrow()
    # A name of chance: two servers may archive the same day at once.
    name = f"part-{token_hex(8)}"
    traces = json_bytes = 0
    with FileSet() as files:
        out, writer = None, None
        for batch in batches:
            if out is None or writer is None:
                out = _Hashed(files.open(folder / f"{name}.parquet"))
                schema = _schema(pyarrow, batch[0])
                writer = parquet.ParquetWriter(
                    out, schema, compression="zstd", use_dictionary=["name", "status", "model"]
                )
            # Column by column with its declared type: inference would differ from batch to batch.
            made = [_column(pyarrow, [record[field.name] for record in batch], field.type) for field in schema]
            writer.write_batch(pyarrow.RecordBatch.from_arrays([column for column, _ in made], schema=schema))
            traces += len(batch)
            json_bytes += sum(size for _, size in made)
        if out is None or writer is None:
            return None
        writer.close()
        listed = ArchivePartList(
            format=FORMAT,
            file=f"{name}.parquet",
            traces=traces,
            bytes=out.bytes,
            json_bytes=json_bytes,
            sha256=out.sha256(),
            created_at=datetime.now(UTC).isoformat(timespec="microseconds"),
        )
        files.open(folder / f"{name}.json").write(listed.model_dump_json(indent=1).encode() + b"\n")
    return listed


def _column(pyarrow: Any, values: Sequence[Any], kind: Any) -> tuple[Any, int]:
    """A column of texts or numbers, and the bytes of its texts.

    Made of its buffers: `pyarrow.array` would load pandas, where that is installed.
    """
    there = np.array([value is not None for value in values])
    known = None if there.all() else pyarrow.py_buffer(np.packbits(there, bitorder="little"))
    if kind in (pyarrow.int64(), pyarrow.float64()):
        numbers = np.array([0 if value is None else value for value in values], kind.to_pandas_dtype())
        return pyarrow.Array.from_buffers(kind, len(values), [known, pyarrow.py_buffer(numbers)]), 0
    texts = _as_bytes(values)
    ends = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=ends[1:])
    buffers = [known, pyarrow.py_buffer(ends), pyarrow.py_buffer(b"".join(texts))]
    return pyarrow.Array.from_buffers(kind, len(texts), buffers), int(ends[-1])


def _as_bytes(values: Sequence[Any]) -> list[bytes]:
    """Texts, or lists as JSON, as the bytes that are stored; a column nearly always holds one kind of them."""
    if set(map(type, values)) <= {str, type(None)}:
        return [value.encode() if value else b"" for value in values]
    return [
        b"" if value is None else value.encode() if isinstance(value, str) else orjson.dumps(value) for value in values
    ]


def _schema(pyarrow: Any, row: Record) -> Any:
    # `large_string` has 64-bit offsets: the texts of one batch may be over 2 GB together.
    return pyarrow.schema([(name, getattr(pyarrow, NUMBERS.get(name, "large_string"))()) for name in row])


def days_in(archive: Path) -> list[str]:
    """The days that an archive has, oldest first."""
    folders = {path.parent.name for path in archive.glob("day=*/part-*.json")}
    return sorted(name.removeprefix("day=") for name in folders)


def folder_of(archive: Path, day: str) -> Path:
    return archive / f"day={day}"


def parts_of(folder: Path) -> list[ArchivePartList]:
    """The parts of a day, newest first."""
    parts = []
    for path in folder.glob("part-*.json"):
        try:
            part = ArchivePartList.model_validate_json(path.read_bytes())
        except ValidationError:
            raise BadInput(f"{path} is damaged: it is no list of a part; use another copy of it") from None
        if part.format != FORMAT:
            raise BadInput(f"{path} has format {part.format}, this program reads {FORMAT}; upgrade evergold")
        parts.append(part)
    # The file name breaks the tie of two parts written in the same microsecond.
    return sorted(parts, key=lambda part: (part.created_at, part.file), reverse=True)


def require_whole(folder: Path, part: ArchivePartList) -> None:
    """Compare a part with its hash."""
    path = folder / part.file
    if not path.is_file():
        raise NotFound(f"{path} is missing, though its list is there; use another copy of the archive")
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while block := handle.read(1 << 20):
            digest.update(block)
    if digest.hexdigest() != part.sha256:
        raise BadInput(f"{path} is damaged: it does not match its hash; use another copy of it")


def read_part(path: Path, columns: Sequence[str] | None = None, keep: Any = None) -> Iterator[list[Record]]:
    """The rows of a part, some at a time; `keep` takes a batch and says which rows are wanted."""
    pyarrow, parquet = arrow()
    try:
        with path.open("rb") as handle:
            for batch in parquet.ParquetFile(handle, pre_buffer=False).iter_batches(BATCH, columns=columns):
                yield (batch if keep is None else batch.filter(keep(batch))).to_pylist()
    except pyarrow.ArrowException as problem:
        raise BadInput(f"{path} is damaged: {str(problem).splitlines()[0]}; use another copy of it") from problem


def record_of(row: Record, lists: Sequence[str]) -> Record:
    """A row as the record that it was written from; `lists` are the columns that hold JSON."""
    return {name: orjson.loads(value) if name in lists and value else value for name, value in row.items()}


def remove_part(folder: Path, part: ArchivePartList) -> None:
    """Take a part out of an archive: its list first, so that no list is without its file."""
    (folder / part.file).with_suffix(".json").unlink(missing_ok=True)
    (folder / part.file).unlink(missing_ok=True)
