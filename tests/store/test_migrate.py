"""Databases of other schemas: those of 0018 are brought over with every row, older and newer ones are refused.

`schema_0018/` holds a workspace as the program of commit 84eb32e left it: a backup of one on SQLite, and a dump of one on
PostgreSQL, whose spans lie in four partitions.
"""

import gzip
import re
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from inspect import unwrap
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, create_engine, inspect, text

from evergold.errors import Refused, Unavailable
from evergold.model.case_actions import ListPage, ListView
from evergold.model.overview import Grouping, Period
from evergold.model.review import QueueOrder, QueuePart, QueueQuery
from evergold.model.trace import Span, Trace
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.database import migrate
from evergold.store.database.db import Database
from evergold.store.database.migrations import BEFORE_BASELINE, HEAD, MIGRATIONS
from evergold.store.schema import metadata
from evergold.store.trace.traces import put_traces
from evergold.workspace import Workspace
from tests.cli.running import evergold
from tests.ingest.test_repeated_turns import carried, read, send, sent

EARLIER = Path(__file__).parent / "schema_0018"
TURNS = {"sqlite": range(8), "postgresql": range(8, 14)}  # of the conversation that both hold
RENAMED = {"whole": "whole AS own_content"}
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(params=["sqlite", "postgres"])
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings of a workspace of schema 0018."""
    home = tmp_path / "home"
    if request.param == "sqlite":
        home.mkdir()
        with zipfile.ZipFile(EARLIER / "workspace.backup") as backup:
            (home / "evergold.db").write_bytes(backup.read("database.db"))
        return Settings(home=home)
    url = str(request.getfixturevalue("postgres_url"))
    with psycopg.connect(url) as connection:
        connection.execute(gzip.decompress((EARLIER / "postgres.sql.gz").read_bytes()))
    return Settings(home=home, database_url=url)


@pytest.fixture
def fresh(request: pytest.FixtureRequest, earlier: Settings, tmp_path: Path) -> Settings:
    """Settings of a new workspace on the same engine."""
    url = request.getfixturevalue("migrated_url") if earlier.database_url else ""
    settings = Settings(home=tmp_path / "fresh", database_url=url)
    Store.open(settings).close()
    return settings


@contextmanager
def reading(settings: Settings) -> Iterator[Connection]:
    """A connection that migrates nothing."""
    engine = create_engine(settings.database.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def rows_of(settings: Settings, columns: Callable[[Connection, str], list[str]]) -> Rows:
    """The rows of every table of 0018 in no order, without the schema's number and the note of which programs it suits."""
    with reading(settings) as connection:
        tables = {}
        for name in TABLES & set(inspect(connection).get_table_names()):
            query = f"SELECT {', '.join(columns(connection, name))} FROM {name}"
            found = [dict(row) for row in connection.execute(text(query)).mappings()]
            # Views of the queue came from a table of their own, which a test below holds.
            kept = (row for row in found if row.get("name") != "schema.compatible" and row.get("page") != "review")
            tables[name] = sorted(kept, key=repr)
        return tables


TABLES = {*metadata.tables}  # without the traffic, which is counted again from the traces


def columns_of(connection: Connection, table: str) -> list[str]:
    named = [column["name"] for column in inspect(connection).get_columns(table)]
    # What traces cost is priced on the way, and what the tier of an entry rests on is added to its metadata.
    changed = (("traces", "cost"), ("eval_dataset", "metadata"))
    return [RENAMED.get(name, name) for name in named if (table, name) not in changed]


def rows_now(settings: Settings, before: Rows) -> Rows:
    """The same columns of the same tables."""
    now = rows_of(settings, lambda connection, name: list(before[name][0]) if before.get(name) else ["1"])
    return {name: now[name] for name in before}


def shape_of(settings: Settings) -> dict[str, Any]:
    """All that a database has besides rows: columns, keys, constraints, indexes, triggers."""
    with reading(settings) as connection:
        if connection.dialect.name == "sqlite":
            return {
                "columns": sorted(
                    (name, *map(str, column))
                    for name in inspect(connection).get_table_names()
                    for column in connection.execute(
                        text(f"SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info('{name}')")
                    )
                ),
                "keys": sorted(
                    (name, *map(str, key))
                    for name in metadata.tables
                    for key in connection.execute(
                        text(f'SELECT "from", "table", "to", on_delete FROM pragma_foreign_key_list(\'{name}\')')
                    )
                ),
                "rest": sorted(
                    re.sub(r"\s+", " ", statement)
                    for (statement,) in connection.execute(
                        text("SELECT sql FROM sqlite_master WHERE type <> 'table' AND sql IS NOT NULL")
                    )
                ),
            }
        asked = {
            "columns": "SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns "
            "WHERE table_schema = 'public'",
            "constraints": "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE connamespace = 'public'::regnamespace AND contype <> 'n'",
            "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
            "triggers": "SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
            "kinds": "SELECT relname, relkind::text FROM pg_class WHERE relnamespace = 'public'::regnamespace",
        }
        return {name: set(map(str, connection.execute(text(query)).all())) for name, query in asked.items()}


def test_a_workspace_of_the_schema_before_the_baseline_is_brought_over_in_place(
    earlier: Settings, fresh: Settings
) -> None:
    before = rows_of(earlier, columns_of)
    assert len(before["spans"]) > 200 and sum(map(bool, before.values())) > 30
    with Workspace.open(earlier) as workspace:
        assert rows_now(earlier, before) == before
        # Spans that name others as their base still come back as they were sent, and the next one builds on them.
        turns = TURNS[workspace.store.db.dialect]
        for turn in turns:
            assert read(workspace, turn) == carried(sent(turn))
        assert send(workspace, sent(turns[-1]), sent(turns[-1] + 1)).duplicates == 1
        assert read(workspace, turns[-1] + 1) == carried(sent(turns[-1] + 1))
    for kind, parts in shape_of(fresh).items():
        assert shape_of(earlier)[kind] == parts
    with reading(earlier) as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one() == HEAD


def test_what_was_brought_over_is_curated_exported_and_measured(earlier: Settings, tmp_path: Path) -> None:
    database = {"EVERGOLD_DATABASE_URL": earlier.database_url} if earlier.database_url else {}
    place = ("--home", str(earlier.home))
    waiting = len(rows_of(earlier, columns_of)["curation_queue"])
    assert evergold(*place, "curate", "--json", cwd=tmp_path, **database).json["examined"] == waiting > 1
    exported = evergold(*place, "export", "live", "--out", "all.jsonl", "--json", cwd=tmp_path, **database)
    assert exported.code == 0, exported.err
    assert exported.json["cases"] == len((tmp_path / "all.jsonl").read_text().splitlines()) > 50
    ran = evergold(
        *(*place, "run", "live", "--model", "recorded", "--metric", "exact_match", "--json"), cwd=tmp_path, **database
    )
    assert ran.code == 0 and ran.json["run"]["status"] == "completed", ran.err
    shown = evergold(*place, "db", "status", cwd=tmp_path, **database)
    assert shown.code == 0 and "traces from 2026-01-0" in shown.out


def test_a_backup_of_the_schema_before_the_baseline_is_restored(settings_of_nothing: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(EARLIER / "workspace.backup") as backup:
        backup.extract("database.db", folder)
    before = rows_of(Settings(home=folder, database_url=f"sqlite:///{folder / 'database.db'}"), columns_of)
    Workspace(settings_of_nothing).backups.restore(EARLIER / "workspace.backup")
    after = rows_now(settings_of_nothing, before)
    for build in after["builds"]:
        assert Path(build["location"]).is_relative_to(settings_of_nothing.home)
    for rows in (before["builds"], after["builds"]):
        for build in rows:
            del build["location"]
    assert after == before
    with Workspace.open(settings_of_nothing) as workspace:
        for turn in TURNS["sqlite"]:
            assert read(workspace, turn) == carried(sent(turn))


def change(settings: Settings, *statements: str) -> None:
    db = Database(settings.database)
    for statement in statements:
        db.write(lambda connection, statement=statement: connection.execute(text(statement)).close())  # type: ignore[misc]
    db.close()


def test_tables_columns_and_indexes_that_are_missing_are_added(settings: Settings) -> None:
    Store.open(settings).close()
    change(settings, "INSERT INTO traces (id) VALUES ('t')", "INSERT INTO spans (trace_seq, id) VALUES (1, 's')")
    change(settings, "INSERT INTO eval_dataset (entry_type, input_text) VALUES ('golden', 'q')")
    whole = shape_of(settings)
    change(
        settings,
        *("DROP TABLE dataset_sizes", "DROP INDEX spans_by_base", "DROP INDEX runs_by_time"),
        *("ALTER TABLE spans DROP COLUMN base_id", "ALTER TABLE eval_dataset DROP COLUMN undone"),
        f"UPDATE alembic_version SET version_num = '{BEFORE_BASELINE}'",
    )
    assert shape_of(settings) != whole
    Store.open(settings).close()
    assert shape_of(settings) == whole
    with reading(settings) as connection:
        assert connection.execute(text("SELECT undone FROM eval_dataset")).all() == [("",)]


def test_stored_traces_are_priced_by_their_calls(settings: Settings) -> None:
    took = {"input_tokens": 1_000_000, "output_tokens": 0}
    calls = [Span(id=f"s{n}", kind="llm", metadata=took | {"model": model}) for n, model in enumerate(("gpt-4o", "o3"))]
    traces = [
        Trace(id="one", metadata=took | {"model": "gpt-4o"}),
        Trace(id="two", spans=tuple(calls)),
        Trace(id="own", metadata=took | {"model": "my-own-model"}),
        Trace(id="reported", metadata=took | {"model": "gpt-4o", "cost": 0.5}),
    ]
    with Workspace.open(settings) as workspace:
        workspace.store.db.write(lambda connection: put_traces(connection, traces))
        expected = {one.id: (one.cost, one.cost_source) for one in map(workspace.intake.get, ("one", "two", "own"))}
        whole = shape_of(settings)
    assert expected["two"][0] > expected["one"][0] > 0 and expected["own"] == (None, None)  # type: ignore[operator]
    change(
        settings,
        *("UPDATE traces SET cost = NULL WHERE priced = 1", "ALTER TABLE traces DROP COLUMN priced"),
        *("ALTER TABLE traffic_figures DROP COLUMN costed", "UPDATE alembic_version SET version_num = '0020'"),
    )
    with Workspace.open(settings) as workspace:
        assert {one.id: (one.cost, one.cost_source) for one in map(workspace.intake.get, expected)} == expected
        assert workspace.intake.get("reported").cost_source == "reported"
        figures = workspace.overviews.traffic(Period.DAY, Grouping.MODEL).total.figures
        assert (figures.traces, figures.cost_known) == (4, 0.75)
    assert shape_of(settings) == whole


def test_saved_views_of_the_queue_are_kept_with_those_of_lists(settings: Settings) -> None:
    kept = ListView(page=ListPage.REVIEW, name="mine", address="kind=qa")
    with Workspace.open(settings) as workspace:
        workspace.operations.keep_view(kept)
        whole = shape_of(settings)
    query = QueueQuery(
        dataset="ü & b", text="¿where? 100%", part=QueuePart.DONE, needs_look=False, order=QueueOrder.VALUE
    )
    saved = {"mine": query, "open": QueueQuery(), "every": QueueQuery(status=None)}
    moment = "2026-01-02T03:04:05.000Z"
    change(
        settings,
        "CREATE TABLE saved_views (name TEXT PRIMARY KEY, owner TEXT, body TEXT, created_at TEXT)",
        *(
            f"INSERT INTO saved_views VALUES ('{name}', 'ana', '{query.model_dump_json()}', '{moment}')".replace(
                ":", r"\:"
            )
            for name, query in saved.items()
        ),
        "UPDATE alembic_version SET version_num = '0028'",
    )
    with Workspace.open(settings) as workspace:
        views = {view.name: view for view in workspace.review.views()}
        assert views["mine"].query.kind == "qa" and views["mine (2)"].query == query
        assert [views[name].query for name in ("open", "every")] == [saved["open"], saved["every"]]
        assert all(view.owner == "ana" for view in views.values() if view.name != "mine")
        assert str(views["every"].created_at).startswith("2026-01-02 03:04:05")
        assert len(workspace.operations.views(ListPage.REVIEW)) == len(views) == 4
    assert shape_of(settings) == whole


def test_a_column_that_names_a_row_of_another_table_is_added_with_its_key(settings: Settings) -> None:
    Store.open(settings).close()
    whole = shape_of(settings)
    change(settings, "DROP TABLE alert_deliveries", "CREATE TABLE alert_deliveries (id INTEGER PRIMARY KEY)")
    change(settings, f"UPDATE alembic_version SET version_num = '{BEFORE_BASELINE}'")
    Store.open(settings).close()
    keys = "constraints" if settings.database_url else "keys"
    added = [key for key in shape_of(settings)[keys] if "alert_id" in str(key)]
    assert added == [key for key in whole[keys] if "alert_id" in str(key)] and added


def test_a_constraint_that_was_left_on_spans_is_removed(postgres_url: str, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, database_url=postgres_url)
    Store.open(settings).close()
    whole = shape_of(settings)
    change(
        settings,
        "ALTER TABLE spans ADD CONSTRAINT spans_bound CHECK (trace_seq < 10) NOT VALID",
        f"UPDATE alembic_version SET version_num = '{BEFORE_BASELINE}'",
    )
    Store.open(settings).close()
    assert shape_of(settings) == whole


@pytest.mark.parametrize("schema", ["0001", "0013"])
def test_an_older_database_is_refused_with_the_way_to_bring_it_over(settings_of_nothing: Settings, schema: str) -> None:
    settings_of_nothing.home.mkdir()
    change(settings_of_nothing, "CREATE TABLE traces (id TEXT PRIMARY KEY)")  # the first ones carry no number
    if schema != "0001":
        change(settings_of_nothing, "CREATE TABLE alembic_version (version_num TEXT)")
        change(settings_of_nothing, f"INSERT INTO alembic_version VALUES ('{schema}')")
    before = shape_of(settings_of_nothing)
    with pytest.raises(
        Refused, match=rf"has schema {schema}, older than .* \(0018\); open or restore .* 84eb32e"
    ) as no:
        Store.open(settings_of_nothing)
    assert "\n" not in no.value.message
    assert shape_of(settings_of_nothing) == before


def test_a_newer_database_is_refused_with_both_revisions(settings: Settings) -> None:
    Store.open(settings).close()
    change(settings, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(Refused, match=rf"has schema 9999, newer than this program knows \({HEAD}\); upgrade evergold$"):
        Store.open(settings)


def test_a_newer_version_that_came_meanwhile_is_not_backed_up_in_part(migrated_url: str, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, database_url=migrated_url)
    with Workspace.open(settings) as workspace:
        change(settings, "UPDATE alembic_version SET version_num = '9999'")
        with pytest.raises(Refused, match="parts of it would be left out"):
            workspace.backups.write(tmp_path / "b.backup")


def open_at_once(settings: Settings) -> None:
    open_store = unwrap(Store.open.__func__)  # type: ignore[attr-defined]  # not a copy of an empty workspace
    with ThreadPoolExecutor(3) as several:
        for store in list(several.map(lambda _: open_store(Store, settings), range(3))):
            store.close()


def test_several_make_a_new_database_at_once(settings_of_nothing: Settings) -> None:
    open_at_once(settings_of_nothing)
    with reading(settings_of_nothing) as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all() == [HEAD]


def test_a_new_file_is_made_by_many_at_once(tmp_path: Path) -> None:
    for number in range(30):
        open_at_once(Settings(home=tmp_path / str(number)))
        assert [file.name for file in (tmp_path / str(number)).iterdir()] == ["evergold.db"]


def test_several_migrate_a_database_at_once(earlier: Settings) -> None:
    before = rows_of(earlier, columns_of)
    open_at_once(earlier)
    assert rows_now(earlier, before) == before


def test_a_migration_that_cannot_have_its_tables_changes_nothing(
    earlier: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not earlier.database_url:
        pytest.skip("SQLite has one lock, which is waited for")
    monkeypatch.setattr(migrate, "WRITE_LOCK_SECONDS", 0.05)
    before, shape = rows_of(earlier, columns_of), shape_of(earlier)
    with reading(earlier) as connection:
        connection.execute(text("SELECT 1 FROM spans LIMIT 1"))
        with pytest.raises(Unavailable, match="lock"):
            Store.open(earlier)
    assert shape_of(earlier) == shape and rows_of(earlier, columns_of) == before
    Store.open(earlier).close()
    assert rows_now(earlier, before) == before


def test_revisions_are_numbered_without_a_gap() -> None:
    first = int(BEFORE_BASELINE) + 1
    assert [f"{number:04}" for number in range(first, first + len(MIGRATIONS))] == list(MIGRATIONS)
