"""Opening a database: new, of today, of tomorrow, and not a database at all."""

from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from evergold.errors import Refused, Unavailable
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.schema import metadata


def test_a_new_database_has_every_table_and_opens_again(settings: Settings) -> None:
    Store.open(settings).close()
    store = Store.open(settings)
    with store.db.read() as connection:
        names = {name for name in inspect(connection).get_table_names() if not name.startswith("trace_words")}
        assert names == {*metadata.tables, "alembic_version"}
    store.close()


def test_a_newer_database_is_refused(settings: Settings) -> None:
    store = Store.open(settings)
    store.db.write(lambda c: c.execute(text("UPDATE alembic_version SET version_num = '9999'")).rowcount)
    store.close()
    with pytest.raises(Refused, match="9999, newer than this program"):
        Store.open(settings)


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("not a database, " * 100)
    with pytest.raises(Unavailable, match=r"notes\.db.*not an SQLite file"):
        Store.open(Settings(database_url=str(path)))
    assert path.read_text().startswith("not a database")


def test_foreign_keys_hold(settings: Settings) -> None:
    store = Store.open(settings)
    with pytest.raises(Exception, match=r"(?i)foreign key"):
        store.db.write(
            lambda c: (
                c.execute(
                    text("INSERT INTO eval_dataset (trace_id, entry_type, input_text) VALUES ('nope', 'golden', 'x')")
                ).rowcount
            )
        )
    store.close()
