"""Send many rows to PostgreSQL as a stream.

A statement of thousands of parameters is parsed anew each time, here and there. The stream is binary: as text it would be
escaped here, and there be searched for escapes byte by byte, which takes twice the time here and a sixth more there.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import BigInteger, Connection, Float, Integer, Text
from sqlalchemy.exc import DBAPIError

from evergold.store.schema import metadata

SENT_AS = {Integer: "int4", BigInteger: "int8", Float: "float8", Text: "text"}


def copy_rows(connection: Connection, table: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> None:
    """Store rows whose values stand in the order of `columns`; a table that is none of the schema holds texts."""
    import psycopg

    statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
    try:
        with connection.connection.cursor().copy(statement) as copy:
            copy.set_types(_types(table, columns))
            for row in rows:
                copy.write_row(row)
    # The driver is called directly, so its errors are wrapped here as SQLAlchemy wraps them everywhere else.
    except psycopg.Error as problem:
        lost = connection.dialect.is_disconnect(problem, connection.connection, None)  # type: ignore[arg-type]
        raised = DBAPIError.instance(statement, (), problem, psycopg.Error, connection_invalidated=lost)
        if lost:
            connection.invalidate(problem)
        raise raised from problem


@cache
def _types(table: str, columns: tuple[str, ...]) -> list[str]:
    """The types of columns by PostgreSQL's names: a binary value is not converted."""
    if table not in metadata.tables:
        return ["text"] * len(columns)
    return [SENT_AS[type(metadata.tables[table].c[name].type)] for name in columns]
