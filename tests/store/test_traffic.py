"""Figures of the traffic by model and by name, on both databases."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, text

from evergold.errors import Unavailable
from evergold.model.overview import Bucket, Grouping, Period, Traffic
from evergold.model.trace import Score, Trace, TraceStatus
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.trace.filter import TraceFilter
from evergold.store.trace.pages import count_traces
from evergold.store.trace.traces import put_traces
from evergold.store.trace.traffic import count_hours, keep_hours
from evergold.store.traffic_marks import take_hours
from evergold.upkeep import traffic
from evergold.upkeep.traffic import TrafficWatch, percentiles_of
from evergold.workspace import Workspace

NOW = datetime.now(UTC)
WEEK = timedelta(days=7)


def a_call(ident: str, *, took: int = 100, days_ago: float = 0, scores: tuple[Score, ...] = (), **more: Any) -> Trace:
    started = NOW - timedelta(days=days_ago) - timedelta(milliseconds=took)
    metadata = {"total_tokens": 10, "cost": 0.5, "model": "small"} | more.pop("metadata", {})
    ended = started + timedelta(milliseconds=took)
    return Trace(
        id=ident, started_at=started, ended_at=ended, metadata=metadata, scores=scores, **{"name": "chat"} | more
    )


def look(store: Store, by: Grouping = Grouping.MODEL, length: timedelta = WEEK, bucket: Bucket = Bucket.DAY) -> Traffic:
    return TrafficWatch(store).read_period(length, by, bucket)


def put(store: Store, *traces: Trace) -> None:
    store.db.write(lambda connection: put_traces(connection, traces))


def test_an_empty_store_has_no_traffic(store: Store) -> None:
    seen = look(store)
    assert (seen.total.figures.traces, seen.total.figures.p95, seen.groups, seen.checks) == (0, None, [], [])


def test_figures_add_up_by_model_and_by_day(store: Store) -> None:
    put(
        store,
        a_call("a", took=100),
        a_call("b", took=300, days_ago=2, status=TraceStatus.FAILED),
        a_call("c", took=50, metadata={"model": "large", "cost": 2.0}),
        a_call("d", metadata={"model": None, "total_tokens": None, "cost": None}),
        a_call("old", days_ago=30),
    )
    seen = look(store)
    assert [(group.value, group.figures.traces) for group in seen.groups] == [("small", 2), ("", 1), ("large", 1)]
    small = seen.groups[0]
    assert (small.figures.failed, small.figures.tokens, small.figures.cost) == (1, 20, 1.0)
    assert (small.figures.p50, small.figures.p99) == (100, 300)
    assert [bucket.traces for bucket in small.buckets] == [1, 1]
    assert (seen.total.figures.traces, seen.total.figures.cost) == (4, 3.0)


def test_rare_names_are_counted_together(store: Store) -> None:
    often = [a_call(f"o{number}", name=f"n{number % 12:02d}") for number in range(24)]
    put(store, *often, a_call("once", name="zz-1"), a_call("again", name="zz-2"))
    groups = look(store, Grouping.NAME).groups
    assert [group.value for group in groups] == [*(f"n{number:02d}" for number in range(12)), None]
    assert groups[-1].figures.traces == 2


def test_checks_are_counted_by_their_traces_and_fail_below_the_threshold(store: Store) -> None:
    put(
        store,
        a_call("a", scores=(Score(name="grounded", value=0.1), Score(name="polite", value=1.0))),
        a_call("b", scores=(Score(name="grounded", value=0.3),), days_ago=1, metadata={"model": "large"}),
    )
    seen = look(store)
    (check,) = seen.checks
    assert (check.name, check.source, check.scored, check.failing) == ("grounded", "system", 2, 1)
    assert [(bucket.scored, bucket.failing) for bucket in check.buckets] == [(1, 0), (1, 1)]
    figures = {group.value: (group.figures.scored, group.figures.failing) for group in seen.groups}
    assert figures == {"small": (2, 1), "large": (1, 0)}


def test_each_figure_is_that_of_a_list_of_traces(store: Store) -> None:
    put(
        store,
        a_call("a", scores=(Score(name="grounded", value=0.1),), took=5_432),
        a_call("b", metadata={"model": None}),
        a_call("c", status=TraceStatus.FAILED),
    )
    seen = look(store)
    with store.db.read() as connection:
        for group in seen.groups:
            wanted = TraceFilter(model=(group.value or "",), since=seen.since)
            assert count_traces(connection, wanted) == group.figures.traces
        assert count_traces(connection, TraceFilter(score=("*<0.3",), since=seen.since)) == seen.total.figures.failing
        assert count_traces(connection, TraceFilter(took_min=seen.total.figures.p99)) == 1


def test_a_day_is_divided_into_hours(store: Store) -> None:
    put(store, a_call("a"), a_call("b", days_ago=0.9), a_call("c", days_ago=1.2))
    seen = look(store, length=timedelta(days=1), bucket=Bucket.HOUR)
    assert [len(bucket.start) for bucket in seen.total.buckets] == [13, 13]


def test_figures_follow_every_change(store: Store) -> None:
    watch = TrafficWatch(store)

    def seen() -> tuple[int, int, float | None, int, int]:
        figures = watch.read_period(WEEK, Grouping.MODEL, Bucket.DAY).total.figures
        return figures.traces, figures.failed, figures.cost, figures.scored, figures.failing

    put(store, a_call("a", scores=(Score(name="grounded", value=0.1),)))
    assert seen() == (1, 0, 0.5, 1, 1)
    put(store, a_call("late", days_ago=3, scores=(Score(name="grounded", value=1.0),)))
    assert seen() == (2, 0, 1.0, 2, 1)
    for statement, expected in (
        ("UPDATE traces SET status = 'failed', cost = 2.5 WHERE id = 'late'", (2, 1, 3.0, 2, 1)),
        ("UPDATE trace_scores SET value = 0.9 WHERE trace_id = 'a'", (2, 1, 3.0, 2, 0)),
        ("INSERT INTO trace_scores (trace_id, name, value) VALUES ('a', 'polite', 0)", (2, 1, 3.0, 3, 1)),
        ("DELETE FROM trace_scores WHERE name = 'polite'", (2, 1, 3.0, 2, 0)),
        ("INSERT INTO trace_scores (trace_id, name, value) VALUES ('late', 'calm', 0)", (2, 1, 3.0, 3, 1)),
        ("UPDATE traces SET started_at = '2020-01-01T00:00:00.000Z' WHERE id = 'a'", (1, 1, 2.5, 2, 1)),
        ("UPDATE traces SET cost = NULL WHERE id = 'late'", (1, 1, None, 2, 1)),
        ("DELETE FROM traces WHERE id = 'late'", (0, 0, None, 0, 0)),
    ):
        store.db.write(partial(_run, statement=statement))
        assert seen() == expected, statement


def _run(connection: Connection, statement: str) -> None:
    connection.execute(text(statement))


def test_a_change_that_comes_while_an_hour_is_counted_is_counted_next(store: Store) -> None:
    put(store, a_call("a"))
    taken, _ = store.db.write(lambda connection: take_hours(connection, 24))
    with store.db.read() as connection:
        counted = count_hours(connection, taken)
    put(store, a_call("b"))
    other = look(store)  # another process takes the same hours, and is first
    assert other.total.figures.traces == 2
    assert not store.db.write(lambda connection: keep_hours(connection, counted, taken))
    assert look(store).total.figures.traces == 2


def test_figures_that_could_not_be_counted_say_of_when_they_are(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traffic, "HELD_REST", 0.0)
    with Workspace.open(settings) as workspace:
        put(workspace.store, a_call("a"))
        first = workspace.overviews.traffic(Period.DAY, Grouping.MODEL)
        put(workspace.store, a_call("b"))
        with monkeypatch.context() as held:
            held.setattr(traffic, "take_hours", refuse)
            second = workspace.overviews.traffic(Period.DAY, Grouping.MODEL)
            overview = workspace.overviews.read_period(Period.DAY)
            assert TrafficWatch(workspace.store).refresh() is None, "nobody knows when the figures were counted"
        third = workspace.overviews.traffic(Period.DAY, Grouping.MODEL)
    assert second.total.figures.traces == 1 and second.as_of == first.as_of == overview.as_of
    assert second.age is not None and first.age is not None and second.age > first.age >= 0
    assert third.total.figures.traces == 2 and str(third.as_of) > str(first.as_of)


def refuse(*_: Any) -> Any:
    raise Unavailable("another program holds the database")


def test_every_period_can_be_asked_for(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        put(workspace.store, a_call("a"), a_call("b", days_ago=200))
        counts = {period: workspace.overviews.traffic(period, Grouping.NAME).total.figures.traces for period in Period}
    assert counts == {Period.DAY: 1, Period.WEEK: 1, Period.MONTH: 1, Period.QUARTER: 1, Period.YEAR: 2}


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=200))
def test_percentiles_are_nearest_ranks(latencies: list[int]) -> None:
    ordered = sorted(latencies)
    expected = [ordered[-(-len(ordered) * percent // 100) - 1] for percent in (50, 95, 99)]
    assert percentiles_of(Counter(latencies)) == expected
