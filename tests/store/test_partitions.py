"""Spans by day on PostgreSQL: a partition for each day, days dropped as a whole, and a filled plain table turned into one."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, MetaData, inspect, text
from sqlalchemy.schema import CreateIndex, CreateTable

from evergold.errors import Unavailable
from evergold.settings import Settings
from evergold.store.partitions import days, locking
from evergold.store.partitions.dropping import drop_old
from evergold.store.partitions.ranges import BEFORE, BOUND, FIRST, KEPT, SpanRange, drawn_number, span_ranges
from evergold.store.schema import spans, traces
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace
from tests.ingest.test_repeated_turns import carried, read, send, sent, trace_id

BeginDay = Callable[[int], bool]
OLD = "2026-01-06T00:00:00Z"  # before the sixth of the turns


@pytest.fixture
def workspace(migrated_url: str, tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(Settings(home=tmp_path / "home", database_url=migrated_url)) as opened:
        yield opened


@pytest.fixture
def on_day(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[BeginDay]:
    """Begin a day by its number, whatever the clock of the database says."""

    def begin(day: int) -> bool:
        monkeypatch.setattr(days, "todays_name", lambda _: f"spans_2999_01_{day:02}")
        return days.begin_today(workspace.store.db)

    yield begin


def ranges(workspace: Workspace) -> list[SpanRange]:
    with workspace.store.db.read() as connection:
        return span_ranges(connection)


def names(workspace: Workspace) -> list[str]:
    return [one.name for one in ranges(workspace)]


def rows_in(workspace: Workspace, table: str) -> int:
    with workspace.store.db.read() as connection:
        return int(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())


def make_plain(connection: Connection) -> None:
    """Put the table that `spans` was before it had partitions in its place."""
    connection.execute(text("CREATE TABLE rows_of_spans AS SELECT * FROM spans"))
    connection.execute(text("DROP TABLE spans"))
    apart = MetaData()
    traces.to_metadata(apart)
    plain = spans.to_metadata(apart)
    plain.dialect_options["postgresql"]["partition_by"] = None
    connection.execute(CreateTable(plain))
    for index in plain.indexes:
        connection.execute(CreateIndex(index))
    connection.execute(text("INSERT INTO spans SELECT * FROM rows_of_spans"))
    connection.execute(text("DROP TABLE rows_of_spans"))


def test_a_new_database_begins_with_today_and_a_day_follows_it(workspace: Workspace, on_day: BeginDay) -> None:
    kept, today = ranges(workspace)
    assert (kept, today.first, today.end) == (SpanRange(KEPT, None, FIRST), FIRST, None)
    assert today.day is not None
    assert not days.begin_today(workspace.store.db)
    send(workspace, sent(0))
    assert on_day(1) and not on_day(1)
    send(workspace, sent(1))
    assert on_day(2) and on_day(3)  # nothing came on the second, so its partition is the third's
    assert names(workspace) == [KEPT, today.name, "spans_2999_01_01", "spans_2999_01_03"]
    assert [rows_in(workspace, name) for name in names(workspace)] == [0, 1, 1, 0]
    # A span of an old trace lies with it, and a repeated one is still known.
    assert send(workspace, sent(0), sent(1)).duplicates == 2
    for turn in (0, 1):
        assert read(workspace, turn) == carried(sent(turn))


def test_times_far_off_are_stored_with_what_came_that_day(workspace: Workspace, on_day: BeginDay) -> None:
    on_day(1)
    for number, year in enumerate((1, 1970, 2026, 9999)):
        workspace.intake.accept([a_trace(f"t{number}", started_at=f"{year:04}-06-01T00:00:00Z", spans=[{"id": "s"}])])
    assert rows_in(workspace, "spans_2999_01_01") == 4


def test_a_day_is_dropped_and_what_stays_is_whole(workspace: Workspace, on_day: BeginDay) -> None:
    for turn in range(4):
        send(workspace, sent(turn))
    workspace.intake.accept(
        [a_trace("cited", started_at="2026-01-01T00:00:00Z", scores=[a_score()], spans=[{"id": "s"}])]
    )
    workspace.live.curate()
    on_day(1)
    for turn in range(4, 7):
        send(workspace, sent(turn))
    on_day(2)
    send(workspace, sent(7))
    before = names(workspace)
    pruned = workspace.live.prune("90d")
    assert (pruned.partitions, pruned.deleted, pruned.kept) == (2, 8, 1)
    assert names(workspace) == [KEPT, before[-1]]
    assert workspace.intake.get("cited").spans[0].id == "s" and rows_in(workspace, "spans") == 1
    assert ranges(workspace)[0].end == ranges(workspace)[1].first
    send(workspace, sent(8))
    assert read(workspace, 8) == carried(sent(8))


def test_spans_of_later_days_do_not_build_on_a_day_that_is_dropped(workspace: Workspace, on_day: BeginDay) -> None:
    for turn in range(8):
        if turn == 4:
            on_day(1)
        send(workspace, sent(turn))
    on_day(2)
    assert drop_old(workspace.store.db, OLD) == 1
    assert [rows_in(workspace, name) for name in names(workspace)] == [0, 4, 0]
    for turn in range(4, 8):
        assert read(workspace, turn) == carried(sent(turn))
    assert workspace.live.prune("90d").deleted == 8


def test_a_locked_partition_is_one_line_and_goes_with_the_next_command(workspace: Workspace, on_day: BeginDay) -> None:
    send(workspace, sent(0))
    on_day(1)
    with workspace.store.db.read() as reading:
        reading.execute(text("SELECT 1 FROM spans"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(locking, "TRIES", 1)
            patch.setattr(locking, "FIRST_MS", 20)
            with pytest.raises(
                Unavailable, match=r"partition spans_.* not dropped and is whole.*lock.*same command again"
            ):
                workspace.live.prune("90d")
            with pytest.raises(Unavailable, match="lock"):
                on_day(2) or on_day(3)
    assert read(workspace, 0) == carried(sent(0))
    assert workspace.live.prune("90d").partitions == 1


@pytest.mark.parametrize("cut_short", [False, True])
def test_a_filled_plain_table_becomes_the_first_partition(
    workspace: Workspace, on_day: BeginDay, cut_short: bool
) -> None:
    for turn in range(3):
        send(workspace, sent(turn))
    workspace.store.db.write(make_plain)
    assert ranges(workspace) == []
    send(workspace, sent(3))
    if cut_short:  # a process that ended after its first step
        days._bounded(workspace.store.db, days.PLAIN)
        send(workspace, sent(4))
    with workspace.store.db.read() as connection:
        table = connection.execute(text("SELECT 'spans'::regclass::oid")).scalar_one()
    assert on_day(1)
    assert names(workspace) == [KEPT, BEFORE, "spans_2999_01_01"]
    with workspace.store.db.read() as connection:
        # The same table, which was not written anew.
        assert connection.execute(text(f"SELECT '{BEFORE}'::regclass::oid")).scalar_one() == table
        assert not connection.execute(text("SELECT 1 FROM pg_constraint WHERE conname = :b"), {"b": BOUND}).first()
        foreign = inspect(connection).get_foreign_keys(BEFORE)
        assert {one["constrained_columns"][0] for one in foreign} == {"trace_seq", "base_seq"} and len(foreign) == 2
    send(workspace, sent(5))
    for turn in (0, 3, 5):
        assert read(workspace, turn) == carried(sent(turn))
    workspace.live.erase("ann")
    assert rows_in(workspace, "spans") == 0


def test_more_traces_than_foreseen_are_stored_and_the_end_is_set_anew(workspace: Workspace, on_day: BeginDay) -> None:
    send(workspace, sent(0))
    last = ranges(workspace)[-1]
    end = days._bounded(workspace.store.db, last)

    def draw(connection: Connection) -> int:
        connection.execute(text(f"SELECT setval(pg_get_serial_sequence('traces', 'seq'), {end - 1})"))
        return drawn_number(connection)

    assert workspace.store.db.write(draw) == end - 1
    assert on_day(1)
    assert (ranges(workspace)[-1].first or 0) > end
    send(workspace, sent(1))
    assert trace_id(1) == workspace.intake.get(trace_id(1)).id
