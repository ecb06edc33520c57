"""Two versions on one database: this program on one that a newer version has migrated, and the rule that makes that possible."""

import re
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from evergold.errors import Refused
from evergold.settings import Settings
from evergold.store import Store, migrate, migrations
from evergold.store.migrate import COMPATIBLE
from evergold.store.migrations import FIRST_SIDE_BY_SIDE, HEAD, REMOVES, REVISIONS, compatible_since
from evergold.store.online_upgrade import build_indexes, upgrade_online
from evergold.store.trace_filter import TraceFilter
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace
from tests.ingest.test_repeated_turns import carried, read, send, sent

NEXT = f"{int(HEAD) + 1:04}"
TAKES_AWAY = re.compile(
    r"DROP (TABLE|COLUMN)|RENAME|drop_column|drop_table|rename_table|alter_column|SET NOT NULL", re.I
)
BEFORE_THE_RULE = "0016"


def upgraded(connection: Connection, since: str) -> None:
    """What the next version does to a database when it only adds."""
    for table in ("traces", "spans", "eval_dataset", "runs", "curation_queue"):
        connection.execute(text(f"ALTER TABLE {table} ADD COLUMN coming TEXT NOT NULL DEFAULT 'later'"))
    connection.execute(text("CREATE TABLE coming (id INTEGER PRIMARY KEY, trace_id TEXT REFERENCES traces (id))"))
    connection.execute(text("UPDATE alembic_version SET version_num = :next"), {"next": NEXT})
    connection.execute(
        text("UPDATE workspace_facts SET value = :value WHERE name = :name"),
        {"name": COMPATIBLE, "value": f"{NEXT} {since}"},
    )


def test_a_version_works_on_what_the_next_one_added_to(settings: Settings) -> None:
    with Workspace.open(settings) as running:
        send(running, sent(0))
        running.store.db.write(lambda connection: upgraded(connection, HEAD))
        # A server that was started before the upgrade goes on.
        send(running, sent(1))
        running.intake.accept([a_trace("t1", scores=[a_score()])])
    # One that is started after it as well, for intake, reading, curation and retention.
    with Workspace.open(settings) as started:
        assert send(started, sent(1), sent(2)).duplicates == 1
        for turn in range(3):
            assert read(started, turn) == carried(sent(turn))
        assert started.live.curate().traces >= 1
        assert [trace.id for trace in started.intake.page(TraceFilter(search="word2"), limit=5)[0]] == [f"{3:032x}"]
        assert started.live.prune("90d").deleted == 3
        with started.store.db.read() as connection:
            assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == NEXT


def test_a_version_that_misses_something_is_refused_with_what_it_needs(settings: Settings) -> None:
    store = Store.open(settings)
    store.db.write(lambda connection: upgraded(connection, NEXT))
    store.close()
    with pytest.raises(Refused, match=rf"{NEXT}, newer than this program knows \({HEAD}\), and needs one of {NEXT} or"):
        Store.open(settings)


def test_a_backup_by_the_older_version_leaves_nothing_out(settings: Settings, tmp_path: Path) -> None:
    with Workspace.open(settings) as workspace:
        workspace.store.db.write(lambda connection: upgraded(connection, HEAD))
        if settings.database_url:
            with pytest.raises(Refused, match="parts of it would be left out"):
                workspace.backups.write(tmp_path / "backup.zip")
        else:  # a file is copied as it is
            workspace.backups.write(tmp_path / "backup.zip")


def test_revisions_add_and_removing_ones_wait_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(migrations.__file__).parent / "versions"
    for path in folder.glob("[0-9]*.py"):
        number = path.name[:4]
        if number > BEFORE_THE_RULE:
            assert number in REMOVES or not TAKES_AWAY.search(path.read_text()), f"{path.name} removes: see REMOVES"
    for removing, since in REMOVES.items():
        assert removing in REVISIONS and since in REVISIONS
        assert since < removing, f"{removing} removes what programs of {since} must already do without"
    monkeypatch.setitem(REMOVES, "0020", "0018")
    assert [compatible_since(one) for one in ("0017", "0019", "0020", "0021")] == [FIRST_SIDE_BY_SIDE] * 2 + [
        "0018"
    ] * 2


def test_the_database_notes_what_can_work_on_it(store: Store) -> None:
    with store.db.read() as connection:
        assert migrate._oldest_program(connection, HEAD) == compatible_since(HEAD)
        assert migrate._oldest_program(connection, "9999") is None


def test_indexes_are_built_beside_writers_before_the_revisions_that_need_them(
    migrated_url: str, tmp_path: Path
) -> None:
    store = Store.open(Settings(home=tmp_path, database_url=migrated_url))
    for statement in (
        "DROP INDEX traces_by_took",
        # What a build that was interrupted leaves behind.
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'traces_by_cost'::regclass",
        "UPDATE alembic_version SET version_num = '0013'",
    ):
        store.db.write(lambda connection, statement=statement: connection.execute(text(statement)).close())  # type: ignore[misc]
    built: list[str] = []

    def look(connection: Connection, revision: str) -> None:
        valid = "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE indisvalid"
        built.extend({"traces_by_took", "traces_by_cost"} & set(connection.execute(text(valid)).scalars()))
        migrate._step(connection, revision)
        assert migrate._oldest_program(connection, revision) == compatible_since(revision)

    upgrade_online(store.db, lambda: migrate._revisions_left(store.db), look)
    assert sorted(built[:2]) == ["traces_by_cost", "traces_by_took"]
    assert migrate._revisions_left(store.db) == []
    # A server that waited for its turn finds nothing left to do.
    migrate.bring_up_to_date(store.db)
    store.close()


def test_indexes_of_another_workspace_in_the_same_database_are_its_own(migrated_url: str, tmp_path: Path) -> None:
    store = Store.open(Settings(home=tmp_path, database_url=migrated_url))
    for statement in (
        "DROP INDEX traces_by_took",
        "CREATE SCHEMA elsewhere",
        "CREATE TABLE elsewhere.traces (seq INTEGER)",
        "CREATE INDEX traces_by_took ON elsewhere.traces (seq)",
        "CREATE INDEX traces_by_cost ON elsewhere.traces (seq)",
        # Under construction at this moment.
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'elsewhere.traces_by_cost'::regclass",
    ):
        store.db.write(lambda connection, statement=statement: connection.execute(text(statement)).close())  # type: ignore[misc]

    def index(name: str) -> int | None:
        with store.db.read() as connection:
            number: int | None = connection.execute(text(f"SELECT to_regclass('{name}')::oid")).scalar_one()
            return number

    before = index("traces_by_cost")
    build_indexes(store.db)
    assert index("traces_by_took") is not None
    assert index("traces_by_cost") == before
    store.close()
