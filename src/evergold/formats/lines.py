"""JSON lines in and out: one record each, streamed, the file whole or not at all.

Whatever reads lines reads packed lines and Parquet tables too: `open_rows` gives the rows of a table as lines of JSON, with a
few hundred of them in memory at a time.
"""

from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from pydantic import ValidationError

from evergold.errors import BadInput, EvergoldError
from evergold.formats.atomic import FileSet
from evergold.model.case import Case
from evergold.model.faults import Rejected
from evergold.storage import open_read
from evergold.storage.compression import MOST_DENSE

BATCH = 100  # rows that are unpacked at once; a file of a kilobyte may hold a gigabyte that repeats itself
AT_ONCE = 16 << 20  # bytes of them that become objects of Python at once
LARGE = 64 << 20  # bytes of a column in a group of rows beyond which it must not be dense


def json_lines(handle: BinaryIO, name: str) -> Iterator[bytes]:
    """Each row as an object; a cell that is empty is left out."""
    pyarrow, parquet = arrow()
    if not handle.seekable():
        raise BadInput(f"{name}: a Parquet file cannot be read from a pipe; give its name")
    number = 0
    try:
        table = parquet.ParquetFile(handle, pre_buffer=False)
        _require_plain(table.metadata, name)
        # As a dictionary, a long text that repeats itself is unpacked once and not for each of its rows.
        texts = [field.name for field in table.schema_arrow if pyarrow.types.is_string(field.type)]
        handle.seek(0)
        table = parquet.ParquetFile(handle, pre_buffer=False, read_dictionary=texts)
        plain = pyarrow.schema([field.with_type(_in_microseconds(field.type, pyarrow)) for field in table.schema_arrow])
        for batch in table.iter_batches(BATCH, use_threads=False):
            # `safe=False` cuts nanoseconds to microseconds; a safe cast would refuse the file for them.
            for part in _parts(pyarrow.Table.from_batches([batch])):
                for row in part.cast(plain, safe=False).to_pylist():
                    number += 1
                    yield (
                        orjson.dumps({key: cell for key, cell in row.items() if cell is not None}, default=_text)
                        + b"\n"
                    )
    except pyarrow.ArrowException as problem:
        reason = str(problem).splitlines()[0]
        raise BadInput(f"{name}: no Parquet file that can be read, behind row {number}: {reason}") from problem


def _require_plain(metadata: Any, name: str) -> None:
    """Refuse a table that holds more than anybody's data would: a cell is unpacked whole, whatever its size."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    columns = (group.column(number) for group in groups for number in range(group.num_columns))
    for column in columns:
        size = column.total_uncompressed_size
        if size > LARGE and size > MOST_DENSE * column.total_compressed_size:
            raise BadInput(
                f"{name}: column {column.path_in_schema!r} unpacks to {size:,} bytes, more than {MOST_DENSE} times its packed "
                "size; write it in smaller row groups"
            )


def _parts(table: Any) -> Iterator[Any]:
    """The rows of a table, fewer at once where they are large."""
    rows = max(1, min(table.num_rows * AT_ONCE // max(1, table.nbytes), AT_ONCE // max(1, _longest(table))))
    return (table.slice(start, rows) for start in range(0, table.num_rows, rows))


def _longest(table: Any) -> int:
    """The length of the longest text of a table that is kept once for all rows that hold it."""
    from pyarrow import compute

    kept = [chunk.dictionary for column in table.columns for chunk in column.chunks if hasattr(chunk, "dictionary")]
    return max((compute.max(compute.binary_length(texts)).as_py() or 0 for texts in kept if len(texts)), default=0)


def _in_microseconds(kind: Any, pyarrow: Any) -> Any:
    """The type with its times in microseconds, which is what times in Python have."""
    if pyarrow.types.is_dictionary(kind):
        return kind.value_type
    if pyarrow.types.is_timestamp(kind):
        return pyarrow.timestamp("us", kind.tz)
    if pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind):
        return pyarrow.list_(_in_microseconds(kind.value_type, pyarrow))
    if pyarrow.types.is_struct(kind):
        return pyarrow.struct([part.with_type(_in_microseconds(part.type, pyarrow)) for part in kind])
    return kind


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def arrow() -> tuple[Any, Any]:
    """pyarrow and its Parquet part, or which extra brings them."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError as problem:
        raise BadInput("Parquet needs pyarrow: pip install 'evergold[export]'") from problem
    return pyarrow, parquet


PARQUET = b"PAR1"


@contextmanager
def open_rows(path: Path) -> Iterator[Iterable[bytes]]:
    """The lines of a file or object; of a table, its rows as lines of JSON."""
    with open_read(path) as handle:
        if handle.peek(len(PARQUET)).startswith(PARQUET):
            yield json_lines(handle, str(path))
        else:
            yield handle


Record = dict[str, Any]


def write_lines(records: Iterable[Record], path: Path) -> int:
    count = 0
    with FileSet() as files:
        out = files.open(path)
        for record in records:
            out.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
            count += 1
    return count


def read_lines(path: Path, case_of: Callable[[Record], Case]) -> Iterator[Case | Rejected]:
    """Each line's case; a line that gives none is rejected by number, and the rest is read."""
    for number, line in numbered_lines(path):
        yield one_case(line, f"{path.name}:{number}", case_of)


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that hold something, without the byte order mark that some editors put in front."""
    with open_rows(path) as handle:
        for number, line in enumerate(handle, 1):
            bare = (line.removeprefix(BOM_UTF8) if number == 1 else line).strip()
            if bare:
                yield number, bare


def record_in(line: bytes) -> Record:
    """Read the JSON object that a line holds."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as problem:
        raise BadInput(f"not JSON: {problem}") from problem
    if not isinstance(record, dict):
        raise BadInput(f"a JSON {type(record).__name__}, not an object")
    return record


def one_case(line: bytes, where: str, case_of: Callable[[Record], Case]) -> Case | Rejected:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as problem:
        return Rejected(where=where, reason=f"not JSON: {problem}")
    if not isinstance(record, dict):
        return Rejected(where=where, reason=f"expected an object, got {type(record).__name__}")
    return try_line(record, where, case_of)


def try_line(record: Record, where: str, case_of: Callable[[Record], Case]) -> Case | Rejected:
    """The case of one record, or what is wrong with it."""
    try:
        return case_of(record)
    except ValidationError as problem:
        return Rejected.of(problem, where, Case)
    # KeyError comes before ValueError for its own words: str() of it is the bare key.
    except KeyError as problem:
        return Rejected(where=where, reason=f"the record has no {problem}")
    # A list where the format has an object, and the like: files come from anywhere.
    except (TypeError, AttributeError, IndexError) as problem:
        return Rejected(where=where, reason=f"a value is not of the kind this format has there ({problem})")
    except (EvergoldError, ValueError) as problem:
        return Rejected(where=where, reason=str(problem))


def object_in(text: bytes) -> Record:
    """The JSON object that a text is; empty when it is none."""
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return record if isinstance(record, dict) else {}


def first_record(head: bytes) -> Record:
    """The first line as an object, for recognising a format; empty when it is none."""
    return object_in(head.removeprefix(BOM_UTF8).lstrip().split(b"\n", 1)[0])
