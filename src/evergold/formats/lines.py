"""JSON lines in and out: one record each, streamed, the file whole or not at all.

Whatever reads lines reads packed lines and Parquet tables too: `open_rows` gives the rows of a table as lines of JSON.
"""

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from evergold.errors import BadInput, EvergoldError
from evergold.formats.atomic import FileSet
from evergold.model.case import Case
from evergold.model.faults import Rejected
from evergold.model.values import load_json
from evergold.storage import open_read
from evergold.storage.charset import PARQUET
from evergold.storage.compression import unpack_stream


@contextmanager
def open_rows(path: Path, *, as_written: bool = False) -> Iterator[Iterable[bytes]]:
    """The lines of a file or object, as UTF-8 unless they are wanted as written; of a table, its rows as lines of JSON."""
    with unpack_stream(path.open("rb"), str(path)) if as_written else open_read(path) as handle:
        if handle.peek(len(PARQUET)).startswith(PARQUET):
            from evergold.formats.tables import json_lines  # which loads numpy

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
    """Each record's case; one that gives none is rejected by its place, and the rest is read."""
    yield from (try_line(record, where, case_of) for where, record in read_objects(path))


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that hold something."""
    with open_rows(path) as handle:
        for number, line in enumerate(handle, 1):
            if bare := line.strip():
                yield number, bare


DELIMITERS = (",", ";", "\t")
ENVELOPES = ("examples", "data", "items", "tests")


def read_objects(path: Path) -> Iterator[tuple[str, Any]]:
    """Each record of a file with its place: rows of Parquet or CSV, JSON lines, a JSON array, or a list inside an object.

    A cell of CSV that holds JSON is that value, an empty one says nothing, and columns `input.question` are one object.
    """
    with open_rows(path) as handle:
        lines = iter(handle)
        first = next((line for line in lines if line.strip()), b"")
        if columns_of(first):
            rows = read_table(chain([first], lines), path.name)
            yield from ((at, row if isinstance(row, BadInput) else _nest_columns(row)) for at, row in rows)
            return
        record = object_in(first)
        second = next((line for line in lines if line.strip()), b"")
        if (record and (second or not _unwrap(record))) or (first.lstrip()[:2] == b'{"' and object_in(second)):
            for number, line in enumerate(chain([first, second], lines), 1):
                if line.strip():
                    try:
                        yield f"{path.name}:{number}", record_in(line)
                    except BadInput as problem:
                        yield f"{path.name}:{number}", problem
            return
        try:
            document = load_json(b"".join(chain([first, second], lines)))
        except orjson.JSONDecodeError as problem:
            raise BadInput(f"{path}: no Parquet file, no CSV table and not JSON: {problem}") from problem
    listed = document if isinstance(document, list) else _unwrap(document) or [document]
    for number, one in enumerate(listed, 1):
        yield f"{path.name}[{number}]", one if isinstance(one, dict) else no_object(one)


def columns_of(head: bytes) -> list[str]:
    """The names in the first line of a table as CSV; none when it is no table."""
    return _split_header(head)[0]


def _split_header(head: bytes) -> tuple[list[str], str]:
    """The names of a table's columns, and the sign between them: that which gives the most names."""
    first, _, rest = head.lstrip().partition(b"\n")
    # Excel writes the sign that it split by above the names.
    first = rest.partition(b"\n")[0] if first.startswith(b"sep=") and rest else first
    line = first.decode("utf-8", "replace").strip("\r\n")
    if not line or line[0] in "{[-#" or ": " in line:
        return [], ","
    try:
        split = {sign: next(csv.reader([line], delimiter=sign)) for sign in DELIMITERS}
    except csv.Error:  # a binary file may hold a comma and a line's end where no table has one
        return [], ","
    sign = max(split, key=lambda one: len(split[one]))
    return ([name.strip() for name in split[sign]], sign) if len(split[sign]) > 1 else ([], sign)


def read_table(lines: Iterable[bytes], name: str) -> Iterator[tuple[str, dict[str, str] | BadInput]]:
    """Each row of a table with its place, or what is wrong with it. An empty cell says nothing."""
    csv.field_size_limit(sys.maxsize)  # a cell may hold a whole conversation; Python refuses those over 128 KB
    source = iter(lines)
    header = next(source, b"")
    header += next(source, b"") if header.startswith(b"sep=") else b""
    columns, sign = _split_header(header)
    if twice := [one for number, one in enumerate(columns) if one in columns[:number]]:
        raise BadInput(
            f"{name}: the column {twice[0]!r} is there twice; rename one, since a row has one value of each name"
        )
    table = csv.DictReader((line.decode("utf-8", "replace") for line in source), columns, delimiter=sign)
    breaks = header.count(b"\n")
    while True:
        try:
            row = next(table, None)
        except csv.Error as problem:
            yield f"{name}:{table.line_num + breaks}", BadInput(f"no row of a table: {problem}")
            continue
        if row is None:
            return
        where = f"{name}:{table.line_num + breaks}"
        if None in row:
            yield where, BadInput(f"more cells than columns ({len(columns) + len(row[None])} for {len(columns)})")
        else:
            yield where, {key: cell for key, cell in row.items() if cell}


def _unwrap(document: Any) -> list[Any] | None:
    """The records that an object wraps, as REST interfaces give them."""
    if not isinstance(document, dict):
        return None
    held = next((document[key] for key in ENVELOPES if isinstance(document.get(key), list | dict)), None)
    return held if isinstance(held, list) else _unwrap(held)


def _nest_columns(row: dict[str, str]) -> Record:
    record: Record = {}
    for column, cell in row.items():
        value: Any = cell
        if cell[:1] in "[{":
            with suppress(orjson.JSONDecodeError):
                value = orjson.loads(cell)
        outer, _, inner = column.partition(".")
        if inner and isinstance(record.setdefault(outer, {}), dict):
            record[outer][inner] = value
        else:
            record[column] = value
    return record


def record_in(line: bytes) -> Record:
    """Read the JSON object that a line holds."""
    try:
        record = load_json(line)
    except orjson.JSONDecodeError as problem:
        raise BadInput(f"not JSON: {problem}") from problem
    if not isinstance(record, dict):
        raise no_object(record)
    return record


def no_object(value: Any) -> BadInput:
    return BadInput(f"expected an object, got {type(value).__name__}")


def one_case(line: bytes, where: str, case_of: Callable[[Record], Case]) -> Case | Rejected:
    try:
        return try_line(record_in(line), where, case_of)
    except BadInput as problem:
        return Rejected(where=where, reason=problem.message)


def try_line(record: Record | BadInput, where: str, case_of: Callable[[Record], Case]) -> Case | Rejected:
    """The case of one record, or what is wrong with it; a line that was none comes as what was wrong."""
    if isinstance(record, BadInput):
        return Rejected(where=where, reason=record.message)
    try:
        return case_of(record)
    except ValidationError as problem:
        return Rejected.of(problem, where, Case)
    # KeyError comes before ValueError for its own words: str() of it is the bare key.
    except KeyError as problem:
        return Rejected(where=where, reason=f"field {problem} is missing")
    # A list where the format has an object, and the like: files come from anywhere.
    except (TypeError, AttributeError, IndexError) as problem:
        return Rejected(where=where, reason=f"a value is not of the kind this format has there ({problem})")
    except (EvergoldError, ValueError) as problem:
        return Rejected(where=where, reason=str(problem))


def object_in(text: bytes) -> Record:
    """The JSON object that a text is; empty when it is none."""
    try:
        record = load_json(text)
    except orjson.JSONDecodeError:
        return {}
    return record if isinstance(record, dict) else {}


def first_object(head: bytes) -> Record:
    """The first object of JSON lines or of a list, however many lines it takes; empty where there is none."""
    text = head.decode("utf-8", "replace").lstrip().removeprefix("[").lstrip()
    try:
        record, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def first_record(head: bytes) -> Record:
    """The first line as an object, for recognising a format; empty when it is none."""
    return object_in(head.lstrip().split(b"\n", 1)[0])
