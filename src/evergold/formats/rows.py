"""The rows of a file as lines of JSON, whether it holds lines, packed lines or a Parquet table."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from evergold.storage import open_read

PARQUET = b"PAR1"


@contextmanager
def open_rows(path: Path) -> Iterator[Iterable[bytes]]:
    """The lines of a file or object; of a table, its rows as lines of JSON."""
    with open_read(path) as handle:
        if handle.peek(len(PARQUET)).startswith(PARQUET):
            # pyarrow is an extra and slow to import: only a table pays for it.
            from evergold.formats.parquet_lines import json_lines

            yield json_lines(handle, str(path))
        else:
            yield handle
