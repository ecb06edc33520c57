"""The Sidekick database: every shape of row, and every way it can be unreadable."""

import hashlib
import sqlite3
from pathlib import Path

import pytest

from evergold.errors import BadInput, NotFound, Unavailable
from evergold.model.flow import Action
from evergold.sources.sidekick import SidekickSource, default_database, parse_time
from tests.rows import each_row
from tests.sidekick_db import SidekickDb


@pytest.fixture
def db(tmp_path: Path) -> SidekickDb:
    return SidekickDb(tmp_path / "sidekick.core.db", repo_dir="/repo")


def source(db: SidekickDb, **more: object) -> SidekickSource:
    return SidekickSource("ws", db.path, **more)  # type: ignore[arg-type]


def actions(db: SidekickDb) -> tuple[Action, ...]:
    (flow,) = source(db).flows()
    return flow.actions


def test_completed_tasks_with_a_worktree_in_the_order_of_ids(db: SidekickDb) -> None:
    db.task("t2")
    db.task("t1", archived="2026-01-02T00:00:00Z")
    db.task("t3", status="in_progress")
    for flow, task in (("f3", "t2"), ("f2", "t1"), ("f1", "t1"), ("f4", "t3")):
        db.flow(flow, task)
    db.flow("f5", "t2", branch=None)
    assert [flow.id for flow in source(db).flows()] == ["f1", "f2", "f3"]
    assert source(db).count() == 3
    assert [flow.id for flow in source(db, skip_archived=True).flows()] == ["f3"]
    assert source(db).repo_dir() == "/repo"
    one = source(db).flow("f2")
    assert one is not None and one.task_id == "t1"


@pytest.mark.parametrize("indexed", [True, False])
def test_actions_are_ordered_to_the_nanosecond_with_and_without_an_index(tmp_path: Path, indexed: bool) -> None:
    db = SidekickDb(tmp_path / "db", indexed=indexed)
    db.task()
    db.flow()
    db.flow("other")
    db.action("x", flow_id="other")
    db.action("x", id="c", created="2026-01-02T15:04:05.000000002Z")
    db.action("x", id="b", created="2026-01-02 16:04:05.000000001 +0100 CET m=+0.5")
    db.action("x", id="d", created="2026-01-02T15:04:05.000000002Z")
    db.action("x", id="a", created="2026-01-02T15:04:05.000000003Z")
    flow = source(db).flow("flow")
    assert flow is not None and [action.id for action in flow.actions] == ["b", "c", "d", "a"]


@pytest.mark.parametrize(
    ("stored", "text", "error"),
    [
        ('"line\\nnext"', "line\nnext", False),
        (b'"line\\nnext"', "line\nnext", False),
        ('{"content":[{"type":"text","text":"a\\nb"},{"type":"image"}],"isError":false}', "a\nb", False),
        ('{"content":[{"type":"text","text":"no"}],"isError":true}', "no", True),
        ('{"Response":"old\\nshape","IsError":false}', "old\nshape", False),
        ('{"Response":{"k":1},"IsError":true}', '{"k":1}', True),
        ("failed: no such file", "failed: no such file", True),
        ('{"Approved":true}', '{"Approved":true}', False),
        ("null", None, False),
        (None, None, False),
        ("", None, False),
    ],
)
def test_results_are_unwrapped(db: SidekickDb, stored: object, text: str | None, error: bool) -> None:
    db.task()
    db.flow()
    db.action("x", result=stored, raw=True)
    assert [(action.result, action.error) for action in actions(db)] == [(text, error)]


def test_broken_json_is_named_and_the_rest_goes_on(db: SidekickDb) -> None:
    db.task()
    db.flow()
    db.action("x", b"{broken", id="bad")
    db.action("x", b"[1]", id="list")
    db.action("x", result="not json", raw=True, id="plain")
    (flow,) = source(db).flows()
    assert len(flow.actions) == 3
    assert [problem.split(": ")[0] for problem in flow.metadata["problems"]] == [
        f"flow_actions row '{name}'" for name in ("bad", "list", "plain")
    ]


def test_a_broken_time_names_its_row(db: SidekickDb) -> None:
    db.task()
    db.flow()
    db.action("x", id="odd", created="yesterday")
    with pytest.raises(BadInput, match=r"row 'odd'.*'yesterday' is not a time"):
        list(source(db).flows())


def test_an_unknown_workspace_lists_those_there_are(db: SidekickDb) -> None:
    with pytest.raises(NotFound, match=r"no workspace 'no'.*it has: ws"):
        list(SidekickSource("no", db.path).flows())


def test_older_and_newer_databases(db: SidekickDb) -> None:
    db.task()
    db.flow()
    db.action("x")
    db.connection.executescript(
        "ALTER TABLE tasks DROP COLUMN archived; ALTER TABLE flow_actions DROP COLUMN is_human_action;"
    )
    db.connection.executescript("ALTER TABLE tasks ADD COLUMN mood TEXT; CREATE TABLE future (id TEXT);")
    assert len(actions(db)) == 1
    db.connection.execute("ALTER TABLE flow_actions DROP COLUMN action_result")
    with pytest.raises(BadInput, match=r"table 'flow_actions' of .* lacks action_result"):
        list(source(db).flows())
    db.connection.execute("DROP TABLE worktrees")
    db.connection.execute("ALTER TABLE flow_actions ADD COLUMN action_result TEXT")
    with pytest.raises(BadInput, match="no table 'worktrees'"):
        list(source(db).flows())


def test_what_is_no_database_and_what_is_missing(tmp_path: Path) -> None:
    text = tmp_path / "notes.db"
    text.write_text("These are notes, not a database. " * 50)
    with pytest.raises(BadInput, match="cannot be read as a Sidekick database"):
        list(SidekickSource("ws", text).flows())
    with pytest.raises(NotFound, match="--sidekick-db"):
        list(SidekickSource("ws", tmp_path / "none.db").flows())


def test_a_locked_database_is_said_to_be_locked(tmp_path: Path) -> None:
    path = tmp_path / "db"
    holder = sqlite3.connect(path)
    holder.executescript("CREATE TABLE x (y); BEGIN EXCLUSIVE; INSERT INTO x VALUES (1);")
    with pytest.raises(Unavailable, match="locked"):
        list(SidekickSource("ws", path, busy_seconds=0.01).flows())
    holder.close()


def test_a_database_in_use_is_read_and_left_as_it_was(db: SidekickDb) -> None:
    db.task()
    db.flow()
    db.action("x")
    before = hashlib.sha256(db.path.read_bytes()).hexdigest()
    db.connection.execute("BEGIN IMMEDIATE")
    assert len(actions(db)) == 1
    db.connection.rollback()
    assert hashlib.sha256(db.path.read_bytes()).hexdigest() == before


def test_the_default_database_is_where_the_app_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    monkeypatch.delenv("SIDE_DATA_HOME", raising=False)
    assert default_database() == Path("/data/sidekick/sidekick.core.db")
    monkeypatch.setenv("SIDE_DATA_HOME", "/side")
    assert default_database() == Path("/side/sidekick.core.db")


@each_row(
    ("text", "expected"),
    [
        ("2026-01-02T15:04:05.123456789Z", 1767366245_123456789),
        ("2026-01-02T17:04:05.123456789+02:00", 1767366245_123456789),
        ("2026-01-02 15:04:05.123456789 +0000 UTC m=+1.2", 1767366245_123456789),
        ("2026-01-02 12:04:05.1 -0300 -03", 1767366245_100000000),
        ("2026-01-02 15:04:05", 1767366245_000000000),
        ("2026-01-02 15:04:05+00:00", 1767366245_000000000),
    ],
)
def test_times_of_both_forms(text: str, expected: int) -> None:
    assert parse_time(text).nanoseconds == expected


@each_row("text", ["", "yesterday", "2026-13-02T15:04:05Z", "2026-01-02"])
def test_other_texts_are_no_times(text: str) -> None:
    with pytest.raises(ValueError):
        parse_time(text)


def test_a_time_before_year_one_in_utc_is_no_time() -> None:
    with pytest.raises(ValueError, match="outside the years 1 to 9999 in UTC"):
        parse_time("0001-01-01 00:00:00 +0100 CET")
