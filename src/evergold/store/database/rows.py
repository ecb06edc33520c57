"""Values in the form of the tables, rows of traces and spans as plain tuples, and statements of many rows.

Times are sortable UTC text, JSON is text. Many rows go into one statement: `executemany` gives the interpreter lock away and
takes it back for every row, and beside a busy event loop that is a wait per row. The statements go to the driver directly: on
the path of intake, building one with the query builder costs more than running it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

import orjson
from sqlalchemy import BigInteger, Connection, CursorResult, Float, Integer, Table, Text, bindparam, text
from sqlalchemy.exc import DBAPIError

from evergold.prices import Cost

T = TypeVar("T")
NUL = "\\u0000"
# An even number of backslashes before it: `\\\\u0000` is a backslash and the text "u0000", not a NUL.
NUL_IN_JSON = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def stamp(moment: datetime | None) -> str | None:
    """`2026-01-02T03:04:05.678Z`; finer digits are kept when there are any."""
    if moment is None:
        return None
    # Texts of different length still sort right, as long as the longer one has more digits behind the same milliseconds.
    spec = "microseconds" if moment.microsecond % 1000 else "milliseconds"
    return moment.astimezone(UTC).isoformat(timespec=spec).replace("+00:00", "Z")


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def text_or_none(value: Any) -> str | None:
    """A value that has to be a text to stand in a column of its own; anything else has no place there."""
    return make_storable(value) if isinstance(value, str) else None


def make_storable(value: str | None) -> str | None:
    """PostgreSQL's texts hold every character but NUL; it becomes the sign for an unreadable one, in SQLite too."""
    return value.replace("\x00", "\ufffd") if value and "\x00" in value else value


def dumps(value: Any) -> str:
    """JSON that both databases can read into: PostgreSQL refuses NUL in it even as an escape."""
    try:
        written = orjson.dumps(value).decode()
    except TypeError:  # keys that are no texts, which nearly no value has and every other pays for
        written = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    return NUL_IN_JSON.sub("\\1\ufffd", written) if NUL in written else written


def loads(written: str | None) -> Any:
    return orjson.loads(written) if written else {}


def batches(items: Iterable[T], size: int = 500) -> Iterator[Sequence[T]]:
    """Lists of at most `size`, so that a stream of any length fits the database's limits."""
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch


RAW = ("attributes", "events", "resource", "scope")  # what a span carried, kept apart from what was understood of it

# SQLite takes 32,766 parameters in a statement; the widest rows have some 20 columns.
ROWS = 400  # of one statement
MANY = 1000  # values that one statement looks for
WORTH_COPYING = 5  # rows, below which one statement is sent sooner than a stream is opened
SENT_AS = {Integer: "int4", BigInteger: "int8", Float: "float8", Text: "text"}  # PostgreSQL's names of our types
LISTED = {
    "sqlite": "SELECT value FROM json_each(?)",
    "postgresql": "SELECT value FROM json_array_elements_text(%s::json)",
}
MOST = 2**53  # larger figures are a sender's mistake, and no database column holds them


SpanKey = tuple[str, str]  # the ids of a trace and of one of its spans
Rows = Sequence[Sequence[Any]]
Values = Iterable[str | int]  # that a column is looked for


class SpanRow(NamedTuple):
    """A row of `spans`: its columns, in their order, with the trace's id for its `trace_seq`.

    A text that is also the trace's may be left to the trace's row. Where a base is named, `raw` is the difference from
    that span (see `repeats`). The last field is no column: it is what a span that repeats this one is known by.
    """

    trace_id: str
    id: str
    parent_id: str | None
    name: str
    kind: str
    input_text: str | None
    output_text: str | None
    status: str
    started_at: str | None
    ended_at: str | None
    metadata: str
    raw: str
    shared: int = 0
    base_seq: int | None = None
    base_id: str | None = None
    heads: tuple[int, ...] = ()


class TraceRow(NamedTuple):
    """A row of `traces` as its spans tell it; what is not named here has a default."""

    id: str
    session_id: str | None
    user_id: str | None
    name: str
    input_text: str
    output_text: str | None
    status: str
    message_type: str | None
    model: str | None
    started_at: str
    ended_at: str | None
    tags: str
    metadata: str
    received_at: str
    duration_ms: int | None = None
    tokens: int | None = None
    cost: float | None = None
    priced: int = 0


def figures_of(
    started: str | None, ended: str | None, metadata: Mapping[str, Any], cost: Cost
) -> tuple[int | None, int | None, float | None, int]:
    """Milliseconds, tokens and cost of a trace, None where they are not known; whether the price list gave the cost."""
    return _duration(started, ended), _tokens(metadata), _amount(cost.amount), int(cost.priced)


def sum_figures(metadata: Mapping[str, Any], of_steps: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Complete a trace's metadata with the tokens of its model calls, where it gives no figures of its own."""
    names = ("input_tokens", "output_tokens", "total_tokens")
    # Figures of the app itself win: its total may include calls that it did not trace.
    if any(name in metadata for name in names):
        return dict(metadata)
    sums: dict[str, float] = {}
    for step in of_steps:
        for name in names:
            if (amount := _amount(step.get(name))) is not None:
                sums[name] = sums.get(name, 0) + amount
    return {**metadata, **sums}


def _duration(started: str | None, ended: str | None) -> int | None:
    if not started or not ended:
        return None
    try:
        passed = datetime.fromisoformat(ended) - datetime.fromisoformat(started)
        return max(0, round(passed.total_seconds() * 1000))
    except (ValueError, TypeError, OverflowError):
        return None


def _tokens(metadata: Mapping[str, Any]) -> int | None:
    total = _amount(metadata.get("total_tokens"))
    if total is None:
        parts = (_amount(metadata.get(name)) for name in ("input_tokens", "output_tokens"))
        known = [part for part in parts if part is not None]
        total = sum(known) if known else None
    return None if total is None or total > MOST else int(total)


def _amount(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if 0 <= value <= MOST else None


def run_sql(connection: Connection, statement: str, **values: Any) -> CursorResult[*tuple[Any, ...]]:
    """Run a statement with its named parameters; a tuple is a list of values, as in `name IN :names`, which holds for none of
    an empty one."""
    lists = {name: value or (None,) for name, value in values.items() if isinstance(value, tuple)}
    bound = text(statement).bindparams(*(bindparam(name, expanding=True) for name in lists))
    return connection.execute(bound, values | lists)


def run_for_each(connection: Connection, statement: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Run a statement once with the named parameters of each row."""
    if listed := list(rows):
        connection.execute(text(statement), listed)


def read_column(connection: Connection, query: str, **values: Any) -> list[Any]:
    """List the first value of each row."""
    return list(run_sql(connection, query, **values).scalars())


def read_value(connection: Connection, query: str, **values: Any) -> Any:
    """Give the first value of the first row; None where there is no row."""
    return run_sql(connection, query, **values).scalar()


def insert_rows(
    connection: Connection, table: Table | str, columns: Sequence[str], rows: Rows, *, new_only: bool = False
) -> None:
    """Insert rows whose values stand in the order of `columns`; `new_only` leaves those that are there as they are.

    A table that is given by its name holds texts alone.
    """
    if connection.dialect.name == "postgresql" and not new_only and len(rows) >= WORTH_COPYING:
        _copy_rows(connection, table, columns, rows)
        return
    mark = "?" if connection.dialect.name == "sqlite" else "%s"
    one = f"({', '.join([mark] * len(columns))})"
    tail = " ON CONFLICT DO NOTHING" if new_only else ""
    for batch in batches(rows, ROWS):
        values = ", ".join([one] * len(batch))
        statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES {values}{tail}"
        connection.exec_driver_sql(statement, tuple(chain.from_iterable(batch)))


def _copy_rows(connection: Connection, table: Table | str, columns: Sequence[str], rows: Rows) -> None:
    """Send rows to PostgreSQL as a stream: a statement of thousands of parameters is parsed anew each time, here and there.

    The stream is binary: as text it would be escaped here, and be searched for escapes there.
    """
    import psycopg

    statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
    types = ["text" if isinstance(table, str) else SENT_AS[type(table.c[name].type)] for name in columns]
    try:
        with connection.connection.cursor().copy(statement) as copy:
            copy.set_types(types)
            for row in rows:
                copy.write_row(row)
    # The driver is called directly, so its errors are wrapped here as SQLAlchemy wraps them everywhere else.
    except psycopg.Error as problem:
        lost = connection.dialect.is_disconnect(problem, connection.connection, None)  # type: ignore[arg-type]
        raised = DBAPIError.instance(statement, (), problem, psycopg.Error, connection_invalidated=lost)
        if lost:
            connection.invalidate(problem)
        raise raised from problem


def insert_new(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows of the same columns that are not there yet; the ones that are stay as they are."""
    if rows:
        insert_rows(connection, table, list(rows[0]), [tuple(row.values()) for row in rows], new_only=True)


def rows_among(connection: Connection, query: str, values: Values, then: str = "") -> Iterator[Any]:
    """The rows of `query`, which ends with a column's name, where that column is one of the values.

    `then` follows that condition: an order, or a lock.
    """
    for batch in batches(values, MANY):
        yield from _run_among(connection, query, batch, then)


def group_among(connection: Connection, query: str, values: Values, then: str = "") -> dict[Any, list[Any]]:
    """The second column of such a query, in lists by the first."""
    groups: dict[Any, list[Any]] = {}
    for key, value in rows_among(connection, query, values, then):
        groups.setdefault(key, []).append(value)
    return groups


def tuples_among(connection: Connection, query: str, values: Values, then: str = "") -> list[Any]:
    """The rows of such a query as the driver gives them: for many of them, objects of their own would cost more than reading."""
    results: list[Any] = []
    for batch in batches(values, MANY):
        with closing(_run_among(connection, query, batch, then)) as result:
            results += result.cursor.fetchall() if result.cursor is not None else ()
    return results


def delete_among(connection: Connection, table: str, column: str, values: Values) -> int:
    """Delete the rows of a table whose column is one of the values; return how many."""
    return change_among(connection, f"DELETE FROM {table} WHERE {column}", values)


def change_among(connection: Connection, statement: str, values: Values, then: str = "") -> int:
    """Run a statement that changes rows, and ends with a column's name, where that column is one of the values."""
    return sum(_run_among(connection, statement, batch, then).rowcount for batch in batches(values, MANY))


def _run_among(
    connection: Connection, statement: str, values: Sequence[str | int], then: str = ""
) -> CursorResult[Any]:
    """Run a statement, which ends with a column's name, where that column is one of the values."""
    listed = listed_by(connection)
    if connection.dialect.name == "postgresql":
        # As an array, since PostgreSQL may read a whole table to join it with a query.
        number = "" if isinstance(values[0], str) else "::bigint"
        among = f"= ANY(ARRAY(SELECT value{number} FROM ({listed}) AS listed))"
    else:
        among = f"IN ({listed})"
    try:
        parameter = dumps(values)
    except TypeError:
        # A text that no database can look for, such as a file name with bytes of another encoding: said as drivers say it.
        for value in values:
            str(value).encode()
        raise
    return connection.exec_driver_sql(f"{statement} {among} {then}", (parameter,))


def listed_by(connection: Connection) -> str:
    """A query for the items of a JSON list, which is its one parameter.

    One parameter whatever the number of values: a statement of a thousand takes longer to read than to run, and a list
    is sent to PostgreSQL as an array in three times the time of a text.
    """
    return LISTED[connection.dialect.name]
