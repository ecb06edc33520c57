"""Tool calls: what other harnesses get wrong is named in the tests."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.bench.metrics.tools import ToolCorrectness, best_pairs
from evergold.model.run import Measurement, MeasurementState
from evergold.model.tool_calls import ExpectedTool, ToolCall, expected_of
from tests.builders import a_case, an_attempt
from tests.rows import each_row


def calls(*names: str | tuple[str, dict[str, Any]]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(name=n) if isinstance(n, str) else ToolCall(name=n[0], args=n[1]) for n in names)


def measured(expected: tuple[ToolCall, ...], actual: tuple[ToolCall, ...], ordered: bool = False) -> Measurement:
    return ToolCorrectness(ordered).measure(a_case(expected_tools=expected_of(expected)), an_attempt(tool_calls=actual))


def test_extra_calls_cost_precision_and_are_named() -> None:
    made = measured(calls("a", "b"), calls("a", "b", "x", "y", "z"))
    assert made.value == pytest.approx(2 * 0.4 / 1.4)
    assert (made.details["precision"], made.details["recall"]) == (0.4, 1.0)
    assert made.reason == "extra: x, y, z"


def test_a_tool_expected_twice_and_called_twice_is_right() -> None:
    assert measured(calls("a", "a"), calls("a", "a")).value == 1.0
    assert measured(calls("a", "a"), calls("a")).value == pytest.approx(2 / 3)
    assert measured(calls("a"), calls("a", "a")).reason == "extra: a"


def test_no_calls_expected_and_none_made_is_right_and_either_alone_is_wrong() -> None:
    assert measured((), ()).value == 1.0
    assert measured((), calls("a")).value == 0.0
    assert measured(calls("a"), ()).reason == "missing: a"


def test_arguments_count_by_the_share_of_equal_keys() -> None:
    expected, actual = calls(("f", {"x": 1, "y": {"z": [1, 2]}})), calls(("f", {"x": 1, "y": {"z": [1, 3]}, "w": 0}))
    made = measured(expected, actual)
    assert made.value == pytest.approx((1 + 0.5) / 3)
    assert made.reason == "other arguments: f"


def test_two_calls_of_one_tool_are_matched_for_the_best_whole() -> None:
    expected = calls(("f", {"x": 1, "y": 1}), ("f", {"x": 1, "y": 2}))
    actual = calls(("f", {"x": 1, "y": 2}), ("f", {"x": 1, "y": 1}))
    assert measured(expected, actual).value == 1.0
    assert measured(expected, actual, ordered=True).value == pytest.approx(0.5)


def test_order_does_not_count_when_told_so() -> None:
    made = measured(calls("a", "b", "c"), calls("c", "a", "b"))
    assert (made.value, made.details["order"]) == (1.0, pytest.approx(2 / 3))


@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_the_matching_is_as_good_as_that_of_scipy(rows: int, columns: int, data: st.DataObject) -> None:
    from scipy.optimize import linear_sum_assignment

    weight = st.floats(0, 1, allow_nan=False)
    weights = data.draw(st.lists(st.lists(weight, min_size=columns, max_size=columns), min_size=rows, max_size=rows))
    ours = best_pairs(weights)
    theirs = linear_sum_assignment(np.array(weights), maximize=True)
    assert len({i for i, _ in ours}) == len({j for _, j in ours}) == min(rows, columns)
    assert sum(weights[i][j] for i, j in ours) == pytest.approx(np.array(weights)[theirs].sum())


def test_order_counts_unless_metric_or_case_says_no() -> None:
    attempt = an_attempt(tool_calls=calls("b", "a"))
    case = a_case(expected_tools=expected_of(calls("a", "b")))
    assert ToolCorrectness().measure(case, attempt).value == pytest.approx(0.5)
    assert ToolCorrectness().measure(case.model_copy(update={"ordered": False}), attempt).value == 1.0
    assert ToolCorrectness(ordered=False).measure(case, attempt).value == 1.0


def test_a_case_that_says_nothing_about_calls_is_not_applicable() -> None:
    made = ToolCorrectness().measure(a_case(), an_attempt(tool_calls=calls("a")))
    assert made.state is MeasurementState.NOT_APPLICABLE


@each_row(
    ("expected", "given", "value"),
    [
        ({"args": {"city": ["NYC", "New York"]}, "match": {"city": "any_of"}}, {"city": "New York"}, 1.0),
        ({"args": {"city": ["NYC", "New York"]}, "match": {"city": "any_of"}}, {"city": "Boston"}, 0.0),
        ({"args": {"n": 3, "unit": "km"}, "optional": ["unit"]}, {"n": 3}, 1.0),
        ({"args": {"n": 3, "unit": "km"}, "optional": ["unit"]}, {"n": 3, "unit": "km"}, 1.0),
        ({"args": {"n": 3, "unit": "km"}, "optional": ["unit"]}, {"n": 3, "unit": "mi"}, 0.5),
        ({"args": {"n": 3}, "optional": ["unit"]}, {"n": 3, "unit": "whatever"}, 1.0),
        ({"args": {"n": 3}}, {"n": 3, "unit": "whatever"}, 0.5),
        ({"args": {"city": "Lima"}, "match": {"city": "ignore_case"}}, {"city": " LIMA "}, 1.0),
        ({"args": {"n": 1200.5}, "match": {"n": "number"}}, {"n": "1,200.50"}, 1.0),
        ({"args": {"n": 1}, "match": {"n": "number"}}, {"n": True}, 0.0),
        ({"args": {"q": "SELECT .* FROM t"}, "match": {"q": "regex"}}, {"q": "SELECT a, b FROM t"}, 1.0),
        ({"args": {"q": "SELECT .* FROM t"}, "match": {"q": "regex"}}, {"q": "DROP t; SELECT 1 FROM t"}, 0.0),
        ({"args": {"id": "x"}, "match": {"id": "any"}}, {"id": 77}, 1.0),
        ({"match": {"id": "any"}}, {"id": 77}, 1.0),
        ({"match": {"id": "any"}}, {}, 0.0),
        ({"args": {"list": [1, 2]}, "match": {"list": "exact"}}, {"list": [1, 3]}, 0.0),
        (
            {
                "args": {"to": {"city": ["NY", "New York"], "zip": "1"}},
                "match": {"to.city": "any_of"},
                "optional": ["to.zip"],
            },
            {"to": {"city": "New York"}},
            1.0,
        ),
    ],
)
def test_a_task_states_what_may_vary(expected: dict[str, Any], given: dict[str, Any], value: float) -> None:
    want = ExpectedTool.model_validate({"name": "f", **expected})
    made = ToolCorrectness().measure(a_case(expected_tools=(want,)), an_attempt(tool_calls=calls(("f", given))))
    assert made.value == pytest.approx(value)
