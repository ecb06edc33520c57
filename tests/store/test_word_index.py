"""The word index learns whole conversations later than intake; nothing is found that is gone."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, text

from evergold.model.trace import HitPart, SpanLine, Trace, TraceHit
from evergold.settings import Settings
from evergold.store.text_index import count_due, indexed_words
from evergold.store.trace import passages
from evergold.store.trace.filter import TraceFilter
from evergold.store.trace.passages import learn_words, passages_of
from evergold.store.trace.search import SearchTerms
from evergold.workspace import Workspace
from evergold.workspace import intake as intake_module
from tests.builders import a_trace
from tests.rows import each_row


@pytest.fixture
def workspace(settings: Settings) -> Iterator[Workspace]:
    with Workspace.open(settings) as opened:
        yield opened


def found(workspace: Workspace, search: str) -> list[str]:
    page, _ = workspace.intake.page(TraceFilter(search=search), limit=50)
    return sorted(trace.id for trace in page)


def hit(workspace: Workspace, search: str, trace_id: str = "t1") -> TraceHit | None:
    return workspace.intake.hits(TraceFilter(search=search), [trace_id]).get(trace_id)


def waiting(workspace: Workspace) -> int:
    return workspace.store.read(count_due, 100)


def words_held(workspace: Workspace) -> list[str]:
    with workspace.store.db.read() as connection:
        rows = connection.execute(text("SELECT CAST(words AS text) FROM trace_words")).scalars().all()
        if connection.dialect.name == "sqlite":
            connection.execute(text("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, trace_words_index, 'row')"))
            return list(connection.execute(text("SELECT term FROM temp.terms")).scalars())
    return [word.strip("'") for row in rows for word in row.split()]


def run(workspace: Workspace, statement: str) -> None:
    def work(connection: Connection) -> None:
        connection.execute(text(statement))

    workspace.store.db.write(work)


MESSAGES = [
    {"role": "system", "content": "You are a zoologist."},
    {"role": "user", "content": "Do you keep okapis?"},
    {"role": "assistant", "content": "Two, since the flood."},
    {"role": "user", "content": "Where do they sleep?"},
    {
        "role": "assistant",
        "tool_calls": [{"id": "c1", "function": {"name": "find_stall", "arguments": '{"animal":"ibex"}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"stall": "Médano\\nnorth"}'},
]
CONVERSATION: dict[str, Any] = {
    "id": "t1",
    "name": "keeper",
    "session_id": "s1",
    "input": "Where do they sleep?",
    "output": "In the northern house.",
    "spans": [
        {
            "id": "a",
            "kind": "tool",
            "name": "weather",
            "input": '{"city":"Cusco"}',
            "output": "hail",
            "status": "failed",
        }
        | {"metadata": {"error": "TimeoutError: no answer from almanac"}},
        {"id": "b", "kind": "retriever", "name": "papers", "output": '[{"content":"tapirs wade"}]'},
        {"id": "c", "kind": "llm", "name": "chat", "metadata": {"messages": MESSAGES}},
    ],
}


@each_row(
    ("search", "place", "name", "turn", "piece"),
    [
        ("okapis", HitPart.USER, None, 1, "okapis"),
        ("flood", HitPart.ASSISTANT, None, 1, "flood"),
        ("ibex", HitPart.TOOL_CALL, "find_stall", 2, "ibex"),
        ("medano north", HitPart.TOOL_RESULT, "find_stall", 2, "Médano"),
        ("cusco", HitPart.TOOL_CALL, "weather", None, "Cusco"),
        ("hail", HitPart.TOOL_RESULT, "weather", None, "hail"),
        ("ALMANAC", HitPart.ERROR, "weather", None, "almanac"),
        ("tapirs", HitPart.STEP, "papers", None, "tapirs"),
        ("northern", HitPart.ANSWER, None, None, "northern"),
        ("keep", HitPart.USER, None, 1, "keep"),
        ("sleep house", HitPart.QUESTION, None, None, "sleep"),
    ],
)
def test_a_word_is_found_anywhere_in_a_conversation(
    workspace: Workspace, search: str, place: HitPart, name: str | None, turn: int | None, piece: str
) -> None:
    workspace.intake.accept([Trace.model_validate(CONVERSATION), a_trace("other", input="zebra")])
    assert found(workspace, search) == ["t1"]
    its = hit(workspace, search)
    assert its is not None
    assert (its.part, its.name, its.turn, its.excerpt[1]) == (place, name, turn, piece)


def test_system_prompts_are_not_searched(workspace: Workspace) -> None:
    workspace.intake.accept([Trace.model_validate(CONVERSATION)])
    assert found(workspace, "zoologist") == []


def test_a_turn_that_is_a_trace_of_its_own_is_found_there_alone(workspace: Workspace) -> None:
    earlier = Trace(id="t0", session_id="s1", input="Do you keep okapis?", output="Two, since the flood.")
    workspace.intake.accept([earlier, Trace.model_validate(CONVERSATION)])
    assert (found(workspace, "okapis"), found(workspace, "flood")) == (["t0"], ["t0"])
    assert found(workspace, "ibex") == ["t1"]


def test_intake_indexes_nothing_and_a_search_completes_it(workspace: Workspace) -> None:
    workspace.intake.accept([a_trace("t1", input="zebra")])
    assert (waiting(workspace), words_held(workspace)) == (1, [])
    assert found(workspace, "zebra") == ["t1"]
    assert waiting(workspace) == 0


def test_what_is_too_much_for_a_search_is_said(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake_module, "SEARCH_SECONDS", 0)
    workspace.intake.accept([a_trace("t1", input="zebra")])
    assert (found(workspace, "zebra"), workspace.intake.index(seconds=0)) == ([], 1)
    assert workspace.intake.index() == 0
    assert found(workspace, "zebra") == ["t1"]


def test_the_server_learns_at_leisure(workspace: Workspace) -> None:
    workspace.intake.accept([a_trace("t1", input="zebra")])
    assert (workspace.live._learn_for_searches(), workspace.live._learn_for_searches()) == (True, False)
    assert (waiting(workspace), found(workspace, "zebra")) == (0, ["t1"])


def test_spans_that_come_later_are_found(workspace: Workspace) -> None:
    first = {"type": "span", "trace_id": "t1", "id": "a", "kind": "llm", "input": "zebra?", "output": "ibis"}
    later = {
        "type": "span",
        "trace_id": "t1",
        "id": "b",
        "kind": "tool",
        "name": "look",
        "parent_id": "a",
        "output": "okapi",
    }
    for line in (first, later):
        workspace.intake.accept([SpanLine.model_validate(line)])
        workspace.intake.index()
    assert (found(workspace, "okapi"), found(workspace, "ibis")) == (["t1"], ["t1"])


def test_what_is_written_by_hand_is_found_and_forgotten(workspace: Workspace) -> None:
    run(workspace, "INSERT INTO traces (id, input_text, output_text) VALUES ('a', 'zebra', ''), ('b', 'zebra', '')")
    workspace.intake.index()
    run(workspace, "UPDATE traces SET input_text = 'okapi' WHERE id = 'a'")
    assert (found(workspace, "zebra"), found(workspace, "okapi")) == (["b"], ["a"])
    run(workspace, "DELETE FROM traces WHERE id = 'b'")
    assert (found(workspace, "zebra"), words_held(workspace)) == ([], ["okapi"])
    run(workspace, "DELETE FROM traces")
    assert words_held(workspace) == []


def test_what_goes_before_its_words_are_learnt_leaves_nothing(workspace: Workspace) -> None:
    workspace.intake.accept([a_trace("t1", input="zebra"), a_trace("t2", input="ibex")])
    run(workspace, "DELETE FROM traces WHERE id = 't2'")
    workspace.intake.index()
    assert (waiting(workspace), words_held(workspace).count("ibex")) == (0, 0)


def test_a_trace_that_changes_while_it_is_read_is_read_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.intake.accept([a_trace("t1", input="zebra")])
    read = passages._words_of

    def read_and_change(*given: Any) -> Any:
        words = read(*given)
        run(workspace, "UPDATE traces SET input_text = 'okapi'")
        return words

    monkeypatch.setattr(passages, "_words_of", read_and_change)
    learn_words(workspace.store.db)
    assert (waiting(workspace), words_held(workspace)) == (1, [])
    monkeypatch.undo()
    assert found(workspace, "okapi") == ["t1"]


def test_erased_and_pruned_words_are_gone_from_the_index(workspace: Workspace) -> None:
    workspace.intake.accept(
        [
            Trace(id="mine", user_id="ana", input="zebra", started_at="2020-01-01T00:00:00Z"),
            Trace(id="old", user_id="bo", input="ibex", started_at="2020-01-01T00:00:00Z"),
            Trace(id="new", user_id="bo", input="okapi"),
        ]
    )
    workspace.intake.index()
    workspace.retention.erase("ana")
    assert not {"zebra"} & set(words_held(workspace))
    workspace.retention.prune("30d")
    assert "ibex" not in words_held(workspace) and "okapi" in words_held(workspace)


def test_an_excerpt_is_the_part_around_the_words() -> None:
    long = f"{'before ' * 100}the lost Parcel of Straße 5 and the refund {'after ' * 100}"
    asked = passages._patterns(SearchTerms.of("refund parcel strasse"))
    best, is_all = passages._best([passages.TracePassage(HitPart.ANSWER, long)], asked)
    assert best is not None and is_all
    assert best.excerpt[1::2] == ("Parcel", "Straße", "refund")
    assert best.excerpt[0].startswith("…") and best.excerpt[-1].endswith("…")
    assert len("".join(best.excerpt)) < 320


def test_words_are_folded_and_characters_in_a_row_are_words() -> None:
    runs = ["取消", "取消订", "消订", "消订阅", "订阅", "阅"]
    assert indexed_words(["Crème BRÛLÉE, crème!", "取消订阅 ok"]) == sorted(["brulee", "creme", "ok", *runs])


def test_each_text_is_one_passage() -> None:
    trace = Trace.model_validate(CONVERSATION)
    texts = [passage.text for passage in passages_of(trace)]
    assert len(texts) == len(set(texts))
