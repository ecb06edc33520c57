"""The log is copied into the database beside the writer."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine

from evergold.store.commit.checkpointing import OFTEN, Checkpointing


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = create_engine(f"sqlite:///{tmp_path / 'some.db'}", connect_args={"check_same_thread": False})
    yield made
    made.dispose()


def test_what_was_written_is_in_the_database_itself(engine: Engine, tmp_path: Path) -> None:
    copying = Checkpointing(engine)
    with closing(sqlite3.connect(tmp_path / "some.db", isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("CREATE TABLE things (name TEXT)")
        for number in range(OFTEN):
            writer.execute("INSERT INTO things VALUES (?)", (f"thing {number}",))
            copying.wrote_much()
        copying.close()
        with closing(sqlite3.connect(f"file:{tmp_path / 'some.db'}?immutable=1", uri=True)) as without_log:
            assert without_log.execute("SELECT count(*) FROM things").fetchone() == (OFTEN,)


def test_a_copy_that_fails_is_told_and_stops_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "none.db").write_text("this is not a database, and long enough to be looked at as one" * 20)
    copying = Checkpointing(create_engine(f"sqlite:///{tmp_path / 'none.db'}"))
    for _ in range(OFTEN):
        copying.wrote_much()
    copying.close()
    assert "not a database" in caplog.text


def test_where_there_is_no_log_nothing_is_copied() -> None:
    copying = Checkpointing(None)
    for _ in range(OFTEN):
        copying.wrote_much()
    copying.close()
