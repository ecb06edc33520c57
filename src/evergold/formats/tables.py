"""Parquet tables as lines of JSON, a few hundred rows in memory at a time, whatever the file claims.

A file of a kilobyte may hold gigabytes: a page that packs well, a text that is stored once and meant in each row, a list of a
billion nulls in one row. The sizes in the footer are only what the writer claims, so the headers of the pages are read first:
Arrow asks for memory by them. Texts are kept as a dictionary until their row is given out, and a row that would be longer than
any record ends the reading, unless the file itself is large.
"""

from collections.abc import Iterator, Sequence
from os import SEEK_END
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import orjson

from evergold.errors import BadInput
from evergold.storage.compression import MOST_DENSE

PARQUET = b"PAR1"
BATCH = 100  # rows that are unpacked at once
AT_ONCE = 4 << 20  # bytes of them that become objects of Python at once; a longer row must not be dense
LARGE = 32 << 20  # bytes of the pages of a group of rows, and of the values of a list, that any table may have
DENSE_PAGES = 10  # times the packed size of their group, which larger pages may have
DENSE_LISTS = 100  # likewise for the values of lists
VALUE = 16  # bytes that a value without a length of its own takes at least
LONGEST_HEADER = 1 << 20
TOO_DENSE = f"more than {MOST_DENSE} times the size of the file; write shorter rows"
DATA, DICTIONARY, DATA_V2 = 0, 2, 3
DELTA_LENGTHS, DELTA_TEXTS = DELTA = (6, 7)  # encodings of texts; the second repeats in few bytes what it does not hold


def json_lines(handle: BinaryIO, name: str) -> Iterator[bytes]:
    """Each row as an object on a line; a cell that is empty is left out."""
    for rows in read_rows(handle, name):
        rows.reverse()
        while rows:  # a loop over the list would hold the row, and a large one is to be held once
            filled = {key: cell for key, cell in rows.pop().items() if cell is not None}
            line = orjson.dumps(filled, default=_text, option=orjson.OPT_APPEND_NEWLINE)
            del filled
            yield line


def read_rows(handle: BinaryIO, name: str, wanted: Sequence[str] | None = None) -> Iterator[list[dict[str, Any]]]:
    """The rows of a table, some at a time; all columns, or these."""
    pyarrow, parquet = arrow()
    if not handle.seekable():
        raise BadInput(f"{name}: a Parquet file cannot be read from a pipe; give its name")
    number = 0
    try:
        metadata = parquet.ParquetFile(handle, pre_buffer=False).metadata
        columns = [metadata.schema.column(at) for at in range(metadata.num_columns)]
        # As a dictionary, a long text that repeats itself is unpacked once and not for each of its rows.
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        texts = [
            column.path
            for at, column in enumerate(columns)
            # Arrow reads delta encodings in no other way than value by value.
            if column.physical_type == "BYTE_ARRAY"
            and not any("DELTA" in str(one.column(at).encodings) for one in groups)
            and any(_repeats(handle, name, one.column(at)) for one in groups)
        ]
        size = handle.seek(0, SEEK_END)
        handle.seek(0)
        table = parquet.ParquetFile(handle, pre_buffer=False, read_dictionary=texts)
        plain = {field.name: field.with_type(_plain_type(field.type, pyarrow)) for field in table.schema_arrow}
        for number_of_group, group in enumerate(groups):
            at_once = _rows_at_once(handle, name, group, columns, size)
            batches = table.iter_batches(at_once, row_groups=[number_of_group], columns=wanted, use_threads=False)
            while (batch := next(batches, None)) is not None:
                if group.num_rows <= at_once:
                    batches = iter(())  # the reader would hold the pages of the group
                schema = pyarrow.schema([plain[field] for field in batch.schema.names])
                waiting = list(_parts(pyarrow.Table.from_batches([batch]), size, f"{name}, row {number + 1} or later"))
                waiting.reverse()
                del batch  # it would be held while its rows are used, as a part by a loop over the list
                while waiting:
                    number += waiting[-1].num_rows
                    rows = _rows_of(waiting.pop(), schema)
                    if len(rows) == 1:
                        pyarrow.default_memory_pool().release_unused()
                    yield rows
                    del rows
    except (pyarrow.ArrowException, OSError) as problem:
        reason = (str(problem).splitlines() or [type(problem).__name__])[0]
        raise BadInput(f"{name}: no Parquet file that can be read, behind row {number}: {reason}") from problem


class _Page(NamedTuple):
    """What a page says of itself: bytes as it is stored and as it is read, values, and how they are written."""

    kind: int
    packed: int
    unpacked: int
    values: int
    encoding: int


def _repeats(handle: BinaryIO, name: str, chunk: Any) -> bool:
    """Whether the texts of a column in a group of rows may mean the same text of its dictionary."""
    if not chunk.has_dictionary_page or chunk.total_uncompressed_size <= AT_ONCE:
        return bool(chunk.has_dictionary_page)
    pages = list(_pages(handle, name, chunk))
    return sum(page.values for page in pages) > 2 * sum(page.values for page in pages if page.kind == DICTIONARY)


def _rows_of(table: Any, schema: Any) -> list[dict[str, Any]]:
    """The rows of a table; a large text is made of the bytes of Arrow without a copy between."""
    if table.num_rows != 1 or table.nbytes <= AT_ONCE:
        # `safe=False` cuts nanoseconds to microseconds; a safe cast would refuse the file for them.
        rows: list[dict[str, Any]] = table.cast(schema, safe=False).to_pylist()
        return rows
    row: dict[str, Any] = {}
    for field in schema:
        (cell,) = table.column(field.name).chunks
        if cell.null_count or str(field.type) != "string":
            row[field.name] = cell.cast(field.type, safe=False)[0].as_py()
            continue
        number = 0
        if hasattr(cell, "dictionary"):
            number, cell = cell.indices[0].as_py(), cell.dictionary
        _, ends, texts = cell.buffers()
        first, last = memoryview(ends).cast("i")[cell.offset + number :][:2]
        row[field.name] = str(memoryview(texts)[first:last], "utf-8")
    return [row]


def _rows_at_once(handle: BinaryIO, name: str, group: Any, columns: list[Any], file_size: int) -> int:
    """How many rows of a group are read together. Raises `BadInput` for one that holds more than anybody's data would."""
    held = packed = 0
    rows = BATCH
    for at, column in enumerate(columns):
        chunk = group.column(at)
        pages = list(_pages(handle, name, chunk))
        data = [page for page in pages if page.kind != DICTIONARY]
        longest = max((page.unpacked // max(1, page.values) for page in pages), default=0)
        if longest > AT_ONCE and longest > MOST_DENSE * file_size:
            raise BadInput(f"{name}: a row unpacks to {longest:,} bytes or more, {TOO_DENSE}")
        held += sum(max((page.unpacked for page in some), default=0) for some in (data, [*set(pages) - set(data)]))
        packed += sum(page.packed for page in pages)
        is_list = column.max_repetition_level > 0
        _check_values(f"{name}: column {chunk.path_in_schema!r}", pages, is_list, max(VALUE, column.length or 0))
        if any(page.encoding in DELTA for page in data):
            # Each text may be the one before it once more, or a text of the dictionary.
            rows = min(rows, max(1, AT_ONCE // max(1, *(page.unpacked for page in pages))))
    if held > LARGE and held > DENSE_PAGES * packed:
        raise BadInput(
            f"{name}: a group of rows unpacks to {held:,} bytes or more, over {DENSE_PAGES} times its packed size; "
            "write it with smaller pages or row groups"
        )
    return rows


def _check_values(what: str, pages: list[_Page], is_list: bool, width: int) -> None:
    """Refuse values that few bytes stand for: one row of a list may have all of them."""
    data = [page for page in pages if page.kind != DICTIONARY]
    delta = [page for page in data if page.encoding in DELTA]
    if is_list and delta and (len(data) < len(pages) or any(page.encoding == DELTA_TEXTS for page in delta)):
        raise BadInput(f"{what} is a list of texts in delta encoding; write it with dictionary or plain encoding")
    values = sum(page.values for page in data) if is_list else max(BATCH, *(page.values for page in delta), 0)
    if values * width > LARGE and values * width > DENSE_LISTS * sum(page.packed for page in data):
        raise BadInput(f"{what} unpacks to {values * width:,} bytes, over {DENSE_LISTS} times its packed size")


def _pages(handle: BinaryIO, name: str, chunk: Any) -> Iterator[_Page]:
    """The pages of a column in a group of rows, found as Arrow finds them."""
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < at:
        at = chunk.dictionary_page_offset
    end, seen = at + chunk.total_compressed_size, 0
    while seen < chunk.num_values and at < end:
        fields, length = _header(handle, name, at)
        kind, unpacked, packed = (fields.get(number, -1) for number in (1, 2, 3))
        inner = fields.get({DATA: 5, DICTIONARY: 7, DATA_V2: 8}.get(kind, 0), {1: 0})
        values, encoding = inner.get(1, -1), inner.get(4 if kind == DATA_V2 else 2, 0)
        if min(unpacked, packed, values) < 0 or (kind == DICTIONARY and values > unpacked):
            raise BadInput(f"{name}: column {chunk.path_in_schema!r} has a damaged page at byte {at:,}")
        yield _Page(kind, packed, unpacked, values, encoding)
        seen += values if kind != DICTIONARY else 0
        at += length + packed


def _header(handle: BinaryIO, name: str, at: int) -> tuple[dict[int, Any], int]:
    """The fields of the header of a page by their numbers, and its length."""
    wanted = 256
    while wanted <= LONGEST_HEADER:
        handle.seek(at)
        data = handle.read(wanted)
        try:
            return _read_struct(data, 0)
        except IndexError:  # it goes on behind what was read
            if len(data) < wanted:
                break
            wanted *= 16
        except ValueError:
            break
    raise BadInput(f"{name}: no Parquet file that can be read: there is no page at byte {at:,}")


def _read_struct(data: bytes, at: int) -> tuple[dict[int, Any], int]:
    """The fields of a structure of Thrift's compact protocol, as far as headers of pages use it, and where it ends."""
    fields: dict[int, Any] = {}
    number = 0
    while head := data[at]:
        at += 1
        kind, step = head & 15, head >> 4
        if step:
            number += step
        else:
            number, at = _read_number(data, at)
        match kind:
            case 1 | 2:
                fields[number] = kind == 1
            case 3:
                at += 1
            case 4 | 5 | 6:
                fields[number], at = _read_number(data, at)
            case 7:
                at += 8
            case 8:
                size, at = _read_varint(data, at)
                at += size
            case 12:
                fields[number], at = _read_struct(data, at)
            case _:
                raise ValueError(f"no header of a page has a field of kind {kind}")
    return fields, at + 1


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    coded, at = _read_varint(data, at)
    return (coded >> 1) ^ -(coded & 1), at


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
    raise ValueError("no number is that long")


def _parts(table: Any, file_size: int, where: str) -> Iterator[Any]:
    """The rows of a table, fewer at once where they are large; one that is larger than any record is refused."""
    # The length of the longest text that is held once for all rows that mean it.
    longest = max((_longest_in(chunk) for column in table.columns for chunk in column.chunks), default=0)
    if table.nbytes // 4 * max(1, longest) <= AT_ONCE:
        yield table
        return
    start = held = 0
    columns = (np.concatenate([_sizes(chunk) for chunk in column.chunks]) for column in table.columns if len(column))
    sizes: list[int] = sum(columns, np.zeros(table.num_rows, np.int64)).tolist()
    for at, size in enumerate(sizes):
        if size > AT_ONCE and size > MOST_DENSE * file_size:
            raise BadInput(f"{where}: a row unpacks to {size:,} bytes, {TOO_DENSE}")
        if held + size > AT_ONCE and at > start:
            yield table.slice(start, at - start)
            start, held = at, 0
        held += size
    yield table.slice(start)


def _longest_in(array: Any) -> int:
    if hasattr(array, "dictionary"):
        return int(_lengths(array.dictionary).max(initial=0))
    if hasattr(array, "offsets"):
        return _longest_in(array.values)
    return max(map(_longest_in, array.flatten()), default=0) if hasattr(array, "field") else VALUE


# The buffers are read, because what pyarrow makes of numbers of Python and numpy loads pandas, which takes 45 MB.
def _numbers(array: Any) -> Any:
    return np.frombuffer(array.buffers()[1], str(array.type))[array.offset :][: len(array)]


def _lengths(texts: Any) -> Any:
    ends = texts.buffers()[1]
    if ends is None or not len(texts):
        return np.zeros(len(texts), np.int64)
    return np.diff(
        np.frombuffer(ends, "int64" if "large" in str(texts.type) else "int32")[texts.offset :][: len(texts) + 1]
    )


def _sizes(array: Any) -> Any:
    """How many bytes each value has once its texts are written out, about."""
    if hasattr(array, "dictionary"):
        lengths = np.append(_lengths(array.dictionary), 0)  # of a row without a text the index may be any
        return lengths[np.minimum(_numbers(array.indices).astype(np.uint32), len(lengths) - 1)] + VALUE
    if str(array.type) in ("string", "binary", "large_string", "large_binary"):
        return _lengths(array) + VALUE
    if hasattr(array, "offsets"):
        ends = np.append(0, np.cumsum(_sizes(array.values)))[_numbers(array.offsets)]
        return np.diff(ends) + VALUE
    total = np.full(len(array), VALUE * getattr(array.type, "list_size", 1))
    for part in array.flatten() if hasattr(array, "field") else ():
        total = total + _sizes(part)
    return total


def _plain_type(kind: Any, pyarrow: Any) -> Any:
    """The type with texts written out, and its times in microseconds, which is what times in Python have."""
    types = pyarrow.types
    if types.is_dictionary(kind):
        return kind.value_type
    if types.is_timestamp(kind):
        return pyarrow.timestamp("us", kind.tz)
    if types.is_fixed_size_list(kind) and kind.list_size > LARGE // VALUE // BATCH:
        raise BadInput(f"a Parquet file with lists of {kind.list_size:,} values each cannot be read")
    if types.is_list(kind) or types.is_large_list(kind):
        return pyarrow.list_(_plain_type(kind.value_type, pyarrow))
    if types.is_map(kind):
        return pyarrow.map_(_plain_type(kind.key_type, pyarrow), _plain_type(kind.item_type, pyarrow))
    if types.is_struct(kind):
        return pyarrow.struct([part.with_type(_plain_type(part.type, pyarrow)) for part in kind])
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
