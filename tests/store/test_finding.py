"""Finding traces: every filter, order and count, and words inside scripts that put no space between them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, text

from evergold.errors import BadInput, NotFound
from evergold.model.case import Provenance
from evergold.model.case_actions import ListPage, ListView
from evergold.model.trace import Retagging, Score, Trace, TraceStatus
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter, CaseOrder
from evergold.store.schema import traces as trace_table
from evergold.store.text_index import fold, learn_parts, parts_of
from evergold.store.trace.filter import TraceFilter, TraceOrder, choose_traces, score_condition, score_match
from evergold.store.trace.search import SearchTerms, is_common, match_of
from evergold.workspace import Workspace
from tests.builders import a_case
from tests.rows import each_row

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def workspace(settings: Settings) -> Iterator[Workspace]:
    with Workspace.open(settings) as opened:
        yield opened


def traces(count: int) -> list[Trace]:
    return [
        Trace(
            id=f"t{number}",
            name=("chat", "search", "plan")[number % 3],
            input=f"question {number}",
            status="failed" if number % 4 == 0 else "completed",
            started_at=BEGAN + timedelta(minutes=number),
            ended_at=BEGAN + timedelta(minutes=number, milliseconds=100 * (number + 1)),
            tags=("even",) if number % 2 == 0 else (),
            metadata={"model": f"m{number % 2}", "total_tokens": 10 * number, "cost": number / 100, "release": "2.1"}
            | ({"error": "Rate limit reached"} if number % 4 == 0 else {})
            | ({"beta": True} if number == 3 else {}),
            scores=(
                Score(name="grounded", value=number % 11 / 10),
                Score(name="opinion", value=number % 2, source="human"),
            ),
        )
        for number in range(count)
    ]


def found(workspace: Workspace, order: TraceOrder = TraceOrder.NEWEST, **wanted: Any) -> list[str]:
    ids: list[str] = []
    before = None
    while True:
        page, before = workspace.intake.page(TraceFilter(**wanted), limit=3, before=before, order=order)
        ids += [trace.id for trace in page]
        if before is None:
            return ids


def test_each_filter_narrows_the_list(workspace: Workspace) -> None:
    workspace.intake.accept(traces(10))
    assert found(workspace, name=("chat", "plan")) == ["t9", "t8", "t6", "t5", "t3", "t2", "t0"]
    assert found(workspace, model="m1") == ["t9", "t7", "t5", "t3", "t1"]
    assert found(workspace, tag="even", status="failed") == ["t8", "t4", "t0"]
    assert found(workspace, tag="eve") == []
    assert found(workspace, score="grounded<0.3") == ["t2", "t1", "t0"]
    assert found(workspace, score=("grounded>=0.5", "human:opinion=1")) == ["t9", "t7", "t5"]
    assert found(workspace, score="user:opinion") == []
    assert found(workspace, took_min=800, took_max=900) == ["t8", "t7"]
    assert found(workspace, tokens_min=70, cost_max=0.08) == ["t8", "t7"]
    assert found(workspace, error="rate LIMIT") == ["t8", "t4", "t0"]
    assert found(workspace, metadata="beta=true") == ["t3"]
    assert len(found(workspace, metadata=("release=2.1", "model=m0"))) == 5
    assert found(workspace, since="2026-01-01T00:07", until="2026-01-01T00:09") == ["t8", "t7"]


def test_each_order_goes_from_page_to_page(workspace: Workspace) -> None:
    workspace.intake.accept([*traces(7), Trace(id="bare", input="no figures", started_at=BEGAN + timedelta(days=1))])
    rising = [f"t{number}" for number in range(7)]
    assert found(workspace, TraceOrder.OLDEST) == [*rising, "bare"]
    for falling, growing in (
        (TraceOrder.SLOWEST, TraceOrder.QUICKEST),
        (TraceOrder.MOST_TOKENS, TraceOrder.FEWEST_TOKENS),
        (TraceOrder.DEAREST, TraceOrder.CHEAPEST),
    ):
        assert found(workspace, falling) == [*rising[::-1], "bare"]
        assert found(workspace, growing) == [*rising, "bare"]
    with pytest.raises(BadInput, match="cursor"):
        workspace.intake.page(TraceFilter(), limit=3, before="soon|3", order=TraceOrder.SLOWEST)


@pytest.mark.parametrize("moved", [0, 5, 39])
def test_hits_of_a_common_word_are_in_order_of_time_whenever_they_came(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    """Few and windows are small here, so that every way of reading hits is taken."""
    monkeypatch.setattr("evergold.store.trace.filter.FEW", 2)
    monkeypatch.setattr("evergold.store.trace.filter.WINDOW", 6)
    made = traces(40)
    came = made[moved:] + made[:moved]
    workspace.intake.accept([*came[::2], *came[1::2]] if moved == 5 else came)
    newest_first = [trace.id for trace in reversed(made)]
    assert found(workspace, search="question") == newest_first
    assert found(workspace, search="question", model="m1") == newest_first[::2]
    assert found(workspace, TraceOrder.SLOWEST, model="m1") == newest_first[::2]
    assert found(workspace, score="human:opinion=1") == newest_first[::2]
    facets = workspace.intake.facets(TraceFilter(search="question"))
    assert (facets.total, [(one.value, one.count) for one in facets.models]) == (40, [("m0", 20), ("m1", 20)])


def test_words_that_postgresql_has_figures_of_are_found_like_others(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evergold.store.trace.search.COMMON_HITS", 0)
    made = traces(40)
    workspace.intake.accept(made)
    workspace.intake.index()
    workspace.store.db.write(lambda connection: connection.exec_driver_sql("ANALYZE"))
    with workspace.store.db.read() as connection:
        match = match_of(connection, SearchTerms(("question",), ()))
        assert match is not None
        assert is_common(connection, match) == (connection.dialect.name == "postgresql")
    newest_first = [trace.id for trace in reversed(made)]
    assert found(workspace, search="question") == newest_first
    assert found(workspace, search="questio") == newest_first, "a beginning"
    assert found(workspace, search="question absent") == []


def test_facets_say_when_they_count_the_newest_alone(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evergold.store.trace.pages.EXACT_TO", 6)
    workspace.intake.accept(traces(7))
    facets = workspace.intake.facets(TraceFilter())
    assert (facets.total, facets.exact, sum(one.count for one in facets.names)) == (6, False, 6)
    assert workspace.intake.facets(TraceFilter(until="2026-01-01T00:06")).exact


SENTENCES = {
    "zh": "我怎样取消订阅服务？",
    "ja": "注文したランプはいつ届きますか。",
    "th": "ฉันจะยกเลิกการสมัครสมาชิกได้อย่างไร",
    "ko": "구독을 해지하고 싶어요",
    "mixed": "我的iPhone手机坏了 order 118",
    "en": "How do I cancel my subscription?",
}


HITS = {
    "订阅": ["zh"],
    "消订": ["zh"],
    "我": ["mixed", "zh"],
    "取消订阅": ["zh"],
    "订取": [],
    "服务订阅": [],
    "ランプ": ["ja"],
    "届きます": ["ja"],
    "ยกเลิก": ["th"],
    "สมาชิก": ["th"],
    "해지": ["ko"],
    "手机 order": ["mixed"],
    "iPhone手机": ["mixed"],
    "cancel": ["en"],
}


def test_words_are_found_inside_scripts_without_spaces(workspace: Workspace) -> None:
    workspace.intake.accept([Trace(id=f"{name}-1", input=text) for name, text in SENTENCES.items()])
    hits = {asked: sorted(trace_id.removesuffix("-1") for trace_id in found(workspace, search=asked)) for asked in HITS}
    assert hits == HITS


def test_pairs_of_characters_are_forgotten_and_learnt_with_the_text(workspace: Workspace) -> None:
    workspace.intake.accept([Trace(id="t1", input="取消订阅"), Trace(id="t2", output="订阅")])
    assert found(workspace, search="订阅") == ["t2", "t1"]
    workspace.store.db.write(lambda c: c.execute(text("UPDATE traces SET input_text = '退款' WHERE id = 't1'")))
    workspace.store.db.write(lambda c: c.execute(text("DELETE FROM traces WHERE id = 't2'")))
    assert (found(workspace, search="订阅"), found(workspace, search="退款")) == ([], ["t1"])


def test_the_best_match_comes_first_when_asked_for(workspace: Workspace) -> None:
    long = "parcel " + "and much else " * 30
    workspace.intake.accept(
        [
            Trace(id="weak", input=long, started_at=BEGAN + timedelta(hours=2)),
            Trace(id="strong", input="parcel, parcel, parcel", started_at=BEGAN),
            Trace(id="other", input="nothing of it", started_at=BEGAN),
        ]
    )
    assert found(workspace, search="parcel") == ["weak", "strong"]
    assert found(workspace, TraceOrder.MATCH, search="parcel") == ["strong", "weak"]


def test_facets_count_what_the_list_holds(workspace: Workspace) -> None:
    workspace.intake.accept(traces(10))
    facets = workspace.intake.facets(TraceFilter(status="failed"))
    assert (facets.total, facets.exact) == (3, True)
    assert [(one.value, one.count) for one in facets.names] == [("chat", 1), ("plan", 1), ("search", 1)]
    assert [(one.value, one.count) for one in facets.models] == [("m0", 3)]
    assert [(one.value, one.count) for one in facets.tags] == [("even", 3)]
    assert [(one.name, one.count, one.failing) for one in facets.scores] == [("opinion", 3, 3), ("grounded", 3, 1)]


@each_row("written", ["", "grounded<.", "grounded<1.2.3"])
def test_a_condition_that_cannot_be_read_is_refused(written: str) -> None:
    with pytest.raises(BadInput, match="score condition"):
        TraceFilter(score=written)
    with pytest.raises(BadInput, match="metadata condition"):
        TraceFilter(metadata='a"b=1')


@given(st.text(alphabet="abc_ .:-", min_size=1), st.sampled_from(["<", "<=", ">", ">=", "="]), st.integers(0, 100))
def test_a_score_condition_is_read_as_it_is_written(name: str, sign: str, hundredths: int) -> None:
    read = score_condition(f"human:{name}{sign}{hundredths / 100}")
    assert (read.source, read.name, read.sign, read.value) == ("human", name, sign, hundredths / 100)


@given(st.text(max_size=40))
def test_a_search_asks_only_for_what_was_typed(typed: str) -> None:
    asked = SearchTerms.of(typed)
    assert all(part in fold(typed) for part in (*asked.words, *asked.pieces))
    assert all("".join(part[0] for part in parts_of(run)) in run for run in asked.pieces)


def test_tags_of_people_are_found_beside_those_of_the_app(workspace: Workspace) -> None:
    workspace.intake.accept(traces(4))
    changed = workspace.intake.retag(Retagging(trace_ids=("t1", "t2", "gone"), add=("look", "even")), "mira")
    assert [(one.trace_id, one.added, one.problem is None) for one in changed] == [
        ("t1", ("even", "look"), True),
        ("t2", ("even", "look"), True),
        ("gone", (), False),
    ]
    assert (found(workspace, tag="look"), found(workspace, tag="even")) == (["t2", "t1"], ["t2", "t1", "t0"])
    assert workspace.intake.get("t2").tags == ("even", "look")
    workspace.intake.retag(Retagging(trace_ids=("t1",), remove=("look", "never")), "mira")
    assert found(workspace, tag="look") == ["t2"]


def test_comments_are_kept_in_order_and_go_with_their_trace(workspace: Workspace) -> None:
    workspace.intake.accept(traces(1))
    first = workspace.intake.comment("t0", "Look at this.", "mira")
    workspace.intake.comment("t0", "I did.", "jan")
    assert [one.text for one in workspace.intake.comments("t0")] == ["Look at this.", "I did."]
    workspace.intake.uncomment(first.id)
    with pytest.raises(NotFound, match="no comment"):
        workspace.intake.uncomment(first.id)
    with pytest.raises(NotFound, match="no trace"):
        workspace.intake.comment("t9", "?", "jan")
    workspace.store.db.write(lambda c: c.execute(text("DELETE FROM traces")))
    assert workspace.intake.comments("t0") == []


def test_views_of_lists_are_kept_by_name(workspace: Workspace) -> None:
    workspace.operations.keep_view(ListView(page=ListPage.TRACES, name="mine", address="status=failed"))
    workspace.operations.keep_view(ListView(page=ListPage.TRACES, name="mine", address="status=completed"))
    kept = workspace.operations.keep_view(ListView(page=ListPage.CASES, name="mine", address="kind=qa"))
    assert workspace.operations.views(ListPage.CASES) == [kept]
    assert [view.address for view in workspace.operations.views(ListPage.TRACES)] == ["status=completed"]
    workspace.operations.delete_view(ListPage.TRACES, "mine")
    with pytest.raises(NotFound, match="no view"):
        workspace.operations.delete_view(ListPage.TRACES, "mine")


def test_cases_are_narrowed_ordered_and_counted(workspace: Workspace) -> None:
    cases = [
        a_case(
            f"c{number}",
            tags=("a", "b") if number % 2 else ("a",),
            metadata={"release": f"1.{number}"},
            provenance=Provenance(source="yaml" if number < 3 else "picked"),
        )
        for number in range(5)
    ]
    workspace.cases.put(cases)
    workspace.cases.tag("live", "c1", add=("late",), who="mira")

    def ids(order: CaseOrder = CaseOrder.NEWEST, **wanted: Any) -> list[str]:
        first, cursor = workspace.cases.page(CaseFilter(**wanted), limit=2, order=order)
        rest, _ = (
            workspace.cases.page(CaseFilter(**wanted), limit=9, before=cursor, order=order) if cursor else ([], "")
        )
        return [case.id for case in (*first, *rest)]

    assert ids(tag=("a", "b")) == ["c3", "c1"]
    assert ids(source="yaml") == ["c2", "c1", "c0"]
    assert ids(metadata="release=1.4") == ["c4"]
    assert ids(CaseOrder.OLDEST) == ["c0", "c1", "c2", "c3", "c4"]
    assert ids(CaseOrder.CHANGED)[0] == "c1"
    facets = workspace.cases.facets(CaseFilter(tag="b"))
    assert (facets.total, facets.exact) == (2, True)
    assert [(one.value, one.count) for one in facets.tags] == [("a", 2), ("b", 2), ("late", 1)]
    assert [(one.value, one.count) for one in facets.sources] == [("picked", 1), ("yaml", 1)]


def test_cases_are_found_by_any_part_of_a_text_learnt_or_not(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evergold.store.text_index.CASES_AT_ONCE", 2)
    texts = {
        "a": 'Cancel the "Basic" plan',
        "b": "I want 取消订阅服务",
        "c": "x" * 20_001 + " cancelled",
        "d": "100% sure_",
    }
    workspace.cases.put([a_case(name, input=given, output="", tags=()) for name, given in texts.items()])

    def ids(search: str) -> list[str]:
        return sorted(case.id for case in workspace.cases.page(CaseFilter(search=search), limit=9)[0])

    def all_ids() -> list[list[str]]:
        return [ids(part) for part in ("ANCEL", '"basic" p', "消订阅", "0% sure_", "0%_sure", "no", "b", "nowhere")]

    expected = [["a", "c"], ["a"], ["b"], ["d"], [], [], ["a", "b"], []]
    assert all_ids() == expected
    while workspace.store.db.write(learn_parts):
        assert all_ids() == expected
    workspace.store.db.write(
        lambda c: c.execute(text("UPDATE eval_dataset SET input_text = 'Keep it' WHERE case_id = 'a'"))
    )
    assert (ids("ANCEL"), ids("keep")) == (["c"], ["a"])
    workspace.store.db.write(lambda c: c.execute(text("DELETE FROM eval_dataset WHERE case_id = 'd'")))
    assert ids("0% sure_") == []


def test_a_list_shows_the_beginning_of_long_texts_where_it_is_asked_for(workspace: Workspace) -> None:
    workspace.intake.accept([Trace(id="long", input="q" * 5_000, output="a" * 5_000)])
    ((cut, *_), _) = workspace.intake.page(TraceFilter(), limit=1, preview=300)
    ((whole, *_), _) = workspace.intake.page(TraceFilter(), limit=1)
    assert (cut.input, cut.output) == ("q" * 300, "a" * 300)
    assert len(whole.input) == 5_000


def test_a_trace_is_held_against_a_score_by_its_own_scores(tmp_path: Path) -> None:
    """Over a million traces the index of all failing scores would be read once for each trace of the list."""
    with Workspace.open(Settings(home=tmp_path)) as workspace, workspace.store.db.read() as connection:
        query = select(trace_table.c.seq).where(score_match(score_condition("grounded<0.3")).holds).compile(connection)
        values = tuple(query.params[name] for name in query.positiontup or ())
        plan = " ".join(row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", values))
    assert "(trace_id=?" in plan
    assert "scores_failing" not in plan


def test_a_long_list_in_the_order_of_a_figure_is_read_from_its_index_and_not_sorted(tmp_path: Path) -> None:
    wanted = TraceFilter(model=("m1",), status="failed", since="2026-01-01")
    with Workspace.open(Settings(home=tmp_path)) as workspace, workspace.store.db.read() as connection:
        took, seq = trace_table.c.duration_ms, trace_table.c.seq
        listed = choose_traces(connection, select(seq, took), wanted, walked=True).where(took.is_not(None))
        query = listed.order_by(took.desc(), seq.desc()).compile(connection)
        values = tuple(query.params[name] for name in query.positiontup or ())
        plan = " ".join(row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", values))
    assert "traces_by_took" in plan
    assert "TEMP B-TREE" not in plan


def test_a_list_of_previews_reads_no_conversation(workspace: Workspace) -> None:
    workspace.intake.accept([Trace(id="t", input="Hi?", output="Ho.", scores=(Score(name="good", value=1.0),))])
    workspace.live.curate()
    wanted = CaseFilter(dataset="live", search="Hi?")
    ((whole,), _) = workspace.cases.page(wanted)
    ((cut,), _) = workspace.cases.page(wanted, preview=2)
    assert whole.messages
    assert (cut.messages, cut.input, cut.id) == ((), "Hi", whole.id)


def test_a_rare_value_is_asked_for_before_a_common_one(workspace: Workspace) -> None:
    states = [TraceStatus.FAILED if n > 7 else TraceStatus.COMPLETED for n in range(10)]
    workspace.intake.accept(
        Trace(id=f"t{n}", input="q", name="chat" if n % 2 else "plan", status=state) for n, state in enumerate(states)
    )
    wanted = TraceFilter(name=("chat",), status="failed")
    traces, _ = workspace.intake.page(wanted, limit=10)
    assert [trace.id for trace in traces] == ["t9"]
    with workspace.store.db.read() as connection:
        query = str(choose_traces(connection, select(trace_table.c.seq), wanted))
    # The numbers that the rare one has; PostgreSQL knows by its statistics what to begin with.
    assert ("json_each" in query) == (connection.dialect.name == "sqlite")


def test_traces_are_listed_by_what_became_of_them(workspace: Workspace) -> None:
    workspace.intake.accept(traces(12))
    kinds = {"t1": "failure", "t2": "correction", "t3": "golden", "t4": "golden", "t5": "golden", "t6": "failure"}
    rows = [
        {"trace": trace, "kind": kind, "evidence": "silence" if trace == "t5" else "outcome"}
        for trace, kind in kinds.items()
    ]
    # A trace with a golden case and a failure is a failure; a case that was withdrawn is none.
    rows += [{"trace": "t6", "kind": "golden", "evidence": "outcome"}]
    insert = """INSERT INTO eval_dataset (trace_id, entry_type, input_text, evidence) VALUES (:trace, :kind, 'q', :evidence)"""
    workspace.store.db.write(lambda connection: connection.execute(text(insert), rows))
    gone = """INSERT INTO eval_dataset (trace_id, entry_type, input_text, status) VALUES ('t7', 'golden', 'q', 'withdrawn')"""
    workspace.store.db.write(lambda connection: connection.execute(text(gone)))
    listed = {kind: found(workspace, became=[kind]) for kind in ("failure", "correction", "candidate", "none")}
    assert listed["failure"] == ["t6", "t1"] and listed["correction"] == ["t2"] and listed["candidate"] == ["t5"]
    assert found(workspace, became=["golden"]) == ["t6", "t4", "t3"]
    assert listed["none"] == ["t11", "t10", "t9", "t8", "t7", "t0"]
    assert found(workspace, became=["correction", "none"], name=["plan"]) == ["t11", "t8", "t2"]
    outcomes = workspace.intake.outcomes([f"t{number}" for number in range(12)])
    assert outcomes == kinds | {"t5": "candidate"}
