"""Many rows in one statement, written or asked for.

`executemany` gives the interpreter lock away and takes it back for every row; beside a busy event loop that is a wait
per row. One statement with many rows runs in the database alone, once, while the server reads the next request. Both
functions speak to the driver directly: on the path of intake, building such a statement anew costs more than running it.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from sqlalchemy import Connection

from evergold.store.values import batches

ROWS = 400


def insert_rows(
    connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, new_only: bool = False
) -> None:
    """Insert rows whose values stand in the order of `columns`; `new_only` leaves those that are there as they are."""
    mark = "?" if connection.dialect.name == "sqlite" else "%s"
    one = f"({', '.join([mark] * len(columns))})"
    tail = " ON CONFLICT DO NOTHING" if new_only else ""
    for batch in batches(rows, ROWS):
        values = ", ".join([one] * len(batch))
        statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES {values}{tail}"
        connection.exec_driver_sql(statement, tuple(chain.from_iterable(batch)))


def rows_among(connection: Connection, query: str, values: Iterable[str]) -> Iterator[Any]:
    """The rows of `query`, which ends with a column's name, where that column is one of the values."""
    mark = "?" if connection.dialect.name == "sqlite" else "%s"
    for batch in batches(values):
        yield from connection.exec_driver_sql(f"{query} IN ({', '.join([mark] * len(batch))})", tuple(batch))
