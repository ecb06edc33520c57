"""Repeats of questions for lists and pages: counted anew when the dataset changes, and never for long."""

from collections.abc import Sequence

import pytest
from sqlalchemy import Connection, RowMapping

from evergold.build import repeats
from evergold.model.case import Case
from evergold.settings import Settings
from evergold.store.case.content import add_contents
from evergold.workspace import Workspace
from tests.builders import a_case


def test_repeats_follow_the_dataset(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        workspace.cases.put(a_case(f"c{n}", dataset="faq", input="When are you open?") for n in range(2))
        assert workspace.repeats.of("faq", ["c0", "none"]).of["c0"].cases == 2
        workspace.cases.put([a_case("c2", dataset="faq", input="when are you open")])
        shown = workspace.repeats.of("faq", ["c2"])
        assert (shown.of["c2"].examples, shown.counts.repeating) == (("c0", "c1", "c2"), 3)
        assert workspace.repeats.of("other").counts.cases == 0


def test_a_slow_reading_stops_and_says_how_far_it_came(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "MOST_SECONDS", -1.0)
    with Workspace.open(settings) as workspace:
        workspace.cases.put(a_case(f"c{n}", dataset="faq", input="When are you open?") for n in range(3))
        counts = workspace.repeats.of("faq").counts
    assert (counts.cases, counts.looked_at, counts.questions) == (3, 1, 0)


def test_slow_cases_are_read_a_few_at_a_time(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock that moves a second for every case read, three of six are reached in the time of two."""
    clock = [0.0]

    def slowly(connection: Connection, rows: Sequence[RowMapping], own: Sequence[Case]) -> list[Case]:
        clock[0] += len(rows)
        return add_contents(connection, rows, own)

    monkeypatch.setattr("evergold.store.case.cases.add_contents", slowly)
    monkeypatch.setattr(repeats, "READ", 1)
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    with Workspace.open(settings) as workspace:
        workspace.cases.put(a_case(f"c{n}", dataset="faq", input="When are you open?") for n in range(6))
        assert workspace.repeats.of("faq").counts.looked_at == 3
