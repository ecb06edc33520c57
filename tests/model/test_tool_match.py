"""Whether a call is the expected one, rule by rule."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.model.tool_calls import ExpectedTool, ToolCall, call_likeness, matches
from evergold.model.values import likeness
from tests.rows import each_row


def share(args: dict[str, Any], wanted: dict[str, Any], **rules: Any) -> float:
    return call_likeness(ExpectedTool(name="f", args=wanted, **rules), ToolCall(name="f", args=args))


@each_row(
    ("given_args", "wanted", "rules", "expected"),
    [
        ({}, {}, {}, 1.0),
        ({"a": 1}, {"a": 1}, {}, 1.0),
        ({"a": 1}, {"a": 1.0}, {}, 1.0),
        ({"a": True}, {"a": 1}, {}, 0.0),
        ({"a": "1"}, {"a": 1}, {}, 0.0),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, {}, 0.5),
        ({"a": 1}, {"a": 1, "b": 3}, {}, 0.5),
        ({"a": 1, "b": 3}, {"a": 1}, {}, 0.5),
        ({"a": 1}, {"a": 1, "b": 3}, {"optional": ("b",)}, 1.0),
        ({"a": 1, "b": 4}, {"a": 1, "b": 3}, {"optional": ("b",)}, 0.5),
        ({"a": 1, "b": 4}, {"a": 1}, {"optional": ("b",)}, 1.0),
        ({"a": 9}, {"a": 1}, {"match": {"a": "any"}}, 1.0),
        ({"free": "x"}, {}, {"match": {"free": "any"}}, 1.0),
        ({}, {}, {"match": {"free": "any"}}, 0.0),
        ({"a": [1, 2]}, {"a": [1, 3]}, {}, 0.5),
        ({"a": [1, 2]}, {"a": [1, 3]}, {"match": {"a": "exact"}}, 0.0),
        ({"a": " New   YORK "}, {"a": "new york"}, {"match": {"a": "ignore_case"}}, 1.0),
        ({"a": 5}, {"a": "5"}, {"match": {"a": "ignore_case"}}, 0.0),
        ({"a": "1,200.50"}, {"a": 1200.5}, {"match": {"a": "number"}}, 1.0),
        ({"a": 0.1 + 0.2}, {"a": "0.3"}, {"match": {"a": "number"}}, 1.0),
        ({"a": "twelve"}, {"a": 12}, {"match": {"a": "number"}}, 0.0),
        ({"a": True}, {"a": 1}, {"match": {"a": "number"}}, 0.0),
        ({"a": "inf"}, {"a": "inf"}, {"match": {"a": "number"}}, 1.0),
        ({"a": "AB-12"}, {"a": "[A-Z]+-[0-9]+"}, {"match": {"a": "regex"}}, 1.0),
        ({"a": "x AB-12"}, {"a": "[A-Z]+-[0-9]+"}, {"match": {"a": "regex"}}, 0.0),
        ({"a": 42}, {"a": "[0-9]+"}, {"match": {"a": "regex"}}, 1.0),
        ({"a": True}, {"a": "true|false"}, {"match": {"a": "regex"}}, 1.0),
        ({"a": ["x"]}, {"a": ".*"}, {"match": {"a": "regex"}}, 0.0),
        ({"a": "y"}, {"a": ["x", "y"]}, {"match": {"a": "any_of"}}, 1.0),
        ({"a": "z"}, {"a": ["x", "y"]}, {"match": {"a": "any_of"}}, 0.0),
        ({"o": {"a": 1, "b": 9}}, {"o": {"a": 1, "b": 2}}, {}, 0.5),
        ({"o": {"a": "X"}}, {"o": {"a": "x"}}, {"match": {"o.a": "ignore_case"}}, 1.0),
        ({"o": {"a": 1}}, {"o": {"a": 1, "b": 2}}, {"optional": ("o.b",)}, 1.0),
        ({"o": 1}, {"o": {"a": 1}}, {}, 0.0),
    ],
)
def test_the_share_of_arguments_that_are_right(
    given_args: dict[str, Any], wanted: dict[str, Any], rules: dict[str, Any], expected: float
) -> None:
    assert share(given_args, wanted, **rules) == expected
    assert matches(ExpectedTool(name="f", args=wanted, **rules), ToolCall(name="f", args=given_args)) == (expected == 1)


def test_another_tool_is_no_match_at_all() -> None:
    assert call_likeness(ExpectedTool(name="f"), ToolCall(name="g")) == 0.0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(JSON, JSON)
def test_likeness_is_a_share_and_the_same_from_both_sides(one: Any, other: Any) -> None:
    assert 0.0 <= likeness(one, other) <= 1.0
    assert likeness(one, other) == pytest.approx(likeness(other, one))
    assert likeness(one, one) == 1.0


@given(st.dictionaries(st.text(min_size=1, max_size=3), JSON, max_size=4))
def test_a_call_is_the_one_that_expects_it(args: dict[str, Any]) -> None:
    made = ToolCall(name="f", args=args)
    assert matches(ExpectedTool(name="f", args=args), made)
    assert call_likeness(ExpectedTool(name="f", args={**args, "more-than-three": 1}), made) < 1.0
