"""Tool calls: read from messages of any shape, and expectations whose rules fit their values."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evergold.model.tool_calls import ExpectedTool, ToolCall, arguments_of, calls_in, expected_of
from tests.rows import each_row


def asked(*calls: Any) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": list(calls)}


def call(name: str, arguments: Any = "{}", id: Any = None) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(content: Any, id: str | None = None, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content, **more}


@each_row(
    ("given_arguments", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        (None, {}),
        ("", {}),
        ('{"a": 1}', {"a": 1}),
        ("[1, 2]", {"arguments": [1, 2]}),
        ("5", {"arguments": 5}),
        ("not json", {"arguments": "not json"}),
        ('{"a": ', {"arguments": '{"a": '}),
        (7, {"arguments": 7}),
        ([1], {"arguments": [1]}),
        (False, {"arguments": False}),
    ],
)
def test_arguments_of_any_shape_become_an_object(given_arguments: Any, expected: dict[str, Any]) -> None:
    assert arguments_of(given_arguments) == expected


def test_results_are_tied_to_calls_by_id_whatever_their_order() -> None:
    made = calls_in([asked(call("a", id="1"), call("b", id="2")), result("of b", "2"), result("of a", "1")])
    assert [(one.name, one.result) for one in made] == [("a", "of a"), ("b", "of b")]


def test_an_id_that_is_used_twice_ties_first_to_first() -> None:
    made = calls_in([asked(call("a", id="1"), call("b", id="1")), result("first", "1"), result("second", "1")])
    assert [one.result for one in made] == ["first", "second"]


def test_a_result_without_an_id_goes_to_the_oldest_open_call_of_its_name() -> None:
    made = calls_in([asked(call("a"), call("b")), result("of b", name="b"), result("of a")])
    assert [one.result for one in made] == ["of a", "of b"]


@pytest.mark.parametrize("message", [result("lost", "9"), result("lost", name="c")])
def test_a_result_that_fits_no_call_is_left_out(message: dict[str, Any]) -> None:
    assert calls_in([asked(call("a", id="1")), message]) == (ToolCall(name="a", id="1"),)


@each_row("marks", [{"failed": True}, {"is_error": True}, {"extra": {"failed": True}}, {"extra": {"is_error": 1}}])
def test_a_failed_call_is_marked_wherever_the_mark_stands(marks: dict[str, Any]) -> None:
    assert calls_in([asked(call("a", id="1")), result("boom", "1", **marks)])[0].failed


@each_row("extra", [{}, {"extra": "text"}, {"extra": None}, {"failed": False}])
def test_a_result_without_a_mark_did_not_fail(extra: dict[str, Any]) -> None:
    assert not calls_in([asked(call("a", id="1")), result("fine", "1", **extra)])[0].failed


@each_row(
    "odd",
    [None, "text", {}, {"name": 7}, {"function": "f"}, {"function": None}, {"function": {"name": None}}, {"id": 5}],
)
def test_calls_of_an_odd_shape_never_raise(odd: Any) -> None:
    made = calls_in([asked(odd), {"role": "assistant", "tool_calls": odd}, {"role": "tool"}])
    assert len(made) == isinstance(odd, dict)
    assert all(one.name == "" and one.id is None for one in made)


def test_a_flat_call_is_read_like_a_nested_one() -> None:
    assert calls_in([asked({"id": "1", "name": "a", "args": {"x": 1}})])[0] == ToolCall(name="a", args={"x": 1}, id="1")


@pytest.mark.parametrize("text", ["[" * 150 + "]" * 150, '{"a":' * 150 + "1" + "}" * 150])
def test_arguments_that_are_nested_too_deep_to_be_stored_stay_text(text: str) -> None:
    (made,) = calls_in([asked(call("deep", text, id="1"))])
    assert made == ToolCall(name="deep", args={"arguments": text}, id="1")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 100) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.fixed_dictionaries({"role": st.sampled_from(["tool", "assistant", "user"]), "tool_calls": JSON})))
def test_no_message_makes_reading_calls_fail(messages: list[dict[str, Any]]) -> None:
    assert all(isinstance(one, ToolCall) for one in calls_in(messages))


def test_a_call_without_a_name_cannot_be_expected() -> None:
    assert expected_of([ToolCall(name=""), ToolCall(name="a", args={"x": 1})]) == (
        ExpectedTool(name="a", args={"x": 1}),
    )


@each_row(
    ("fields", "problem"),
    [
        ({"match": {"city": "exact"}}, "match names 'city', which is not in args; add it there or use `any`"),
        ({"args": {"c": "x"}, "match": {"c": "any_of"}}, "its value in args is a list of right values"),
        ({"args": {"c": []}, "match": {"c": "any_of"}}, "its value in args is a list of right values"),
        ({"args": {"c": 1}, "match": {"c": "regex"}}, "its value in args is the pattern as text"),
        ({"args": {"c": "("}, "match": {"c": "regex"}}, r"is not a regular expression"),
        ({"args": {"c": "(?=x)"}, "match": {"c": "regex"}}, r"is not a regular expression"),
        ({"args": {"a": {"b": 1}}, "match": {"a.c": "number"}}, "match names 'a.c'"),
    ],
)
def test_a_rule_that_does_not_fit_its_value_is_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        ExpectedTool(name="f", **fields)


@each_row(
    ("fields", "args"),
    [
        ({"args": {"a": 1}}, {"a": 1}),
        ({"args": {"a": ["x", "y"]}, "match": {"a": "any_of"}}, {"a": "x"}),
        ({"args": {"o": {"a": [1, 2]}}, "match": {"o.a": "any_of"}}, {"o": {"a": 1}}),
        ({"match": {"free": "any"}}, {}),
    ],
)
def test_an_example_meets_its_expectation(fields: dict[str, Any], args: dict[str, Any]) -> None:
    assert ExpectedTool(name="f", **fields).example() == ToolCall(name="f", args=args)


def test_a_pattern_has_no_example() -> None:
    assert ExpectedTool(name="f", args={"a": "x+"}, match={"a": "regex"}).example() is None
