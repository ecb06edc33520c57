"""Tool calls: what other harnesses get wrong is named in the tests."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from evergold.bench.metrics.assignment import best_pairs
from evergold.bench.metrics.tools import ToolCorrectness
from evergold.model.run import Measurement
from evergold.model.tool_calls import ToolCall, expected_of
from tests.builders import a_case, an_attempt


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


def test_order_counts_only_when_asked() -> None:
    made = measured(calls("a", "b", "c"), calls("c", "a", "b"))
    assert (made.value, made.details["order"]) == (1.0, pytest.approx(2 / 3))


@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_the_matching_is_as_good_as_that_of_scipy(rows: int, columns: int, data: st.DataObject) -> None:
    weight = st.floats(0, 1, allow_nan=False)
    weights = data.draw(st.lists(st.lists(weight, min_size=columns, max_size=columns), min_size=rows, max_size=rows))
    ours = best_pairs(weights)
    theirs = linear_sum_assignment(np.array(weights), maximize=True)
    assert len({i for i, _ in ours}) == len({j for _, j in ours}) == min(rows, columns)
    assert sum(weights[i][j] for i, j in ours) == pytest.approx(np.array(weights)[theirs].sum())
