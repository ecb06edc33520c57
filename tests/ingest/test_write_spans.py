"""Spans over the wire into the store: on SQLite and on PostgreSQL."""

import json
import random
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from sqlalchemy import select

from evergold.errors import BadInput
from evergold.ingest.batcher import SpansWritten
from evergold.model.trace import Reaction, ScoreLine, Span, SpanLine, Trace
from evergold.settings import Settings
from evergold.sources.spans import Wire
from evergold.store import Store
from evergold.store.schema import curation_queue
from evergold.store.schema import spans as spans_table
from evergold.store.trace.filter import TraceFilter
from evergold.workspace import Workspace
from tests.otlp import TRACE, a_span, an_llm_span, json_body, protobuf_body, span_id

Spans = tuple[Any, ...]
AGENT = {
    "openinference.span.kind": "AGENT",
    "input.value": "Plan a trip",
    "output.value": "Go to Lima.",
    "session.id": "s1",
}


@pytest.fixture
def workspace(settings: Settings, store: Store) -> Workspace:
    return Workspace(settings, store)


def send(workspace: Workspace, *spans: Any, wire: Wire = Wire.PROTOBUF) -> SpansWritten:
    body = protobuf_body(*spans) if wire is Wire.PROTOBUF else json_body(*spans)
    return workspace.intake.receive_traces(body, wire).result()


def test_a_trace_in_one_request(workspace: Workspace) -> None:
    written = send(workspace, a_span(0, attributes=AGENT), an_llm_span(1, parent=0), an_llm_span(2, parent=0))
    assert (written.spans, written.new_traces, written.refused) == (3, [TRACE], [])
    trace = workspace.intake.get(TRACE)
    assert (trace.input, trace.output, trace.status, trace.session_id) == (
        "Plan a trip",
        "Go to Lima.",
        "completed",
        "s1",
    )
    assert trace.metadata == {
        "input_tokens": 20,
        "output_tokens": 10,
        "model": "small-1",
        "models": ["small-1"],
        "services": ["shop"],
    }
    assert [(span.id, span.kind, span.input) for span in trace.spans] == [
        (span_id(0), "agent", "Plan a trip"),
        (span_id(1), "llm", "why?"),
        (span_id(2), "llm", "why?"),
    ]
    assert trace.spans[0].metadata["attributes"]["openinference.span.kind"] == "AGENT"
    assert trace.spans[0].metadata["resource"] == {"service.name": "shop"}


def test_late_spans_in_any_order_and_either_encoding_end_in_the_same_trace(workspace: Workspace) -> None:
    spans = [a_span(0, attributes=AGENT), an_llm_span(1, parent=0), a_span(2, parent=1, name="look up")]
    seen = set()
    for number, order in enumerate(permutations(range(3))):
        trace_id = f"{number + 1:032x}"
        for position, index in enumerate(order):
            spans[index].trace_id = bytes.fromhex(trace_id)
            send(workspace, spans[index], wire=Wire.JSON if position % 2 else Wire.PROTOBUF)
        seen.add(workspace.intake.get(trace_id).model_copy(update={"id": "same"}).model_dump_json())
    assert len(seen) == 1


def test_the_root_may_come_last(workspace: Workspace) -> None:
    send(workspace, an_llm_span(1, parent=0, question="first"), an_llm_span(2, parent=0, answer="last"))
    early = workspace.intake.get(TRACE)
    assert (early.input, early.output, early.session_id) == ("first", "last", None)
    send(workspace, a_span(0, attributes=AGENT))
    late = workspace.intake.get(TRACE)
    assert (late.input, late.output, late.session_id, late.name) == ("Plan a trip", "Go to Lima.", "s1", "step 0")
    assert late.metadata["input_tokens"] == 20


def test_the_same_span_again_is_a_duplicate_and_another_under_its_id_is_refused(workspace: Workspace) -> None:
    send(workspace, an_llm_span(0))
    again = send(workspace, an_llm_span(0), an_llm_span(1, parent=0), wire=Wire.JSON)
    assert (again.spans, again.duplicates, again.refused) == (1, 1, [])
    other = send(workspace, an_llm_span(0, answer="something else"))
    assert (other.spans, other.duplicates) == (0, 0)
    assert other.refused == [f"span {span_id(0)} of trace {TRACE} is known with other content; the first is kept"]
    assert workspace.intake.get(TRACE).output == "because"
    twice = send(workspace, a_span(5, name="a"), a_span(5, name="a"), a_span(5, name="b"))
    assert (twice.spans, twice.duplicates, len(twice.refused)) == (1, 1, 1)
    assert workspace.intake.get(TRACE).metadata["input_tokens"] == 20


def test_a_trace_given_whole_takes_no_spans(workspace: Workspace) -> None:
    workspace.intake.accept([Trace(id=TRACE, input="whole", output="given")])
    written = send(workspace, an_llm_span(0), an_llm_span(1, trace="1" * 32))
    assert written.spans == 1
    assert len(written.refused) == 1 and "was given whole" in written.refused[0]
    assert workspace.intake.get(TRACE).input == "whole"


def test_scores_come_with_spans_and_before_them(workspace: Workspace) -> None:
    early = ScoreLine(trace_id=TRACE, name="stars", value=1.0)
    report = workspace.intake.accept([early, early, Reaction(trace_id=TRACE, emoji="👍", author="jo")])
    assert report.pending == 2
    event = {"gen_ai.evaluation.name": "relevance", "gen_ai.evaluation.score.value": 0.75}
    bad = {"gen_ai.evaluation.name": "odd", "gen_ai.evaluation.score.value": 7}
    written = send(
        workspace, an_llm_span(0, events=[("gen_ai.evaluation.result", event), ("gen_ai.evaluation.result", bad)])
    )
    assert written.refused == [f"score 'odd' on trace {TRACE} is 7; a score is a number from 0 to 1"]
    scores = {score.name: (score.value, score.source) for score in workspace.intake.get(TRACE).scores}
    assert scores == {"stars": (1.0, "system"), "user_reaction": (1.0, "user"), "relevance": (0.75, "system")}


def test_private_things_are_gone_before_storage_and_counted(workspace: Workspace) -> None:
    question = "write to jo@example.com about card 4111 1111 1111 1111"
    send(workspace, an_llm_span(0, question=question, attributes={"note": "sk-abcdefghijklmnop1234"}))
    trace = workspace.intake.get(TRACE)
    assert trace.input == "write to [EMAIL] about card [CARD]"
    assert "jo@example.com" not in trace.model_dump_json() and "sk-abc" not in trace.model_dump_json()
    counts = workspace.intake.counts()
    assert (counts["redacted.EMAIL"], counts["redacted.CARD"], counts["redacted.SECRET"]) == (2, 2, 1)


def test_ids_are_kept_and_everything_around_them_is_redacted(workspace: Workspace) -> None:
    phone, mail, key = "+34600123456", "jo@example.com", "sk-abcdefghijklmnop1234"
    said = {"session.id": phone, "user.id": mail, "tag.tags": [mail], "input.value": "hi", "output.value": mail}
    send(workspace, a_span(0, name=f"mail {mail}", attributes=said))
    trace = workspace.intake.get(TRACE)
    assert (trace.session_id, trace.user_id, trace.output) == (phone, mail, "[EMAIL]")
    assert (trace.name, trace.tags, trace.spans[0].name) == ("mail [EMAIL]", ("[EMAIL]",), "mail [EMAIL]")
    line = SpanLine(trace_id="line", id="1", name=mail, metadata={"session_id": phone, "attributes": {"key": key}})
    whole = Trace(id="whole", name=mail, tags=(mail,), user_id=mail, spans=(Span(id="1", name=mail),))
    workspace.intake.accept([line, whole])
    assert (
        workspace.intake.get("line").session_id == phone and key not in workspace.intake.get("line").model_dump_json()
    )
    kept = workspace.intake.get("whole")
    assert (kept.user_id, kept.name, kept.tags, kept.spans[0].name) == (mail, "[EMAIL]", ("[EMAIL]",), "[EMAIL]")


def test_the_resource_of_a_sender_is_redacted(workspace: Workspace) -> None:
    body = protobuf_body(a_span(0), a_span(1), service="run --key sk-abcdefghijklmnop1234")
    workspace.intake.receive_traces(body, Wire.PROTOBUF).result()
    assert "sk-abc" not in workspace.intake.get(TRACE).model_dump_json()


def test_what_a_span_says_for_its_trace_follows_the_switch_of_its_side(settings: Settings, store: Store) -> None:
    workspace = Workspace(replace(settings, redact_fields=("input", "output")), store)
    said = {"langfuse.trace.input": "jo@example.com", "langfuse.trace.output": "to jo@example.com", "x": "y"}
    send(workspace, a_span(0, attributes=said))
    trace = workspace.intake.get(TRACE)
    assert (trace.input, trace.output) == ("[EMAIL]", "to [EMAIL]")


@pytest.mark.parametrize("value", [["a"], {"a": 1}, 5, None])
def test_a_model_that_is_no_text_has_no_column(workspace: Workspace, value: Any) -> None:
    said = {"model": value, "message_type": value}
    workspace.intake.accept([Trace(id="odd", metadata=said)])
    send(workspace, a_span(0, attributes={"metadata": json.dumps(said)}))
    assert workspace.intake.get("odd").metadata == said
    assert workspace.intake.get(TRACE).metadata == said | {"services": ["shop"]}


def test_nul_is_kept_out_of_every_text(workspace: Workspace) -> None:
    odd = "a\x00b"
    workspace.intake.accept(
        [Trace(id="nul", name=odd, session_id=odd, user_id=odd, tags=(odd,), metadata={"k": odd, "\\u0000": "\\u0000"})]
    )
    kept = workspace.intake.get("nul")
    assert (kept.name, kept.session_id, kept.tags) == ("a\ufffdb", "a\ufffdb", ("a\ufffdb",))
    assert kept.metadata == {"k": "a\ufffdb", "\\u0000": "\\u0000"}


def test_a_score_that_says_anything_else_under_its_key_takes_the_place(workspace: Workspace) -> None:
    workspace.intake.accept([Trace(id="t"), ScoreLine(trace_id="t", name="a", value=1, source="user", key="k")])
    workspace.intake.accept([ScoreLine(trace_id="t", name="b", value=1, source="system", key="k")])
    assert [(score.name, score.source) for score in workspace.intake.get("t").scores] == [("b", "system")]


def test_times_of_a_filter_are_read_as_moments(workspace: Workspace) -> None:
    send(workspace, a_span(0))  # at midnight, 2026-01-01 in UTC
    for since, found in (
        ("2026-01-01", 1),
        ("2026-01-01 00:00", 1),
        ("2026-01-01T02:00:00+02:00", 1),
        ("2026-01-01T00:00:00.001Z", 0),
        ("2026-01-02", 0),
    ):
        assert workspace.intake.count(TraceFilter(since=since)) == found
        assert workspace.intake.count(TraceFilter(until=since)) == 1 - found
    with pytest.raises(BadInput, match="yesterday"):
        TraceFilter(since="yesterday")


def test_redaction_can_be_off_for_a_field(settings: Settings, store: Store) -> None:
    workspace = Workspace(replace(settings, redact_fields=("output",)), store)
    send(workspace, an_llm_span(0, question="jo@example.com", answer="jo@example.com"))
    trace = workspace.intake.get(TRACE)
    assert (trace.input, trace.output) == ("jo@example.com", "[EMAIL]")


def test_a_long_text_is_cut_and_told(settings: Settings, store: Store) -> None:
    workspace = Workspace(replace(settings, server_max_text_kb=2), store)
    written = send(workspace, a_span(0, attributes={"input.value": "x" * 5000, "output.value": "short"}))
    assert (written.cut, written.refused) == (1, [])
    trace = workspace.intake.get(TRACE)
    assert trace.input == "x" * 2000 + "… [3000 more characters were cut on arrival]"


@pytest.mark.parametrize("text", ["nul \x00 inside", "emoji 🎉", "\u2028 line", '"quotes" \\ and \\u0000'])
def test_odd_characters_survive(workspace: Workspace, text: str) -> None:
    send(workspace, a_span(0, attributes={"input.value": text, "output.value": text, "note": text}))
    kept = text.replace("\x00", "\ufffd")
    trace = workspace.intake.get(TRACE)
    assert (trace.input, trace.output) == (kept, kept)


@pytest.mark.parametrize("wire", Wire)
def test_long_texts_come_back_inside_their_attributes(workspace: Workspace, wire: Wire) -> None:
    sent = an_llm_span(0, question='Why "then"?\nñ ' * 20, answer="because of it " * 20)
    held = {pair.key: pair.value.string_value or pair.value.int_value for pair in sent.attributes}
    send(workspace, sent, wire=wire)
    (span,) = workspace.intake.get(TRACE).spans
    assert (span.input, span.metadata["attributes"]) == ('Why "then"?\nñ ' * 20, held)
    assert list(span.metadata["attributes"]) == list(held)
    assert send(workspace, sent).duplicates == 1
    with workspace.store.db.read() as connection:
        stored = connection.execute(select(spans_table.c.raw)).scalar_one()
    assert "then" not in stored and "because" not in stored


def test_a_text_of_span_and_trace_is_stored_once_until_the_trace_takes_another(workspace: Workspace) -> None:
    def stored() -> list[tuple[str | None, str | None, int]]:
        with workspace.store.db.read() as connection:
            columns = (spans_table.c.input_text, spans_table.c.output_text, spans_table.c.shared)
            return [tuple(row) for row in connection.execute(select(*columns).order_by(spans_table.c.id))]

    sent = an_llm_span(1, parent=0, question="first", answer="last")
    send(workspace, sent)
    alone = workspace.intake.get(TRACE)
    assert stored() == [(None, None, 3)]
    assert (alone.spans[0].input, alone.spans[0].output) == (alone.input, alone.output) == ("first", "last")
    assert send(workspace, sent).duplicates == 1
    assert send(workspace, an_llm_span(1, parent=0, question="other", answer="last")).refused
    send(workspace, a_span(0, attributes=AGENT))
    assert stored() == [("Plan a trip", "Go to Lima.", 0), ("first", "last", 0)]
    grown = workspace.intake.get(TRACE)
    assert [span.input for span in grown.spans] == ["Plan a trip", "first"]


def test_a_trace_may_share_each_text_with_another_span(workspace: Workspace) -> None:
    asks = a_span(0, attributes={"input.value": "Where?"})
    send(workspace, asks, an_llm_span(1, parent=0, question="find it", answer="There."))
    trace = workspace.intake.get(TRACE)
    assert (trace.input, trace.output) == ("Where?", "There.")
    assert [(span.input, span.output) for span in trace.spans] == [("Where?", None), ("find it", "There.")]


def test_spans_with_impossible_clocks_are_kept(workspace: Workspace) -> None:
    send(workspace, a_span(0, start=0, end=0, attributes=AGENT), a_span(1, parent=0, start=2**63, end=5))
    trace = workspace.intake.get(TRACE)
    assert len(trace.spans) == 2
    assert trace.started_at is not None


def test_logs_bring_scores_messages_and_the_steps_of_claude_code(workspace: Workspace) -> None:
    def record(name: str, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
        listed = [{"key": key, "value": {"stringValue": str(value)}} for key, value in attributes.items()]
        return {"eventName": name, "timeUnixNano": "1767225600000000000", "attributes": listed, **more}

    there = {"traceId": TRACE, "spanId": span_id(0)}
    score = record("gen_ai.evaluation.result", {"gen_ai.evaluation.name": "ok"}, **there)
    score["attributes"].append({"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 0.5}})
    body = {"kvlistValue": {"values": [{"key": "content", "value": {"stringValue": "Why so?"}}]}}
    claude = {"session.id": "c1", "prompt.id": "p1"}
    records = [
        score,
        record("gen_ai.user.message", {}, body=body, **there),
        record("gen_ai.choice", {"message": '{"content": "Because."}'}, **there),
        record("claude_code.user_prompt", {**claude, "prompt": "fix the bug"}),
        record("claude_code.api_request", {**claude, "model": "m", "input_tokens": 7, "duration_ms": 1000}),
        record("claude_code.tool_result", {**claude, "tool_name": "Bash", "success": "false"}),
        record("app.started", {}),
    ]
    sent = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).encode()
    written = workspace.intake.receive_logs(sent, Wire.JSON).result()
    assert (written.spans, written.refused) == (5, [])
    again = workspace.intake.receive_logs(sent, Wire.JSON).result()
    assert (again.spans, again.duplicates) == (0, 5)
    send(workspace, a_span(0, name="chat"))
    trace = workspace.intake.get(TRACE)
    assert (trace.input, trace.output, trace.scores[0].value) == ("Why so?", "Because.", 0.5)
    (agent,) = workspace.intake.page(TraceFilter(session_id="c1"), limit=5)[0]
    assert (agent.input, agent.metadata["model"], agent.metadata["tools"]) == ("fix the bug", "m", ["Bash"])
    assert workspace.intake.counts()["otlp.ignored_logs"] == 2


def waiting(workspace: Workspace) -> list[str]:
    with workspace.store.db.read() as connection:
        return sorted(connection.execute(select(curation_queue.c.trace_id)).scalars())


def test_a_trace_that_grows_or_has_neighbours_in_its_session_waits_for_curation(workspace: Workspace) -> None:
    send(workspace, an_llm_span(0))
    assert waiting(workspace) == []
    send(workspace, an_llm_span(1))
    assert waiting(workspace) == [TRACE]
    sessions = {2: "s1", 3: "s2", 4: "s1"}
    turns = [an_llm_span(n, trace=f"{n:032x}", attributes={"session.id": s}) for n, s in sessions.items()]
    send(workspace, turns[0], turns[1])
    assert waiting(workspace) == [TRACE]
    send(workspace, turns[2])
    assert waiting(workspace) == sorted([TRACE, f"{4:032x}"])


def test_words_and_filters_find_traces_page_by_page(workspace: Workspace) -> None:
    order = list(range(30))
    random.Random(1).shuffle(order)
    for number in order:
        question = f"Where is parcel {number}?" if number % 2 else f"Refund of órder {number}"
        send(workspace, an_llm_span(number, trace=f"{number + 1:032x}", question=question, failed=number % 10 == 0))

    def all_pages(**wanted: Any) -> list[str]:
        found: list[str] = []
        before = None
        while True:
            page, before = workspace.intake.page(TraceFilter(**wanted), limit=4, before=before)
            found += [trace.input for trace in page]
            if before is None:
                return found

    assert all_pages() == [f"Where is parcel {n}?" if n % 2 else f"Refund of órder {n}" for n in range(29, -1, -1)]
    assert sorted(all_pages(search="parcel")) == sorted(f"Where is parcel {n}?" for n in range(1, 30, 2))
    assert all_pages(search="where parc") == [f"Where is parcel {n}?" for n in range(29, 0, -2)]
    assert all_pages(search="parcel 17") == ["Where is parcel 17?"]
    assert all_pages(search='"parcel* OR" AND (') == []
    assert all_pages(search=f"{8:032x}") == ["Where is parcel 7?"]
    assert len(all_pages(status="failed")) == 3
    assert all_pages(search="refund", status="failed", model="small-1") == all_pages(status="failed", search="REFUND")
    assert workspace.intake.count(TraceFilter(search="parcel")) == 15
    assert all_pages(since="2026-01-01T00:00:28") == ["Where is parcel 29?", "Refund of órder 28"]


def test_a_changed_trace_is_found_by_its_new_words_and_by_those_of_its_conversation(workspace: Workspace) -> None:
    send(workspace, an_llm_span(1, parent=0, question="zebra"))
    assert workspace.intake.count(TraceFilter(search="zebra")) == 1
    assert workspace.intake.count(TraceFilter(search="trip")) == 0
    send(workspace, a_span(0, attributes=AGENT))
    assert workspace.intake.count(TraceFilter(search="trip")) == 1
    assert workspace.intake.count(TraceFilter(search="zebra")) == 1
    assert workspace.intake.count(TraceFilter(search="trip plan")) == 1


def test_a_span_given_as_a_record_may_say_anything_about_itself(workspace: Workspace) -> None:
    odd = {"input_tokens": "12", "model": {"name": "m"}, "tags": 5, "metadata": [], "session_id": None, "tool": 3}
    good = {"input_tokens": 7, "model": "small-1", "tags": ["a", 1], "session_id": "s"}
    spans = [SpanLine(trace_id=TRACE, id=f"s{n}", name="x", metadata=facts) for n, facts in enumerate((odd, good))]
    assert workspace.intake.accept(spans[:1]).spans == workspace.intake.accept(spans[1:]).spans == 1
    trace = workspace.intake.get(TRACE)
    assert (trace.session_id, trace.tags) == ("s", ("a", "1"))
    assert (trace.metadata["model"], trace.metadata["models"]) == ("small-1", ["small-1"])
