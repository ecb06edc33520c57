"""JSON lines in and out: one record each, streamed, the file whole or not at all.

Whatever reads lines reads packed lines and Parquet tables too: `open_rows` gives the rows of a table as lines of JSON.
"""

import csv
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from evergold.errors import BadInput, EvergoldError
from evergold.formats.atomic import FileSet
from evergold.formats.tables import PARQUET, json_lines
from evergold.model.case import Case
from evergold.model.faults import Rejected
from evergold.model.values import load_json
from evergold.storage import open_read


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
    yield from (one_case(line, f"{path.name}:{number}", case_of) for number, line in numbered_lines(path))


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that hold something, without the byte order mark that some editors put in front."""
    with open_rows(path) as handle:
        for number, line in enumerate(handle, 1):
            bare = (line.removeprefix(BOM_UTF8) if number == 1 else line).strip()
            if bare:
                yield number, bare


ENVELOPES = ("examples", "data", "items", "tests")


def read_objects(path: Path) -> Iterator[tuple[str, Any]]:
    """Each record of a file with its place: rows of Parquet or CSV, JSON lines, a JSON array, or a list inside an object.

    A cell of CSV that holds JSON is that value, an empty one says nothing, and columns `input.question` are one object.
    """
    with open_rows(path) as handle:
        lines = iter(handle)
        first = next(lines, b"").removeprefix(BOM_UTF8)
        if columns_of(first):
            csv.field_size_limit(sys.maxsize)  # a cell may hold a whole conversation
            table = csv.DictReader(line.decode("utf-8", "replace") for line in chain([first], lines))
            yield from ((f"{path.name}:{table.line_num}", _nest_columns(row)) for row in table)
            return
        record = object_in(first)
        if record and not _unwrap(record):
            for number, line in enumerate(chain([first], lines), 1):
                if line.strip():
                    try:
                        yield f"{path.name}:{number}", record_in(line)
                    except BadInput as problem:
                        yield f"{path.name}:{number}", problem
            return
        try:
            document = load_json(first + b"".join(lines))
        except orjson.JSONDecodeError as problem:
            raise BadInput(f"{path}: no Parquet file, no CSV table and no JSON: {problem}") from problem
    listed = document if isinstance(document, list) else _unwrap(document) or [document]
    yield from ((f"{path.name}[{number}]", record) for number, record in enumerate(listed, 1))


def columns_of(head: bytes) -> list[str]:
    """The names in the first line of a table as CSV; none when it is no table."""
    line = head.removeprefix(BOM_UTF8).lstrip().partition(b"\n")[0].decode("utf-8", "replace").strip()
    if not line or line[0] in "{[-#" or "," not in line or ": " in line:
        return []
    return [name.strip() for name in next(csv.reader([line]))]


def _unwrap(document: Any) -> list[Any] | None:
    """The records that an object wraps, as REST interfaces give them."""
    if not isinstance(document, dict):
        return None
    held = next((document[key] for key in ENVELOPES if isinstance(document.get(key), list | dict)), None)
    return held if isinstance(held, list) else _unwrap(held)


def _nest_columns(row: dict[str | Any, Any]) -> Record:
    record: Record = {}
    for column, cell in row.items():
        if not cell or not isinstance(column, str):
            continue
        value = cell
        if isinstance(cell, str) and cell[:1] in "[{":
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
        raise BadInput(f"a JSON {type(record).__name__}, not an object")
    return record


def one_case(line: bytes, where: str, case_of: Callable[[Record], Case]) -> Case | Rejected:
    try:
        record = load_json(line)
    except orjson.JSONDecodeError as problem:
        return Rejected(where=where, reason=f"not JSON: {problem}")
    if not isinstance(record, dict):
        return Rejected(where=where, reason=f"expected an object, got {type(record).__name__}")
    return try_line(record, where, case_of)


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
        return Rejected(where=where, reason=f"the record has no {problem}")
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


def first_record(head: bytes) -> Record:
    """The first line as an object, for recognising a format; empty when it is none."""
    return object_in(head.removeprefix(BOM_UTF8).lstrip().split(b"\n", 1)[0])
