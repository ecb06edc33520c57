"""The content of a case is stored once, when the case is made or its trace grows, and read as it is."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event, text

from evergold.api.app import create_app
from evergold.cli import invoke
from evergold.conversation import conversation_of
from evergold.model.case import Case
from evergold.model.review import CaseKey, Decision, Edit, ReviewVerdict
from evergold.model.run import RunSpec
from evergold.model.trace import Correction
from evergold.settings import Settings
from evergold.sources.spans import Wire
from evergold.store.case import content as case_content
from evergold.store.case.cases import CaseFilter
from evergold.workspace import Workspace
from tests.builders import a_case, a_trace
from tests.curate.test_growing_traces import a_call, the_tool
from tests.curate.test_whole_cases import GOOD, a_chat
from tests.otlp import protobuf_body

MESSAGES = "SELECT count(*) FROM messages"
ASKED = ("Where is Lima?", "Who sings tonight?", "Sum up this page.", "What is 2 + 2?", "Write a poem.", "Bake a cake.")
BY_HAND = (
    "INSERT INTO eval_dataset (trace_id, entry_type, input_text, output_text) "
    "SELECT id, 'golden', input_text, output_text FROM traces"
)
HOLDING = "SELECT id FROM messages WHERE value LIKE '%{}%'"


@pytest.fixture
def ws(settings: Settings) -> Iterator[Workspace]:
    with Workspace.open(settings) as opened:
        yield opened


def cases_of(ws: Workspace) -> list[Case]:
    return list(ws.cases.iterate(CaseFilter(status=None)))


def sql(ws: Workspace, statement: str) -> None:
    ws.store.db.write(lambda connection: connection.execute(text(statement)).close())


def wait_for_writer(ws: Workspace) -> None:
    """Wait for what readers left to the writer."""
    ws.store.db.write(lambda connection: None)


def value_of(ws: Workspace, query: str) -> Any:
    with ws.store.db.read() as connection:
        return connection.execute(text(query)).scalar()


@contextmanager
def statements(ws: Workspace) -> Iterator[list[str]]:
    """The SQL that is sent while the block runs."""
    sent: list[str] = []
    engines = (ws.store.db._reader_engine, ws.store.db._writer_engine)

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        sent.append(statement)

    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", note)


def used(ws: Workspace, folder: Path) -> list[Any]:
    """What is read of stored cases: each case, lists, an export, a frozen version, a run, the repeats."""
    folder.mkdir()
    ws.cases.export(CaseFilter(), "case-jsonl", folder / "cases.jsonl")
    build = ws.builds.freeze(ws.builds.spec_of("live", folder.name, folder / "frozen"))
    run = ws.bench.run_here(RunSpec(dataset="live", model="recorded", metrics=("exact_match", "tool_correctness")))
    return [
        [case.content() for case in cases_of(ws)],
        [ws.cases.get("live", case.id).rev() for case in cases_of(ws)],
        ws.cases.page(CaseFilter(), limit=5, preview=100),
        (folder / "cases.jsonl").read_text(),
        [path.read_text() for path in sorted(Path(build.location or "").glob("*.jsonl"))],
        ws.repeats.of("live").counts,
        [case.content() for case in ws.bench.cases(run.id)],
        [(attempt.case_id, attempt.output) for attempt in ws.bench.attempts(run.id)],
    ]


def test_cases_are_read_exported_built_and_run_when_the_spans_are_gone(ws: Workspace, tmp_path: Path) -> None:
    ws.intake.accept([a_chat(), a_chat("t2", session_id="s2", input="Another?")])
    ws.live.curate()
    before = used(ws, tmp_path / "v1")
    sql(ws, "DELETE FROM spans")
    with statements(ws) as sent:
        after = used(ws, tmp_path / "v2")
    assert after == before and len(cases_of(ws)) == 2
    assert not [one for one in sent if "spans" in one]


def test_a_decision_reads_no_span(ws: Workspace) -> None:
    ws.intake.accept([a_chat()])
    ws.live.curate()
    (case,) = cases_of(ws)
    with statements(ws) as sent:
        decision = Decision(version=case.version, verdict=ReviewVerdict.APPROVE, changes={})
        ws.review.decide(CaseKey(dataset="live", id=case.id), decision, "ana")
    assert not [one for one in sent if "spans" in one]
    (decided,) = cases_of(ws)
    assert decided.messages == case.messages and decided.turn == case.turn and decided.review == "validated"


def test_pages_and_rest_read_no_span(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    with Workspace.open(settings) as ws:
        ws.intake.accept([a_chat()])
        ws.live.curate()
        sql(ws, "DELETE FROM spans")
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        (listed,) = client.get("/api/v1/cases").json()["cases"]
        case = client.get(f"/api/v1/cases/live/{listed['id']}").json()
    shown = case.get("case", case)
    assert [message["role"] for message in shown["messages"]] == ["system", "user", "assistant", "user"]
    assert [call["name"] for call in shown["tool_calls"]] == ["cancel"]


def test_the_command_writes_contents_after_the_tiers(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    with Workspace.open(settings) as ws:
        ws.intake.accept([a_chat()])
    for arguments in (["curate"], ["curate", "--backfill"]):
        assert invoke(["--home", str(tmp_path), *arguments]) == 0
        with Workspace.open(settings) as ws:
            assert value_of(ws, "SELECT count(*) FROM eval_dataset WHERE content IS NULL") == 0
            sql(ws, "UPDATE eval_dataset SET content = NULL")


def test_a_row_without_content_is_filled_by_the_first_who_reads_it(ws: Workspace) -> None:
    ws.intake.accept([a_chat(scores=())])
    sql(ws, BY_HAND)
    assert value_of(ws, MESSAGES) == 0
    (first,) = cases_of(ws)
    wait_for_writer(ws)
    with statements(ws) as sent:
        (again,) = cases_of(ws)
    assert again == first and len(again.messages) == 4 and again.metadata["model"] == "m-1"
    assert not [one for one in sent if "spans" in one]
    sql(ws, "DELETE FROM eval_dataset")
    sql(ws, BY_HAND)
    assert ws.live.fill_contents() == 1 and ws.live.fill_contents() == 0


def test_messages_that_turns_share_are_stored_once(ws: Workspace) -> None:
    turns = [
        a_trace(f"t{n}", session_id="s", input=asked, output=f"Answer {n}", scores=GOOD, started_at=_at(n))
        for n, asked in enumerate(ASKED)
    ]
    ws.intake.accept(turns)
    ws.live.curate()
    assert [len(case.messages) for case in sorted(cases_of(ws), key=lambda case: case.id)] == [1, 3, 5, 7, 9, 11]
    assert value_of(ws, MESSAGES) == 12
    ws.cases.put([a_case("c", dataset="mine", messages=[{"role": "user", "content": ASKED[0]}])])
    assert value_of(ws, MESSAGES) == 12
    (mine,) = ws.cases.iterate(CaseFilter(dataset="mine"))
    assert mine.messages == ({"role": "user", "content": ASKED[0]},)


def _at(number: int) -> str:
    return f"2026-01-01T00:{number:02}:00Z"


def test_a_case_that_a_person_changed_keeps_its_content_when_its_trace_grows(ws: Workspace) -> None:
    ws.intake.receive_traces(protobuf_body(a_call()), Wire.PROTOBUF).result()
    ws.live.curate()
    (case,) = cases_of(ws)
    mine = [{"role": "user", "content": "as I wrote it"}]
    ws.review.edit(
        CaseKey(dataset="live", id=case.id), Edit(version=1, changes={"messages": mine}, why="better"), "ana"
    )
    ws.intake.receive_traces(protobuf_body(the_tool()), Wire.PROTOBUF).result()
    ws.live.curate()
    (kept,) = cases_of(ws)
    assert kept.messages == tuple(mine) and kept.turn == case.turn
    (edit,) = [one for one in ws.cases.history("live", case.id) if one.action == "edited"]
    assert edit.changes["messages"]["new"] == mine


def test_an_earlier_turn_that_grows_or_comes_late_is_in_the_later_case(ws: Workspace) -> None:
    second = a_trace("t2", session_id="s", input="And then?", output="Then that.", scores=GOOD, started_at=_at(2))
    ws.intake.accept([second])
    ws.live.curate()
    assert [message["content"] for message in cases_of(ws)[0].messages] == ["And then?"]
    ws.intake.accept([a_trace("t1", session_id="s", input="First?", output="This.", started_at=_at(1))])
    ws.live.curate()
    (case,) = cases_of(ws)
    assert [message["content"] for message in case.messages] == ["First?", "This.", "And then?"]
    assert [one.action for one in ws.cases.history("live", case.id)] == ["added", "grew"]


def test_a_content_made_before_the_trace_grew_is_not_written(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    ws.intake.receive_traces(protobuf_body(a_call()), Wire.PROTOBUF).result()
    ws.live.curate()
    sql(ws, "UPDATE eval_dataset SET content = NULL")
    before = cases_of(ws)  # puts its content together, and leaves the writing to the writer
    sql(ws, "UPDATE eval_dataset SET content = NULL")
    submit = ws.store.db.submit
    held: list[Any] = []
    ws.store.db._reader_engine.update_execution_options(submit_write=held.append)
    assert cases_of(ws) == before and len(held) == 1
    ws.store.db._reader_engine.update_execution_options(submit_write=submit)
    ws.intake.receive_traces(protobuf_body(the_tool()), Wire.PROTOBUF).result()
    assert ws.store.db.write(held[0]) == 0
    ws.live.curate()
    assert [call.result for call in cases_of(ws)[0].tool_calls] == ["Lima"]


def test_messages_that_no_case_cites_are_deleted_by_retention(ws: Workspace) -> None:
    ws.intake.receive_traces(protobuf_body(a_call()), Wire.PROTOBUF).result()
    ws.live.curate()
    ws.intake.receive_traces(protobuf_body(the_tool()), Wire.PROTOBUF).result()
    ws.live.curate()
    sql(ws, "INSERT INTO messages (hash, value) VALUES ('left over', '{}')")
    kept = cases_of(ws)
    ws.retention.prune("3650d")
    assert value_of(ws, "SELECT count(*) FROM messages WHERE hash = 'left over'") == 0
    assert cases_of(ws) == kept and kept[0].turn


def test_an_erased_user_leaves_no_message(ws: Workspace) -> None:
    """Also not in the case of another user whose conversation had a turn of theirs."""
    ws.intake.accept(
        [
            a_trace("t1", session_id="s", user_id="ana", input="xqanaqx", output="A.", started_at=_at(1), scores=GOOD),
            a_trace("t2", session_id="s", user_id="bo", input="And?", output="B.", started_at=_at(2), scores=GOOD),
            Correction(trace_id="t1", text="xqwrongqx"),
        ]
    )
    ws.live.curate()
    assert value_of(ws, HOLDING.format("xqanaqx")) is not None
    ws.retention.erase("ana")
    assert value_of(ws, HOLDING.format("xqanaqx")) is None
    (case,) = [case for case in cases_of(ws) if case.status == "active"]
    assert [message["content"] for message in case.messages] == ["And?"]
    wait_for_writer(ws)
    assert value_of(ws, HOLDING.format("And?")) is not None


def test_texts_of_a_content_that_was_replaced_are_erased_from_the_file(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path)) as ws:
        ws.intake.accept([a_trace("t1", user_id="ana", input="xqoneqx", output="xqtwoqx", scores=GOOD)])
        ws.live.curate()
        (case,) = cases_of(ws)
        change = {"messages": [{"role": "user", "content": "xqthreeqx"}]}
        ws.review.edit(CaseKey(dataset="live", id=case.id), Edit(version=case.version, changes=change, why=""), "rev")
        ws.retention.erase("ana")
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert not [word for word in (b"xqoneqx", b"xqtwoqx", b"xqthreeqx") if word in held]


def test_a_trace_that_cannot_be_read_leaves_a_case_that_says_so(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise RecursionError("too deep")

    ws.intake.accept([a_chat()])
    with monkeypatch.context() as patched:
        patched.setattr("evergold.store.case.content.conversation_of", fails)
        ws.live.curate()
    (case,) = cases_of(ws)
    assert case.extra == {"problems": ["its conversation could not be read: RecursionError"]} and not case.messages


def test_refresh_reads_the_traces_of_cases_that_nobody_changed_again(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an upgrade that understands more of a trace."""
    ws.intake.accept([a_chat(), a_chat("t2", session_id="s2")])
    read = conversation_of
    with monkeypatch.context() as patched:
        less = {"tools": (), "turn": ()}
        patched.setattr(case_content, "conversation_of", lambda *given: read(*given).model_copy(update=less))
        # Else the trace would lack the tool that ran, and make no case.
        patched.setattr(case_content, "gaps_of", lambda *_, **__: ())
        ws.live.curate()
    approved = CaseKey(dataset="live", id="default:t2")
    ws.review.decide(approved, Decision(version=1, verdict=ReviewVerdict.APPROVE, changes={}), "ana")
    assert ws.live.refresh() == (2, 2)
    assert [(len(case.turn), len(case.tools)) for case in cases_of(ws)] == [(3, 1), (3, 1)]
    assert [one.action for one in ws.cases.history("live", "default:t1")] == ["added", "grew"]
    assert ws.cases.get("live", approved.id).review == "validated"
    assert ws.live.refresh() == (2, 0)


def test_rows_of_earlier_versions_have_their_messages_in_the_body(ws: Workspace) -> None:
    said = [{"role": "user", "content": "earlier"}]
    ws.cases.put([a_case("c", dataset="mine", messages=said)])
    body = json.dumps({"messages": said, "turn": [{"role": "assistant", "content": "so"}]})
    sql(ws, f"UPDATE eval_dataset SET content = NULL, body = '{body}'".replace(":", "\\:"))
    (case,) = ws.cases.iterate(CaseFilter(dataset="mine"))
    assert case.messages == tuple(said) and case.turn[0]["content"] == "so"
    ws.cases.tag("mine", "c", add=["seen"], who="me")
    (again,) = ws.cases.iterate(CaseFilter(dataset="mine"))
    assert again.messages == case.messages and again.turn == case.turn and again.tags == ("seen",)
