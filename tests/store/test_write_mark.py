"""A mark tells whether anybody has written since, in this process or in another one."""

from pathlib import Path

from sqlalchemy import Connection, text

from evergold.settings import Settings
from evergold.store import Store
from evergold.store.write_mark import write_mark


def write(connection: Connection) -> None:
    connection.execute(text("INSERT INTO datasets (name) VALUES (hex(randomblob(8)))"))


def test_a_mark_changes_with_every_write_of_anybody(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    store, other = Store.open(settings), Store.open(settings)
    marks = [store.db.write(write_mark)]
    for db in (store.db, other.db):
        with db.read() as connection:
            connection.execute(text("SELECT count(*) FROM datasets")).scalar_one()
        assert store.db.write(write_mark) == marks[-1]
        db.write(write)
        marks.append(store.db.write(write_mark))
    assert len(set(marks)) == 3 and None not in marks
    assert other.db.write(write_mark) not in marks
    store.close()
    other.close()
