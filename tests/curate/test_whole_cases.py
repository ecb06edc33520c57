"""A case made from a trace carries what the trace says: conversation, turn, tools, contexts, provenance."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

from evergold.model.case import Case, EntryType, Origin
from evergold.model.trace import Correction
from evergold.settings import Settings
from evergold.sources.spans import Wire
from evergold.store.case.cases import CaseFilter
from evergold.workspace import Workspace
from tests.builders import a_model_call, a_score, a_trace
from tests.otlp import an_llm_span, protobuf_body

GOOD = (a_score("check", 0.9),)
ASKED = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Cancel my booking."},
    {"role": "assistant", "content": "Which one?"},
    {"role": "user", "content": "The one to Lima."},
]
CALL = {"id": "c1", "type": "function", "function": {"name": "cancel", "arguments": '{"to": "Lima"}'}}
WORKED = [
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "cancelled"},
]
SCHEMA = {"type": "function", "function": {"name": "cancel", "parameters": {"type": "object"}}}
ANSWER = {"role": "assistant", "content": "It is cancelled."}


@pytest.fixture
def ws(settings: Settings) -> Iterator[Workspace]:
    with Workspace.open(settings) as opened:
        yield opened


def the_case(ws: Workspace, **filters: Any) -> Case:
    ((case,), _) = ws.cases.page(CaseFilter(**filters), limit=5)
    return case


def a_chat(id: str = "t1", **more: Any) -> Any:
    spans = [
        {"id": "root", "name": "agent", "kind": "agent", "input": "The one to Lima.", "output": "It is cancelled."},
        a_model_call(
            "m",
            [*ASKED, *WORKED],
            [ANSWER],
            attributes={"gen_ai.tool.definitions": [SCHEMA], "gen_ai.request.temperature": 0.2},
        ),
        {"id": "tool", "parent_id": "root", "name": "cancel", "kind": "tool"},
    ]
    fields = {"input": "The one to Lima.", "output": "It is cancelled.", "user_id": "u1", "session_id": "s1"}
    return a_trace(id, **{**fields, "spans": spans, "scores": GOOD, **more})


def test_a_golden_case_has_conversation_turn_calls_tools_and_provenance(ws: Workspace) -> None:
    ws.intake.accept([a_chat()])
    ws.live.curate()
    case = the_case(ws)
    assert [message["role"] for message in case.messages] == ["system", "user", "assistant", "user"]
    assert [message["role"] for message in case.turn] == ["assistant", "tool", "assistant"]
    assert [(call.name, call.args, call.result) for call in case.tool_calls] == [
        ("cancel", {"to": "Lima"}, "cancelled")
    ]
    assert [tool["function"]["name"] for tool in case.tools] == ["cancel"]
    assert (case.provenance.user_id, case.provenance.session_id, case.provenance.trace_id) == ("u1", "s1", "t1")
    assert case.metadata["model"] == "m-1"
    reference = case.reference()
    assert reference is not None and (reference.text, reference.origin) == ("It is cancelled.", Origin.UNCONFIRMED)
    assert [tool.name for tool in case.expected_calls() or ()] == ["cancel"]
    assert "tool:cancel" in case.tags


def test_calls_without_times_are_in_the_order_of_their_numbers(ws: Workspace) -> None:
    calls = [
        {"id": f"call-{n}", "name": f"step_{n}", "kind": "tool", "input": f'{{"n": {n}}}', "output": f"{n} done"}
        for n in range(12)
    ]
    ws.intake.accept([a_trace("t1", input="Run the steps.", output="All twelve ran.", spans=calls, scores=GOOD)])
    ws.live.curate()
    assert [call.name for call in the_case(ws).tool_calls] == [f"step_{n}" for n in range(12)]


def test_reading_a_case_again_and_freezing_it_gives_the_same_rev(ws: Workspace) -> None:
    ws.intake.accept([a_chat()])
    ws.live.curate()
    first = the_case(ws).rev()
    assert the_case(ws).rev() == first == ws.cases.get("live", the_case(ws).id).rev()


def test_traces_of_a_session_are_the_earlier_turns(ws: Workspace) -> None:
    first = a_trace("t1", session_id="s", input="Hello", output="Hi!", started_at="2026-01-01T00:00:00Z")
    second = a_trace(
        "t2", session_id="s", input="A joke?", output="No.", started_at="2026-01-01T00:01:00Z", scores=GOOD
    )
    ws.intake.accept([first, second])
    ws.live.curate()
    assert [message["content"] for message in the_case(ws).messages] == ["Hello", "Hi!", "A joke?"]
    before = the_case(ws)
    assert ws.retention.prune("0s").deleted == 1
    assert the_case(ws).messages == before.messages and the_case(ws).rev() == before.rev()


def test_an_entry_inserted_by_hand_is_whole_too(ws: Workspace) -> None:
    ws.intake.accept([a_chat(scores=())])
    insert = (
        "INSERT INTO eval_dataset (trace_id, entry_type, input_text, output_text) "
        "SELECT id, 'golden', input_text, output_text FROM traces"
    )
    ws.store.db.write(lambda connection: connection.execute(text(insert)).close())
    assert len(the_case(ws).messages) == 4


def test_a_correction_has_the_conversation_the_user_and_the_tools(ws: Workspace) -> None:
    ws.intake.accept([a_chat(scores=()), Correction(trace_id="t1", text="I meant Cusco")])
    ws.live.curate()
    case = the_case(ws, entry_type=EntryType.CORRECTION)
    assert len(case.messages) == 4 and case.provenance.user_id == "u1" and "tool:cancel" in case.tags
    assert case.expected == "I meant Cusco"


def test_refresh_completes_earlier_cases_as_revisions_and_once(ws: Workspace) -> None:
    ws.intake.accept([a_chat()])
    ws.live.curate()
    older = "UPDATE eval_dataset SET own_content = 1, content = NULL, user_id = NULL"
    ws.store.db.write(lambda connection: connection.execute(text(older)).close())
    assert the_case(ws).messages == ()
    assert ws.live.refresh() == (1, 1)
    case = the_case(ws)
    assert len(case.messages) == 4 and case.provenance.user_id == "u1"
    assert [revision.action for revision in ws.cases.history("live", case.id)] == ["added", "refreshed"]
    assert ws.live.refresh() == (1, 0)


def test_a_crash_is_the_reason_and_not_the_score_beside_it(ws: Workspace) -> None:
    for number, value in enumerate((0.5, 0.9)):
        ws.intake.accept([a_trace(f"t{number}", status="failed", scores=(a_score("check", value),))])
        (verdict,) = ws.live.explain(f"t{number}")
        assert "failed" in verdict.reason, verdict.reason


def test_the_message_type_of_a_span_is_a_tag_of_its_case(ws: Workspace) -> None:
    rated = [("gen_ai.evaluation.result", {"gen_ai.evaluation.name": "x", "gen_ai.evaluation.score.value": 1.0})]
    body = protobuf_body(an_llm_span(attributes={"message_type": "refund"}, events=rated))
    ws.intake.receive_traces(body, Wire.PROTOBUF).result()
    ws.live.curate()
    assert "refund" in the_case(ws).tags
