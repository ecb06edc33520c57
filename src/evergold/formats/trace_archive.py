"""Traces in an archive: for each day Parquet files, and beside each a list that names its hash.

    URL/day=2026-01-05/part-8c1f….parquet     a row for each trace, its spans as a list; what else belongs to it as JSON text
    URL/day=2026-01-05/part-8c1f….json        how many, how large, the SHA-256 of the file

A part is there when its list is: the list is written last. Two writers never write one file. Where a trace is in several parts,
the newest part counts.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import orjson
from pydantic import BaseModel, ValidationError

from evergold.errors import BadInput, NotFound
from evergold.formats.atomic import FileSet
from evergold.formats.columns import arrow

FORMAT = 2
READABLE = (1, FORMAT)  # the first format held the spans of a trace as JSON text too
NUMBERS = {"duration_ms": "int64", "tokens": "int64", "cost": "float64", "shared": "int64"}
BATCH = 500
WORDS, TIMES = ["name", "status", "model"], ["started_at"]

Record = dict[str, Any]


class Nested(NamedTuple):
    """A column of lists: how many items each row has, and the columns of all items one after the other."""

    counts: Sequence[int]
    items: Mapping[str, Sequence[Any]]


Columns = Mapping[str, Sequence[Any] | Nested]


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


def columns_of(records: Sequence[Record], nested: str, names: Sequence[str]) -> Columns:
    """Records as columns; that called `nested` holds lists of records, which have these names."""
    columns: dict[str, Sequence[Any] | Nested] = {name: [record[name] for record in records] for name in records[0]}
    items = [item for record in records for item in record[nested]]
    counts = [len(record[nested]) for record in records]
    columns[nested] = Nested(counts, {name: [item[name] for item in items] for name in names})
    return columns


def write_part(folder: Path, batches: Iterable[Columns]) -> ArchivePartList | None:
    """Write rows as a new part of a day; None where there is none. The part is there when this returns."""
    pyarrow, parquet = arrow()
    # A name of chance: two servers may archive the same day at once.
    name = f"part-{token_hex(8)}"
    traces = json_bytes = 0
    with FileSet() as files:
        out, writer = None, None
        for batch in batches:
            if out is None or writer is None:
                out = _Hashed(files.open(folder / f"{name}.parquet"))
                schema = pyarrow.schema([(column, _kind(pyarrow, column, batch[column])) for column in batch])
                # Statistics of the time alone: the shortest and longest texts of people have no use in the footer.
                writer = parquet.ParquetWriter(
                    out, schema, compression="zstd", use_dictionary=WORDS, write_statistics=TIMES
                )
            # Column by column with its declared type: inference would differ from batch to batch.
            made = [_column(pyarrow, batch[field.name], field.type) for field in schema]
            rows = pyarrow.RecordBatch.from_arrays([column for column, _ in made], schema=schema)
            writer.write_batch(rows)
            traces += rows.num_rows
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


def _column(pyarrow: Any, values: Sequence[Any] | Nested, kind: Any) -> tuple[Any, int]:
    """A column of texts, numbers or lists, and the bytes of its texts.

    Made of its buffers: `pyarrow.array` would load pandas, where that is installed.
    """
    if isinstance(values, Nested):
        items = kind.value_type
        made = [_column(pyarrow, values.items.get(field.name, ()), field.type) for field in items]
        of_items = pyarrow.StructArray.from_arrays([column for column, _ in made], fields=list(items))
        buffers = [None, pyarrow.py_buffer(_ends(values.counts))]
        return (
            pyarrow.Array.from_buffers(kind, len(values.counts), buffers, children=[of_items]),
            sum(size for _, size in made),
        )
    known = None
    if missing := values.count(None):
        if missing == len(values):
            return pyarrow.nulls(missing, kind), 0
        there = np.array([value is not None for value in values])
        known = pyarrow.py_buffer(np.packbits(there, bitorder="little"))
    if kind in (pyarrow.int64(), pyarrow.float64()):
        numbers = np.array([0 if value is None else value for value in values], kind.to_pandas_dtype())
        return pyarrow.Array.from_buffers(kind, len(values), [known, pyarrow.py_buffer(numbers)]), 0
    sizes, data = _texts(values, some_are_missing=known is not None)
    buffers = [known, pyarrow.py_buffer(_ends(sizes)), pyarrow.py_buffer(data)]
    return pyarrow.Array.from_buffers(kind, len(values), buffers), len(data)


def _ends(sizes: Sequence[int]) -> Any:
    ends = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(np.fromiter(sizes, np.int64, len(sizes)), out=ends[1:])
    return ends


def _texts(values: Sequence[Any], *, some_are_missing: bool) -> tuple[Sequence[int], bytes]:
    """The bytes of a column of texts, or of lists as JSON, one after the other, and the size of each."""
    texts: Sequence[Any] = ["" if value is None else value for value in values] if some_are_missing else values
    if set(map(type, texts)) <= {str}:
        joined = "".join(texts)
        # Mostly so, and then the size of a text is its length: they are made bytes all at once.
        if joined.isascii():
            return list(map(len, texts)), joined.encode()
        encoded = [value.encode() for value in texts]
    else:
        encoded = [value.encode() if isinstance(value, str) else orjson.dumps(value) for value in texts]
    return list(map(len, encoded)), b"".join(encoded)


def _kind(pyarrow: Any, name: str, values: Sequence[Any] | Nested) -> Any:
    if isinstance(values, Nested):
        items = [(item, _kind(pyarrow, item, column)) for item, column in values.items.items()]
        return pyarrow.large_list(pyarrow.struct(items))
    # `large_string` has 64-bit offsets: the texts of one batch may be over 2 GB together.
    return getattr(pyarrow, NUMBERS.get(name, "large_string"))()


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
        if part.format not in READABLE:
            known = " and ".join(map(str, READABLE))
            raise BadInput(f"{path} has format {part.format}, this program reads {known}; upgrade evergold")
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
                yield _rows(batch if keep is None else batch.filter(keep(batch)))
    except pyarrow.ArrowException as problem:
        raise BadInput(f"{path} is damaged: {str(problem).splitlines()[0]}; use another copy of it") from problem


def _rows(batch: Any) -> list[Record]:
    """The rows of a batch; lists column by column, because `to_pylist` makes an object for every value on the way."""
    columns = [_lists(column) if hasattr(column, "flatten") else column.to_pylist() for column in batch.columns]
    return [dict(zip(batch.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]


def _lists(column: Any) -> list[list[Record]]:
    items = column.flatten()
    names = [field.name for field in items.type]
    rows = [
        dict(zip(names, row, strict=True))
        for row in zip(*(items.field(number).to_pylist() for number in range(len(names))), strict=True)
    ]
    ends = column.offsets.to_pylist()
    return [rows[start - ends[0] : end - ends[0]] for start, end in pairwise(ends)]


def record_of(row: Record, lists: Sequence[str]) -> Record:
    """A row as the record that it was written from; `lists` are the columns that hold JSON."""
    return {
        name: orjson.loads(value) if name in lists and value and isinstance(value, str) else value
        for name, value in row.items()
    }


def remove_part(folder: Path, part: ArchivePartList) -> None:
    """Take a part out of an archive: its list first, so that no list is without its file."""
    (folder / part.file).with_suffix(".json").unlink(missing_ok=True)
    (folder / part.file).unlink(missing_ok=True)
