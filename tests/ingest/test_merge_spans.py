"""Events of Langfuse's libraries that state parts of one span, over several batches: on SQLite and on PostgreSQL."""

import json
from itertools import permutations
from typing import Any

import pytest

from evergold.model.case import Case
from evergold.settings import Settings
from evergold.sources.spans import Wire
from evergold.store import Store
from evergold.store.case.cases import CaseFilter
from evergold.workspace import Workspace
from tests.otlp import TRACE, an_llm_span, protobuf_body, span_id

Event = dict[str, Any]
QUESTION = [{"role": "user", "content": "Where is my parcel?"}]
ANSWER = {"role": "assistant", "content": "It arrives on Friday."}


def event(second: int, kind: str, **body: Any) -> Event:
    return {
        "id": f"event-{second}",
        "type": kind,
        "timestamp": f"2026-11-01T10:00:{second:02}.000Z",
        "body": body,
    }


TRACE_BEGINS = event(
    0, "trace-create", id="t1", name="support", userId="ann", sessionId="s1", input=QUESTION, tags=["a"]
)
CALL_BEGINS = event(
    1,
    "generation-create",
    id="g1",
    traceId="t1",
    parentObservationId="step",
    name="answer",
    model="small-1",
    input=QUESTION,
    startTime="2026-11-01T10:00:01.000Z",
    metadata={"try": 1, "region": "eu"},
)
CALL_ENDS = event(
    2,
    "generation-update",
    id="g1",
    traceId="t1",
    name=None,
    output=ANSWER,
    endTime="2026-11-01T10:00:02.500Z",
    usage={"input": 12, "output": 5, "total": 17, "unit": "TOKENS"},
    metadata={"try": 2},
)
TRACE_ENDS = event(3, "trace-create", id="t1", output=ANSWER, tags=["b"])
SCORE = event(4, "score-create", id="s-1", traceId="t1", name="helpful", value=1)
BATCHES = [[TRACE_BEGINS, CALL_BEGINS], [CALL_ENDS, TRACE_ENDS], [SCORE]]


@pytest.fixture
def workspace(settings: Settings, store: Store) -> Workspace:
    return Workspace(settings, store)


def send(workspace: Workspace, *batches: list[Event]) -> None:
    for batch in batches:
        reply = workspace.intake.accept_langfuse(batch)
        assert reply["errors"] == []
        assert [one["id"] for one in reply["successes"]] == [one["id"] for one in batch]


def state(workspace: Workspace) -> Any:
    trace = workspace.intake.get("t1").model_dump(mode="json", exclude={"scores": {"__all__": {"id", "created_at"}}})
    return trace | {"spans": sorted(trace["spans"], key=lambda span: str(span["id"]))}


def test_an_output_that_comes_in_a_later_batch_is_stored(workspace: Workspace) -> None:
    send(workspace, *BATCHES)
    trace = workspace.intake.get("t1")
    assert (trace.name, trace.user_id, trace.session_id) == ("support", "ann", "s1")
    assert (trace.input, trace.output) == ("Where is my parcel?", "It arrives on Friday.")
    assert set(trace.tags) == {"a", "b"}
    assert [(score.name, score.value) for score in trace.scores] == [("helpful", 1.0)]
    call = next(span for span in trace.spans if span.id == "g1")
    assert (call.name, call.kind, call.parent_id) == ("answer", "llm", "step")
    assert (call.input, call.output) == ("Where is my parcel?", "It arrives on Friday.")
    assert call.started_at and call.ended_at and (call.ended_at - call.started_at).total_seconds() == 1.5
    facts = {key: call.metadata[key] for key in ("model", "input_tokens", "output_tokens", "metadata")}
    united = {"try": 2, "region": "eu"}
    assert facts == {"model": "small-1", "input_tokens": 12, "output_tokens": 5, "metadata": united}
    assert json.loads(call.metadata["attributes"]["langfuse.observation.output"]) == ANSWER
    assert trace.started_at and trace.started_at.second == 0, "the first event says when a trace began"


@pytest.mark.parametrize("order", list(permutations(range(5)))[::13])
def test_the_order_of_arrival_and_sending_again_change_nothing(workspace: Workspace, order: tuple[int, ...]) -> None:
    events = [one for batch in BATCHES for one in batch]
    other = event(5, "generation-update", id="g1", traceId="t1", output="It is lost.", level="ERROR", model="small-2")
    events[4] = other
    send(workspace, *[[events[number]] for number in order])
    once = state(workspace)
    send(workspace, *[[events[number]] for number in order], list(reversed(events)))
    assert state(workspace) == once
    call = next(span for span in once["spans"] if span["id"] == "g1")
    assert (call["output"], call["status"], call["metadata"]["model"]) == ("It is lost.", "failed", "small-2")
    assert "langfuse.observation.output" not in call["metadata"]["attributes"], "the earlier output is replaced whole"
    assert once["started_at"].startswith("2026-11-01T10:00:00")


def test_the_case_of_a_trace_grows_with_it_once(workspace: Workspace) -> None:
    def case_after(*batches: list[Event]) -> Case:
        send(workspace, *batches)
        workspace.live.curate()
        ((case,), _) = workspace.cases.page(CaseFilter(status=None), limit=5)
        return case

    begins = TRACE_BEGINS | {"body": TRACE_BEGINS["body"] | {"output": "One moment."}}
    before = case_after([begins], [SCORE])
    assert before.output == "One moment."
    grown = case_after([TRACE_ENDS])
    assert grown.output == "It arrives on Friday." and grown.version > before.version
    assert "grew" in [one.action for one in workspace.cases.history("live", grown.id)]
    assert case_after([TRACE_ENDS], [begins]).version == grown.version


def test_a_call_that_later_calls_repeat_can_still_change(workspace: Workspace) -> None:
    long = [{"role": "system", "content": "Be kind to everybody. " * 40}, *QUESTION]
    calls = [
        event(n, "generation-create", id=f"g{n}", traceId="t1", input=[*long, {"role": "user", "content": f"Turn {n}"}])
        for n in range(1, 5)
    ]
    send(workspace, calls)
    before = {span.id: span for span in workspace.intake.get("t1").spans}
    send(workspace, [event(9, "generation-update", id="g1", traceId="t1", input="Redrawn.", output="Yes.")])
    after = {span.id: span for span in workspace.intake.get("t1").spans}
    assert (after["g1"].input, after["g1"].output) == ("Redrawn.", "Yes.")
    assert {key: after[key] for key in ("g2", "g3", "g4")} == {key: before[key] for key in ("g2", "g3", "g4")}


def test_a_span_that_came_over_opentelemetry_is_not_changed(workspace: Workspace) -> None:
    workspace.intake.receive_traces(protobuf_body(an_llm_span(1)), Wire.PROTOBUF).result()
    before = workspace.intake.get(TRACE)
    update = event(1, "generation-update", id=span_id(1), traceId=TRACE, output="Other.")
    assert [error["status"] for error in workspace.intake.accept_langfuse([update])["errors"]] == [409]
    assert workspace.intake.get(TRACE) == before
