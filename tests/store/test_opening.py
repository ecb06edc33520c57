"""Opening a database: new, and not a database at all."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import inspect, text
from sqlalchemy.pool import QueuePool

from evergold.cli import root
from evergold.errors import BadInput, Unavailable
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.database.db import Database
from evergold.store.schema import metadata


def test_a_new_database_has_every_table_and_opens_again(settings_of_nothing: Settings) -> None:
    Store.open(settings_of_nothing).close()
    store = Store.open(settings_of_nothing)
    with store.db.read() as connection:
        names = {
            name
            for name in inspect(connection).get_table_names()
            if not name.startswith(("trace_words", "traffic_", "case_parts"))
        }
        assert names == {*metadata.tables, "alembic_version"}
    store.close()


def test_postgres_compresses_by_the_better_way_it_has_unless_another_is_chosen(store: Store) -> None:
    if store.db.dialect != "postgresql":
        pytest.skip("a setting of PostgreSQL")
    asked = "SELECT setting, 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression'"
    with store.db.read() as connection:
        setting, has_lz4 = connection.execute(text(asked)).one()
        options = connection.execute(
            text("SELECT reloptions FROM pg_class WHERE relname = 'trace_words_index'")
        ).scalar_one()
    assert setting == ("lz4" if has_lz4 else "pglz")
    assert options == ["gin_pending_list_limit=1024"]
    join = "&" if "?" in store.db.url else "?"
    chosen = Database(f"{store.db.url}{join}options=-cdefault_toast_compression%3Dpglz")
    with chosen.read() as connection:
        assert connection.execute(text(asked)).one()[0] == "pglz"
    chosen.close()


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


def damaged(path: Path) -> None:
    """A database whose pages are overwritten behind its head, as a broken disk leaves it."""
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)


@pytest.mark.parametrize(
    "verb", [["serve", "--port", "0"], ["traces", "list"], ["stats"]], ids=lambda verb: str(verb[0])
)
def test_a_damaged_database_is_one_line_with_what_to_do(tmp_path: Path, verb: list[str]) -> None:
    path = tmp_path / "evergold.db"
    Store.open(Settings(database_url=str(path))).close()
    damaged(path)
    done = CliRunner().invoke(root, ["--db", str(path), *verb])
    failure = done.exception
    assert isinstance(failure, Unavailable) or done.exit_code == 2, failure
    said = failure.message if isinstance(failure, Unavailable) else done.output
    assert "evergold.db" in said and "damaged; restore a backup" in said


def test_limits_of_postgres_are_settings(migrated_url: str, tmp_path: Path) -> None:
    settings = Settings(
        home=tmp_path, database_url=migrated_url, database_connections=4, database_statement_seconds=0.02
    )
    store = Store.open(settings)
    with pytest.raises(Unavailable, match=r"database\.statement_seconds"), store.db.read() as connection:
        connection.execute(text("SELECT pg_sleep(1)"))
    with store.db.snapshot() as connection:  # backups read whole tables
        assert connection.execute(text("SHOW statement_timeout")).scalar() == "0"
    pool = store.db._reader_engine.pool
    assert isinstance(pool, QueuePool) and (pool.size(), pool._max_overflow) == (4, 0)
    store.close()
    with pytest.raises(BadInput, match=r"database\.connections = 2 is not 4 or more"):
        Store.open(Settings(home=tmp_path, database_connections=2))
    with pytest.raises(BadInput, match=r"database\.statement_seconds = -1 is below 0"):
        Store.open(Settings(home=tmp_path, database_statement_seconds=-1.0))
    for endless in (1e9, float("inf"), float("nan")):
        with pytest.raises(BadInput, match="is over 2000000; 0 sets no limit"):
            Store.open(Settings(home=tmp_path, database_statement_seconds=endless))


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("mysql://u:hidden@h/d", r"'mysql://u:\*\*\*@h/d' begins with mysql://; give postgresql://"),
        ("postgresql+asyncpg://u:hidden@h/d", r"begins with postgresql\+asyncpg://"),
        ("oracle://h/d", "begins with oracle://"),
        ("postgresql://u:hidden@h:port/d", "cannot be read; write postgresql://user:password@host:5432/name"),
        ("://u:hidden@h", "cannot be read; write postgresql://"),
    ],
)
def test_a_url_of_another_database_is_refused_without_its_password(tmp_path: Path, url: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason) as refused:
        Store.open(Settings(home=tmp_path, database_url=url))
    assert "hidden" not in refused.value.message
