"""Cases in and out, on both databases."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from evergold.errors import Conflict, NotFound
from evergold.model.case import Case, CaseKind, Context, LineRange, Provenance, RankedPath
from evergold.model.tool_calls import ExpectedTool, ToolCall
from evergold.store import Store
from evergold.store.case.cases import CaseFilter, count_cases, get_case, iterate_cases, page_of_cases, revisions_of
from evergold.store.case.writes import Author, put_cases, revise_case
from evergold.store.trace.traces import put_traces
from tests.builders import a_case, a_trace

WHOLE = Case(
    id="w1",
    dataset="everything",
    kind=CaseKind.CONTEXT,
    name="whole",
    input="find it",
    output="o",
    expected="e",
    prompt="p",
    contexts=(Context(text=None, source="a"), Context(text="x", retrieved={"score": 0.1})),
    messages=({"role": "user", "content": "hi"},),
    tools=({"name": "f"},),
    tool_calls=(ToolCall(name="f", args={"a": [1]}),),
    expected_tools=(ExpectedTool(name="f"),),
    paths=(RankedPath(path="a.py", sources=("manual",), extra={"changeType": "add"}),),
    ranges=(LineRange(path="a.py", start=1, end=2, sources=("golden_diff",), blob="b", text_hash="h"),),
    base_commit="abc",
    citations=({"n": 1},),
    answer_citations=(),
    tags=("b", "a"),
    metadata={"confirmed": True, "ü": None},
    extra={"unknownKey": 1},
    provenance=Provenance(source="sidekick", trace_id="not-here", repository="r", case_index=0),
)


def test_every_field_of_a_case_survives(store: Store) -> None:
    store.db.write(lambda c: put_cases(c, [WHOLE], Author()))
    with store.db.read() as connection:
        held = get_case(connection, "everything", "w1")
    assert held.content() == WHOLE.model_copy(update={"tags": ("a", "b")}).content()
    assert held.created_at is not None


def test_putting_twice_changes_nothing_and_a_change_is_a_revision(store: Store) -> None:
    first = store.db.write(lambda c: put_cases(c, [a_case()], Author()))
    again = store.db.write(lambda c: put_cases(c, [a_case()], Author()))
    changed = a_case(output="Lima!", tags=("geo",))
    edited = store.db.write(lambda c: put_cases(c, [changed], Author(who="ana", action="edited", why="typo")))
    assert (first.added, again.unchanged, edited.changed) == (1, 1, 1)
    with store.db.read() as connection:
        history = revisions_of(connection, "live", "c1")
        assert get_case(connection, "live", "c1").tags == ("geo",)
    assert [(r.version, r.who, r.action) for r in history] == [(1, "system", "imported"), (2, "ana", "edited")]
    assert history[1].changes["output"] == {"old": "Lima.", "new": "Lima!"}
    assert history[1].rev == changed.rev() != history[0].rev


def test_a_stale_version_never_overwrites(store: Store) -> None:
    store.db.write(lambda c: put_cases(c, [a_case()], Author()))
    store.db.write(lambda c: revise_case(c, a_case(output="one"), Author(), expected_version=1))
    with pytest.raises(Conflict, match="version 2"):
        store.db.write(lambda c: revise_case(c, a_case(output="two"), Author(), expected_version=1))
    with store.db.read() as connection:
        assert get_case(connection, "live", "c1").output == "one"


def test_filters_pages_and_counts_agree(store: Store) -> None:
    cases = [a_case(f"c{i}", tags=("even",) if i % 2 == 0 else (), metadata={"confirmed": i < 5}) for i in range(25)]
    store.db.write(lambda c: put_cases(c, cases, Author()))
    wanted = CaseFilter(dataset="live", tag="even")
    seen: list[str] = []
    with store.db.read() as connection:
        cursor: str | None = None
        while True:
            page, cursor = page_of_cases(connection, wanted, limit=4, before=cursor)
            seen.extend(case.id for case in page)
            if cursor is None:
                break
        assert seen == [f"c{i}" for i in range(24, -1, -2)]
        assert count_cases(connection, wanted) == 13
        assert count_cases(connection, CaseFilter(confirmed=True)) == 5
        assert count_cases(connection, CaseFilter(search="PERU")) == 25
        assert count_cases(connection, CaseFilter(search="100%")) == 0
        assert [case.id for case in iterate_cases(connection, wanted)] == [f"c{i}" for i in range(0, 25, 2)]
        with pytest.raises(NotFound, match="c99"):
            get_case(connection, "live", "c99")


def test_the_insert_people_write_by_hand_makes_a_whole_case(store: Store) -> None:
    store.db.write(lambda c: put_traces(c, [a_trace("trace_xyz")]))
    store.db.write(
        lambda c: (
            c.execute(
                text(
                    "INSERT INTO eval_dataset (trace_id, entry_type, input_text, output_text) "
                    "SELECT id, 'golden', input_text, output_text FROM traces WHERE id = 'trace_xyz'"
                )
            ).rowcount
        )
    )
    with store.db.read() as connection:
        (case,), _ = page_of_cases(connection, CaseFilter(), limit=5, before=None)
    assert (case.dataset, case.kind, case.output, case.provenance.trace_id) == ("live", "chat", "Lima.", "trace_xyz")
    assert case.id and case.created_at is not None


def test_many_writers_share_commits_and_one_failure_stays_alone(store: Store) -> None:
    def work(number: int) -> bool:
        try:
            store.db.write(lambda c: _put_or_fail(c, number))
        except ZeroDivisionError:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(work, range(60)))
    with store.db.read() as connection:
        assert count_cases(connection, CaseFilter()) == 40
    assert outcomes == [number % 3 != 0 for number in range(60)]


def _put_or_fail(connection: object, number: int) -> None:
    put_cases(connection, [a_case(f"n{number}")], Author())  # type: ignore[arg-type]
    if number % 3 == 0:
        raise ZeroDivisionError
