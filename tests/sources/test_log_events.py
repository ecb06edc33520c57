"""Log records as steps of a trace, documents of any file, and spans that arrive in parts."""

from typing import Any

import pytest

from evergold.formats.lines import columns_of
from evergold.model.faults import Rejected
from evergold.model.limits import MOST_KEYS
from evergold.model.trace import SpanLine
from evergold.sources.conventions.read_span import line_of
from evergold.sources.jsonl import read_documents
from evergold.sources.langfuse import is_mergeable, merge_lines, record_stated
from evergold.sources.log_events import spans_of_logs
from evergold.sources.otlp.json import attributes_of
from evergold.sources.spans import Received, WireEvent, WireLog, WireSpan, require_few, shorten_texts
from tests.rows import each_row

TRACE, SPAN = "1" * 32, "2" * 16


def log(name: str, attributes: dict[str, Any] | None = None, **more: Any) -> WireLog:
    fields = {"trace_id": TRACE, "span_id": SPAN, **more}
    body = fields.pop("body", None)
    return WireLog(fields["trace_id"], fields["span_id"], WireEvent(name, 5_000_000_000, attributes or {}), body)


def spans(*logs: WireLog) -> Received:
    return spans_of_logs(Received(logs=list(logs)))


def test_a_message_beside_a_span_becomes_a_step_below_it() -> None:
    (question, answer) = spans(
        log("gen_ai.user.message", body={"content": "Hi"}), log("gen_ai.choice", body={"message": {"content": "Hello"}})
    ).spans
    assert (question.parent_id, line_of(question).input, line_of(question).kind) == (SPAN, "Hi", "event")
    assert line_of(answer).output == "Hello" and line_of(answer).input is None


def test_a_body_that_a_logger_wrote_as_text_is_a_message() -> None:
    body = '{"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "due", "arguments": "{}"}}]}'
    (step,) = spans(log("gen_ai.assistant.message", body=body)).spans
    assert step.attributes["tool_calls"][0]["id"] == "c"


def test_the_same_record_is_the_same_step() -> None:
    one, again, other = spans(
        log("gen_ai.choice", {"a": 1}), log("gen_ai.choice", {"a": 1}), log("gen_ai.choice")
    ).spans
    assert one.span_id == again.span_id != other.span_id


def test_evaluation_results_stay_logs_and_the_rest_is_counted() -> None:
    received = spans(log("gen_ai.evaluation.result"), log("http.request"), log("gen_ai.choice", span_id=None))
    assert len(received.logs) == 1 and received.ignored == 2 and received.spans == []


def test_events_of_claude_code_are_a_trace_for_each_prompt() -> None:
    session = {"session.id": "s", "prompt.id": "p1"}
    logs = [
        log("claude_code.user_prompt", {**session, "prompt": "Fix it"}, trace_id=None, span_id=None),
        log(
            "claude_code.api_request",
            {**session, "model": "m", "input_tokens": "12", "cost_usd": "0.5", "duration_ms": "1000"},
            trace_id=None,
            span_id=None,
        ),
        log(
            "tool_result",
            {**session, "tool_name": "Bash", "success": "false", "error": "boom"},
            trace_id=None,
            span_id=None,
        ),
        log("x", {**session, "prompt.id": "p2"}, trace_id=None, span_id=None, body="claude_code.api_error"),
    ]
    received = spans(*logs)
    lines = [line_of(span) for span in received.spans]
    assert [line.kind for line in lines] == ["event", "llm", "tool", "llm"]
    assert len({line.trace_id for line in lines}) == 2 and len({line.parent_id for line in lines[:3]}) == 1
    assert (lines[1].metadata["input_tokens"], lines[1].metadata["cost"]) == (12, 0.5)
    assert received.spans[1].end_ns - received.spans[1].start_ns == 10**9
    assert [span.failed for span in received.spans] == [False, False, True, True]
    assert lines[2].metadata["error"] == "boom"


def test_answers_and_arguments_among_the_events_of_claude_code_are_read() -> None:
    given = {
        "session.id": "s",
        "prompt.id": "p",
        "tool_name": "due",
        "tool_use_id": "c",
        "tool_input": '{"book":"Emma"}',
    }
    called, answered = (
        line_of(span)
        for span in spans(
            log("tool_result", given | {"tool_parameters": "{}"}, trace_id=None, span_id=None),
            log("assistant_response", given | {"response": "Friday."}, trace_id=None, span_id=None),
        ).spans
    )
    assert (called.kind, called.input, answered.kind, answered.output) == (
        "tool",
        '{"book":"Emma"}',
        "event",
        "Friday.",
    )


def test_a_prompt_without_a_session_is_left_out() -> None:
    assert spans(log("claude_code.user_prompt", {"prompt": "Hi"})).ignored == 1


@each_row(
    ("lines", "expected"),
    [
        ([b'{"a": 1}\n', b"\n", b'{"a": 2}'], [("f:1", {"a": 1}), ("f:3", {"a": 2})]),
        ([b'[{"a": 1}, 5]'], [("f:1[0]", {"a": 1}), ("f:1[1]", 5)]),
        ([b'{"data": [{"a": 1}], "meta": {}}'], [("f:1[0]", {"a": 1})]),
        ([b"{\n", b'"a": 1\n', b"}"], [("f", {"a": 1})]),
        ([b"id,value\n", b'x,"1,5"\n', b"y,\n"], [("f:2", {"id": "x", "value": "1,5"}), ("f:3", {"id": "y"})]),
        ([], []),
        ([b"  \n"], []),
    ],
)
def test_documents_of_a_file(lines: list[bytes], expected: list[Any]) -> None:
    assert list(read_documents(lines, "f")) == expected


@each_row("lines", [[b"{broken"], [b'{"a": 1}\n', b"{broken"], [b"a,b\n", b"1,2,3\n"]])
def test_what_is_no_document_is_rejected_with_its_place(lines: list[bytes]) -> None:
    assert any(isinstance(item, Rejected) and item.where.startswith("f") for item in read_documents(lines, "f"))


@each_row(
    ("head", "columns"),
    [(b"id, name\n1,2", ["id", "name"]), (b'{"a,b": 1}', []), (b"word", []), (b"", []), (b"[1,2]", [])],
)
def test_a_table_is_known_by_its_first_line(head: bytes, columns: list[str]) -> None:
    assert columns_of(head) == columns


def part(moment: str, unstated: set[str] = frozenset(), **fields: Any) -> SpanLine:  # type: ignore[assignment]
    return record_stated(SpanLine(trace_id="t", id="s", **fields), moment, unstated)


def test_the_latest_event_states_a_field_whatever_the_order_of_arrival() -> None:
    early, late = (
        part("1", name="early", input="Q", metadata={"k": 1}),
        part("2", name="late", metadata={"k": 2, "m": 3}),
    )
    for one, other in ((early, late), (late, early)):
        both = merge_lines(one, other)
        assert (both.name, both.input) == ("late", "Q") and both.metadata["k"] == 2 and both.metadata["m"] == 3
        assert is_mergeable(both) and merge_lines(both, late) == merge_lines(both, early) == both


def test_the_start_is_that_of_the_first_event() -> None:
    first, second = part("1", started_at="2026-01-01T00:00:05Z"), part("2", started_at="2026-01-01T00:00:09Z")
    assert merge_lines(second, first).started_at == merge_lines(first, second).started_at == first.started_at


def test_a_default_that_was_not_stated_replaces_nothing() -> None:
    stated = part("1", kind="llm", status="failed")
    update = part("2", {"kind", "status"}, output="A")
    both = merge_lines(stated, update)
    assert (both.kind, both.status.value, both.output) == ("llm", "failed", "A")


def test_a_line_without_a_record_of_its_fields_is_whole() -> None:
    assert not is_mergeable(SpanLine(trace_id="t", id="s"))
    assert not is_mergeable(SpanLine(trace_id="t", id="s", metadata={"attributes": "x"}))


@each_row(
    ("trace_id", "span_id", "parent", "problem"),
    [
        (TRACE, SPAN, None, None),
        (TRACE, SPAN, "3" * 16, None),
        ("1" * 31, SPAN, None, "trace id '1111111111111111111111111111111' has 31 hex digits, not 32"),
        ("0" * 32, SPAN, None, "trace id is all zeros"),
        (TRACE, "", None, "span id '' has 0 hex digits"),
        (TRACE, SPAN, "0" * 16, "parent span id is all zeros"),
    ],
)
def test_ids_have_the_shape_of_the_protocol(
    trace_id: str, span_id: str, parent: str | None, problem: str | None
) -> None:
    received = Received()
    received.check(WireSpan(trace_id, span_id, parent, "n", 1, 2))
    assert (len(received.spans), len(received.refused)) == ((1, 0) if problem is None else (0, 1))
    assert problem is None or problem in received.refused[0]


def test_long_texts_are_cut_inside_documents_and_say_so() -> None:
    cuts: list[int] = []
    value = {"a": "x" * 12, "b": ["short", '["' + "y" * 12 + '"]'], "n": 5}
    cut = shorten_texts(value, 10, lambda: cuts.append(1))
    assert cut["a"] == "xxxxxxxxxx… [2 more characters were cut on arrival]" and cut["n"] == 5
    assert cut["b"][0] == "short" and cut["b"][1].startswith('["yyyyyyyyyy… [2 more') and len(cuts) == 2
    assert shorten_texts('["a","b","c","d"]', 10, lambda: cuts.append(1)) == '["a","b","c","d"]' and len(cuts) == 2


def test_a_record_of_too_many_attributes_is_refused() -> None:
    assert require_few([1] * MOST_KEYS)
    with pytest.raises(ValueError, match="at most 10000 are taken"):
        require_few([1] * (MOST_KEYS + 1))


@each_row(
    ("value", "expected"),
    [
        ({"stringValue": "x"}, "x"),
        ({"boolValue": False}, False),
        ({"intValue": "7"}, 7),
        ({"doubleValue": 1}, 1.0),
        ({"arrayValue": {"values": [{"intValue": 1}, {}]}}, [1, None]),
        ({"kvlistValue": {"values": [{"key": "a", "value": {"stringValue": "b"}}]}}, {"a": "b"}),
        ({"bytesValue": "aGk="}, "aGk="),
        ({"futureValue": 1}, None),
        ({}, None),
    ],
)
def test_values_of_every_type(value: dict[str, Any], expected: Any) -> None:
    assert attributes_of([{"key": "k", "value": value}]) == {"k": expected}


@each_row(
    ("value", "problem"),
    [
        ({"stringValue": 5}, "stringValue must not be a number"),
        ({"intValue": str(2**63)}, "is over 64 bits"),
        ({"intValue": "x"}, "intValue must be a whole number, not 'x'"),
        ({"bytesValue": "!!"}, "is not base64"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(value: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        attributes_of([{"key": "k", "value": value}])
