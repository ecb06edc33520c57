from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.stats.intervals import pass_all, pass_at, reducer
from tests.rows import each_row


@each_row(
    ("name", "value"),
    [("mean", 0.5), ("median", 0.4), ("mode", 0.2), ("max", 1.0), ("pass@2", 0.7), ("pass^2", 0.1)],
)
def test_each_reducer_has_its_value(name: str, value: float) -> None:
    assert reducer(name)([0.2, 0.2, 0.4, 0.7, 1.0]) == pytest.approx(value)


def test_a_tie_of_modes_takes_the_lower() -> None:
    assert reducer("mode")([1.0, 0.0]) == 0.0


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.data())
def test_pass_estimates_count_every_draw_of_k_trials(passed: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(passed)))
    values = [float(flag) for flag in passed]
    draws = list(combinations(passed, k))
    assert pass_at(values, k) == pytest.approx(sum(any(draw) for draw in draws) / len(draws))
    assert pass_all(values, k) == pytest.approx(sum(all(draw) for draw in draws) / len(draws))


@each_row("name", ["average", "pass@", "pass@0", "pass^x", "pass@²", ""])
def test_an_unknown_reducer_lists_the_known(name: str) -> None:
    with pytest.raises(ValueError, match="valid are mean, median, mode, max, pass@K"):
        reducer(name)


def test_more_trials_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match="needs 3 scored trials, there are 2"):
        reducer("pass@3")([1.0, 1.0])
