"""Traces and records about them: what is refused, and where a conversation is kept."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from evergold.model.case import plain_messages
from evergold.model.faults import Rejected
from evergold.model.flow import Action, BaseCheck, Flow
from evergold.model.review import QueueQuery
from evergold.model.run import ReplayEnd
from evergold.model.tool_calls import ExpectedTool
from evergold.model.tool_schemas import derived_schemas, with_derived_tools
from evergold.model.trace import LONG, Correction, Reaction, Record, Score, ScoreLine, Span, SpanLine, Trace
from tests.builders import a_case, a_score, a_trace
from tests.rows import each_row

RECORD: TypeAdapter[Any] = TypeAdapter(Record)
MESSAGES = [{"role": "user", "content": "Hi"}]


@each_row("key", ["messages", "tools", "contexts"])
def test_a_conversation_beside_the_fields_is_kept_in_the_metadata(key: str) -> None:
    for kind in (Trace, Span):
        made = kind(id="x", **{key: MESSAGES}, metadata={"own": 1})
        assert made.metadata == {"own": 1, key: MESSAGES}


def test_a_long_conversation_is_kept_as_its_json_text() -> None:
    long = MESSAGES * (LONG + 1)
    assert Trace(id="x", messages=long).metadata["messages"] == json.dumps(long)  # type: ignore[call-arg]
    assert Trace(id="x", metadata={"messages": long}).metadata["messages"] == json.dumps(long)
    assert Trace(id="x", metadata={"messages": long[:LONG]}).metadata["messages"] == long[:LONG]


def test_spans_and_scores_as_lines_of_their_own_may_stand_in_their_trace() -> None:
    trace = Trace.model_validate(
        {
            "id": "t1",
            "spans": [{"type": "span", "trace_id": "t1", "id": "s1"}, {"id": "s2"}],
            "scores": [{"type": "score", "trace_id": "t1", "name": "ok", "value": 1}],
        }
    )
    assert [span.id for span in trace.spans] == ["s1", "s2"] and trace.scores[0].name == "ok"


@each_row(
    ("fields", "problem"),
    [
        ({"spans": [{"id": "s"}, {"id": "s"}]}, "span id 's' is there twice"),
        ({"spans": [{"id": "s", "trace_id": "t9"}]}, "trace_id 't9' is not the id of its trace, 't1'"),
        ({"scores": [{"name": "ok", "value": 2}]}, "less than or equal to 1"),
        ({"id": ""}, "at least 1 character"),
        ({"id": "a\x00b"}, "the character NUL cannot stand here"),
        ({"id": "x" * 513}, "at most 512"),
        ({"metadata": {"n": 2**70}}, "is over 64 bits"),
        ({"colour": "red"}, "Extra inputs"),
        ({"started_at": "yesterday"}, "valid datetime"),
    ],
)
def test_a_trace_that_cannot_be_kept_is_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Trace.model_validate({"id": "t1", **fields})


@each_row(
    ("value", "kind"),
    [
        ({"type": "trace", "id": "t"}, Trace),
        ({"type": "span", "id": "s", "trace_id": "t"}, SpanLine),
        ({"type": "score", "trace_id": "t", "name": "ok", "value": 1}, ScoreLine),
        ({"type": "correction", "trace_id": "t", "text": "Lima"}, Correction),
        ({"type": "reaction", "trace_id": "t", "emoji": "👍"}, Reaction),
    ],
)
def test_a_record_is_known_by_its_type(value: dict[str, Any], kind: type) -> None:
    assert type(RECORD.validate_python(value)) is kind


@each_row("value", [{"type": "note", "id": "t"}, {"id": "t"}, 5, []])
def test_a_record_of_no_known_type_is_refused(value: Any) -> None:
    with pytest.raises(ValidationError):
        RECORD.validate_python(value)


@each_row("text", ["", "  ", "\n"])
def test_a_correction_says_something(text: str) -> None:
    with pytest.raises(ValidationError):
        Correction(trace_id="t", text=text)


@each_row(("given_emoji", "emoji"), [("👍", "👍"), ("", None), ("  ", None), (None, None)])
def test_an_empty_reaction_takes_the_reaction_away(given_emoji: str | None, emoji: str | None) -> None:
    reaction = Reaction(trace_id="t", emoji=given_emoji, author="jo")
    assert (reaction.emoji, reaction.key) == (emoji, "reaction:jo")
    assert Reaction(trace_id="t", emoji=None).key == "reaction:"


@each_row(
    ("key", "by_check", "by_detector"),
    [(None, False, False), ("check:answered", True, False), ("detected:t2", False, True), ("mine", False, False)],
)
def test_whose_score_it_is_stands_in_its_key(key: str | None, by_check: bool, by_detector: bool) -> None:
    score: Score = a_score(key=key)
    assert (score.by_check, score.by_detector) == (by_check, by_detector)


def test_messages_for_others_have_nothing_of_ours() -> None:
    assert plain_messages([{"role": "user", "content": "Hi", "extra": {"a": 1}}]) == MESSAGES


def test_a_rejected_record_is_one_line_with_what_is_known() -> None:
    assert str(Rejected(where="f:3", field="value", reason="is 2")) == "f:3: value: is 2"
    assert str(Rejected(where="f:3", reason="not JSON")) == "f:3: not JSON"
    try:
        Trace(id="t", name=5)
    except ValidationError as problem:
        assert str(Rejected.of(problem, "f:1", Trace)) == "f:1: name: must be a text, not a number"


@each_row(
    ("end", "answer"),
    [("answered", True), ("goal_reached", True), ("turn_limit", True), ("unrecorded", False), ("time_limit", False)],
)
def test_a_trajectory_has_an_answer_where_the_model_gave_one(end: str, answer: bool) -> None:
    assert ReplayEnd(end).has_answer == answer


def test_schemas_are_derived_from_all_expectations_of_a_tool() -> None:
    expected = [
        ExpectedTool(name="f", args={"a": 1, "b": "x", "many": [1, 2]}),
        ExpectedTool(name="f", args={"a": 1.5, "b": None}, optional=("b",)),
        ExpectedTool(name="f", args={"a": 2, "when": "[0-9]+"}, match={"when": "regex", "free": "any"}),
    ]
    (schema,) = derived_schemas(expected)
    parameters = schema["function"]["parameters"]
    assert parameters["properties"] == {
        "a": {"type": "number"},
        "b": {"type": "string"},
        "free": {},
        "many": {"type": "array", "items": {"type": "integer"}},
        "when": {"type": "string"},
    }
    assert parameters["required"] == ["a"]


def test_only_cases_that_expect_calls_and_offer_no_tools_get_derived_ones() -> None:
    expects = {"expected_tools": (ExpectedTool(name="f"),)}
    cases = [a_case("1", **expects), a_case("2"), a_case("3", tools=({"name": "own"},), **expects)]
    offered, count = with_derived_tools(cases)
    assert count == 1 and [len(case.tools) for case in offered] == [1, 0, 1]
    assert with_derived_tools([a_case("2")]) == ([a_case("2")], 0)


def test_small_values_have_their_defaults() -> None:
    assert QueueQuery().status is not None and QueueQuery(status=None).status is None
    assert BaseCheck(commit="c", exists=True, message="").applies is None
    action = Action.model_validate({"id": "1", "type": "x", "created": "2026-01-01T02:00:00+02:00"})
    assert action.created.isoformat() == "2026-01-01T00:00:00+00:00"
    assert Flow(id="f", actions=(action,)).agent is None
    assert a_trace(tags=["a", "b"]).tags == ("a", "b")
