"""The index that lists of traces are read from: all short columns of a trace, newest last.

A list filtered by latency, sorted by cost or counted by model reads this index alone. SQLite would otherwise have to read
every row with its texts. PostgreSQL keeps long texts outside of its rows and needs no such copy.
"""

from typing import Any

from sqlalchemy import Connection, Table, event

# `seq` second: the order of the list, and the way back to the row.
LISTED = ("started_at", "seq", "status", "name", "model", "duration_ms", "tokens", "cost", "tags")
SQLITE_INDEX = f"CREATE INDEX traces_listed ON traces ({', '.join(LISTED)})"


def keep_list_index(traces: Table) -> None:
    """Create the index together with its table."""

    @event.listens_for(traces, "after_create")
    def create(_table: Any, connection: Connection, **_: Any) -> None:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql(SQLITE_INDEX)
