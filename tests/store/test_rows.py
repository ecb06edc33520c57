"""Statements of many rows, on both databases: PostgreSQL gets them as a stream."""

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError

from evergold.store import Store
from evergold.store.rows import insert_rows, rows_among

ODD = ["tab\there", "line\nbreak", "back\\slash", r"\N", r"\.", "", "ünïcödé 漢字", "%s", "'quoted'"]


def test_texts_of_every_kind_come_back_as_they_were(store: Store) -> None:
    rows = [(name, number) for number, name in enumerate(ODD)]
    store.db.write(lambda connection: insert_rows(connection, "counters", ("name", "value"), rows))
    with store.db.read() as connection:
        stored = rows_among(connection, "SELECT name, value FROM counters WHERE name", [*ODD, "unknown"])
        assert sorted(tuple(row) for row in stored) == sorted(rows)


def test_missing_values_are_null(store: Store) -> None:
    rows = [(f"n{number}", None if number % 2 else "kept") for number in range(6)]

    def put(connection: Connection) -> list[str | None]:
        connection.execute(text("CREATE TABLE notes (name TEXT, note TEXT)"))
        insert_rows(connection, "notes", ("name", "note"), rows)
        return list(connection.execute(text("SELECT note FROM notes ORDER BY name")).scalars())

    assert store.db.rehearse(put) == ["kept", None] * 3


def test_a_row_that_is_there_fails_as_any_statement_and_new_only_leaves_it(store: Store) -> None:
    rows = [(f"n{number}", number) for number in range(8)]

    def put(connection: Connection) -> int:
        insert_rows(connection, "counters", ("name", "value"), rows)
        with pytest.raises(IntegrityError), connection.begin_nested():
            insert_rows(connection, "counters", ("name", "value"), rows)
        # The savepoint took the failure back: the connection works on.
        insert_rows(connection, "counters", ("name", "value"), [*rows, ("new", 9)], new_only=True)
        return int(connection.execute(text("SELECT count(*) FROM counters")).scalar_one())

    assert store.db.rehearse(put) == 9
