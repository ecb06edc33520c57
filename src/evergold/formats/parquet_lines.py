"""A Parquet file as lines of JSON, so that whatever reads lines reads tables too. A few hundred rows are in memory at a time."""

from collections.abc import Iterator
from typing import Any, BinaryIO

import orjson

from evergold.errors import BadInput
from evergold.formats.columns import arrow

BATCH = 100  # rows that are unpacked at once; a file of a kilobyte may hold a gigabyte that repeats itself
AT_ONCE = 32 << 20  # bytes of them that become objects of Python at once


def json_lines(handle: BinaryIO, name: str) -> Iterator[bytes]:
    """Each row as an object; a cell that is empty is left out."""
    pyarrow, parquet = arrow()
    if not handle.seekable():
        raise BadInput(f"{name}: a Parquet file cannot be read from a pipe; give its name")
    number = 0
    try:
        table = parquet.ParquetFile(handle, pre_buffer=False)
        plain = pyarrow.schema([field.with_type(_in_microseconds(field.type, pyarrow)) for field in table.schema_arrow])
        for batch in table.iter_batches(BATCH, use_threads=False):
            # `safe=False` cuts nanoseconds to microseconds; a safe cast would refuse the file for them.
            for part in _parts(pyarrow.Table.from_batches([batch]).cast(plain, safe=False)):
                for row in part.to_pylist():
                    number += 1
                    yield (
                        orjson.dumps({key: cell for key, cell in row.items() if cell is not None}, default=_text)
                        + b"\n"
                    )
    except pyarrow.ArrowException as problem:
        reason = str(problem).splitlines()[0]
        raise BadInput(f"{name}: no Parquet file that can be read, behind row {number}: {reason}") from problem


def _parts(table: Any) -> Iterator[Any]:
    """The rows of a table, fewer at once where they are large."""
    rows = max(1, table.num_rows * AT_ONCE // max(1, table.nbytes))
    return (table.slice(start, rows) for start in range(0, table.num_rows, rows))


def _in_microseconds(kind: Any, pyarrow: Any) -> Any:
    """The type with its times in microseconds, which is what times in Python have."""
    if pyarrow.types.is_timestamp(kind):
        return pyarrow.timestamp("us", kind.tz)
    if pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind):
        return pyarrow.list_(_in_microseconds(kind.value_type, pyarrow))
    if pyarrow.types.is_struct(kind):
        return pyarrow.struct([part.with_type(_in_microseconds(part.type, pyarrow)) for part in kind])
    return kind


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
