"""A case follows its trace when more of it arrives, as a revision; what a person decided stays, with a question to them."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from evergold.errors import Conflict
from evergold.model.case import Case
from evergold.model.review import CaseKey, Decision, QueueQuery, ReviewVerdict
from evergold.settings import Settings
from evergold.sources.spans import Wire
from evergold.store.case.cases import CaseFilter
from evergold.store.trace.filter import TraceFilter
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace
from tests.otlp import a_span, an_llm_span, protobuf_body

GOOD = [("gen_ai.evaluation.result", {"gen_ai.evaluation.name": "x", "gen_ai.evaluation.score.value": 1.0})]
SCHEMA = {"type": "function", "name": "find", "parameters": {"type": "object"}}
CALL = {"type": "tool_call", "id": "c1", "name": "find", "arguments": {"id": 1}}


@pytest.fixture
def ws(settings: Settings) -> Iterator[Workspace]:
    with Workspace.open(settings) as opened:
        yield opened


def send(ws: Workspace, *spans: Span) -> None:
    assert not ws.intake.receive_traces(protobuf_body(*spans), Wire.PROTOBUF).result().refused
    ws.live.curate()


def the_case(ws: Workspace) -> Case:
    ((case,), _) = ws.cases.page(CaseFilter(status=None), limit=5)
    return case


def actions(ws: Workspace) -> list[str]:
    return [revision.action for revision in ws.cases.history("live", the_case(ws).id)]


def a_call() -> Span:
    """A model call that calls a tool and says nothing; its result is in the tool's span alone."""
    answered = json.dumps([{"role": "assistant", "parts": [CALL], "finish_reason": "tool_calls"}])
    return an_llm_span(1, parent=0, attributes={"gen_ai.output.messages": answered}, events=GOOD)


def the_tool() -> Span:
    facts = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find", "gen_ai.tool.call.id": "c1"}
    result = {"gen_ai.tool.call.arguments": '{"id": 1}', "gen_ai.tool.call.result": "Lima"}
    return a_span(2, parent=0, name="execute_tool find", attributes=facts | result)


def the_answer() -> Span:
    """The model call after the tool: it was given the call and its result."""
    asked = {"role": "user", "parts": [{"type": "text", "content": "why?"}]}
    found = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "Lima"}]}
    given = json.dumps([asked, {"role": "assistant", "parts": [CALL]}, found])
    return an_llm_span(3, parent=0, answer="In Lima.", attributes={"gen_ai.input.messages": given})


def approve(ws: Workspace, version: int | None = None) -> None:
    case = the_case(ws)
    decision = Decision(version=version or case.version, verdict=ReviewVerdict.APPROVE, changes={})
    ws.review.decide(CaseKey(dataset=case.dataset, id=case.id), decision, "ana")


def test_a_result_an_answer_and_a_root_that_come_late_are_in_the_case_as_revisions(ws: Workspace) -> None:
    send(ws, a_call())
    first = the_case(ws)
    assert (len(first.turn), actions(ws)) == (1, ["added"])
    send(ws, the_tool())
    assert [call.result for call in the_case(ws).tool_calls] == ["Lima"] and "tool:find" in the_case(ws).tags
    send(
        ws,
        a_span(
            0, attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.tool.definitions": json.dumps([SCHEMA])}
        ),
    )
    grown = the_case(ws)
    assert [tool["function"]["name"] for tool in grown.tools] == ["find"]
    assert actions(ws)[-1] == "grew" and grown.version > first.version and grown.rev() != first.rev()
    send(ws, the_answer())
    assert (the_case(ws).output, the_case(ws).status, len(the_case(ws).turn)) == ("In Lima.", "active", 3)


def test_an_answer_whose_call_lacks_the_tool_that_ran_withdraws_the_case(ws: Workspace) -> None:
    send(ws, a_call(), the_tool())
    send(ws, an_llm_span(3, parent=0, question="why?", answer="In Lima."))
    assert the_case(ws).status == "withdrawn"
    assert ws.intake.page(TraceFilter(), limit=1)[0][0].incomplete == ("tools_missing",)


def test_spans_that_come_bit_by_bit_are_one_revision_and_nothing_new_is_none(ws: Workspace) -> None:
    send(ws, a_call())
    for number in (4, 5, 6):
        send(ws, a_span(number, parent=0))
    assert actions(ws).count("grew") == 1
    version = the_case(ws).version
    send(ws, a_span(6, parent=0))
    assert the_case(ws).version == version


def test_whoever_saw_less_cannot_decide_on_it(ws: Workspace) -> None:
    send(ws, a_call())
    seen = the_case(ws).version
    send(ws, the_tool())
    with pytest.raises(Conflict):
        approve(ws, version=seen)


def test_what_a_person_decided_stays_and_is_asked_about_until_they_decide_again(ws: Workspace) -> None:
    send(ws, a_call())
    approve(ws)
    before = the_case(ws)
    send(ws, the_tool())
    ws.live.curation.backfill()
    assert the_case(ws).content() == before.content()
    (item,) = ws.review.queue(QueueQuery()).items
    assert item.needs_look == "since then: more of its trace arrived"
    approve(ws)
    ws.live.curation.backfill()
    (item,) = ws.review.queue(QueueQuery()).items
    assert item.needs_look is None


def test_an_earlier_turn_of_the_session_that_comes_late_is_in_the_case(ws: Workspace) -> None:
    good = (a_score("check", 0.9),)
    later = a_trace("t2", session_id="s", input="A joke?", started_at="2026-01-01T00:01:00Z", scores=good)
    ws.intake.accept([later])
    ws.live.curate()
    assert [message["content"] for message in the_case(ws).messages] == ["A joke?"]
    first = a_trace("t1", session_id="s", input="Hello", output="Hi!", started_at="2026-01-01T00:00:00Z")
    ws.intake.accept([first])
    ws.live.curate()
    assert [message["content"] for message in the_case(ws).messages] == ["Hello", "Hi!", "A joke?"]
    assert actions(ws) == ["added", "grew"]


def test_growth_does_not_keep_a_policy_from_being_undone(ws: Workspace) -> None:
    send(ws, a_call())
    send(ws, the_tool())
    assert ws.live.undo(ws.live.curation.policies[0].label).undone == 1
    assert the_case(ws).status == "withdrawn"


def test_spans_that_come_late_are_checked_again(settings: Settings) -> None:
    with Workspace.open(replace(settings, checks_builtin="true")) as ws:
        send(ws, an_llm_span(1, parent=0, question="Where?", answer="Error: 500"))
        trace = ws.intake.page(TraceFilter(), limit=1)[0][0].id

        def answered() -> float:
            return next(score.value for score in ws.intake.get(trace).scores if score.name == "answered")

        before = answered()
        send(ws, an_llm_span(3, parent=0, question="Where?", answer="The museum is in Lima, near the river."))
        assert (before, answered()) == (0.0, 1.0)
