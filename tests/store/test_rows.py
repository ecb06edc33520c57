"""Statements of many rows, on both databases: PostgreSQL gets them as a stream."""

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError

from evergold.errors import BadInput
from evergold.store import Store
from evergold.store.database.rows import insert_rows, rows_among
from evergold.store.schema import counters, traces

ODD = ["tab\there", "line\nbreak", "back\\slash", r"\N", r"\.", "", "ünïcödé 漢字", "%s", "'quoted'"]


def test_texts_of_every_kind_come_back_as_they_were(store: Store) -> None:
    rows = [(name, number) for number, name in enumerate(ODD)]
    store.db.write(lambda connection: insert_rows(connection, counters, ("name", "value"), rows))
    with store.db.read() as connection:
        stored = rows_among(connection, "SELECT name, value FROM counters WHERE name", [*ODD, "unknown"])
        assert sorted(tuple(row) for row in stored) == sorted(rows)


def test_missing_values_are_null(store: Store) -> None:
    rows = [(f"n{number}", None if number % 2 else "kept") for number in range(6)]

    def put(connection: Connection) -> list[str | None]:
        connection.execute(text("CREATE TABLE notes (name TEXT, note TEXT)"))
        insert_rows(connection, "notes", ("name", "note"), rows)
        return list(connection.execute(text("SELECT note FROM notes ORDER BY name")).scalars())

    assert store.db.dry_run(put) == ["kept", None] * 3


def test_a_row_that_is_there_fails_as_any_statement_and_new_only_leaves_it(store: Store) -> None:
    rows = [(f"n{number}", number) for number in range(8)]

    def put(connection: Connection) -> int:
        insert_rows(connection, counters, ("name", "value"), rows)
        with pytest.raises(IntegrityError), connection.begin_nested():
            insert_rows(connection, counters, ("name", "value"), rows)
        # The savepoint took the failure back: the connection works on.
        insert_rows(connection, counters, ("name", "value"), [*rows, ("new", 9)], new_only=True)
        return int(connection.execute(text("SELECT count(*) FROM counters")).scalar_one())

    assert store.db.dry_run(put) == 9


def test_numbers_of_every_size_come_back_as_they_were(store: Store) -> None:
    # `cost` is a float and `tokens` of 64 bits; a whole number of a currency comes as an integer.
    rows = [(number, f"t{number}", 2**40 + number, cost) for number, cost in enumerate([0, 1, 0.5, None, 1e-9, 2**40])]
    columns = ("seq", "id", "tokens", "cost")

    def put(connection: Connection) -> list[tuple[object, ...]]:
        insert_rows(connection, traces, columns, rows)
        query = f"SELECT {', '.join(columns)} FROM traces WHERE seq"
        return sorted(tuple(row) for row in rows_among(connection, query, range(10)))

    assert store.db.dry_run(put) == rows


def test_a_nul_among_the_values_looked_for_finds_nothing(store: Store) -> None:
    with store.db.read() as connection:
        assert list(rows_among(connection, "SELECT id FROM traces WHERE id", ["a\x00b"])) == []


@pytest.mark.parametrize("name", ["lone \ud800", "caf\udce9"])
def test_a_text_that_cannot_be_looked_for_is_said_in_plain_words(store: Store, name: str) -> None:
    with pytest.raises(BadInput, match="cannot be stored or looked for"), store.db.read() as connection:
        list(rows_among(connection, "SELECT name FROM counters WHERE name", ["fine", name]))


@pytest.mark.parametrize("count", [1, 20])
@pytest.mark.parametrize(
    ("name", "value"), [("lone \ud800", 1), ("large", 2**63), ("larger", 2**70), ("lowest", -(2**70))]
)
def test_a_value_that_cannot_be_stored_is_said_in_plain_words(store: Store, count: int, name: str, value: int) -> None:
    """Alone, and among so many that PostgreSQL gets them as a stream."""
    rows = [(f"n{number}", number) for number in range(count)]
    with pytest.raises(BadInput, match="cannot be stored or looked for"):
        store.db.write(lambda connection: insert_rows(connection, counters, ("name", "value"), [*rows, (name, value)]))
    store.db.write(lambda connection: insert_rows(connection, counters, ("name", "value"), rows))
