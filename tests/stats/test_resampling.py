"""Figures from one set of draws agree with the general bootstrap."""

import numpy as np
import pytest

from evergold.stats.intervals import bootstrap, intervals_of


def test_a_ratio_agrees_with_the_general_bootstrap() -> None:
    random = np.random.default_rng(1)
    top, bottom = random.random(80), random.random(80) + 0.5
    found = intervals_of({"r": (list(top), list(bottom))}, {"twice": lambda known: known["r"] * 2})
    expected = bootstrap(lambda rows: top[rows].sum(axis=-1) / bottom[rows].sum(axis=-1), 80, seed=5)
    one, twice = found["r"], found["twice"]
    assert one is not None and twice is not None and expected is not None
    assert one.value == pytest.approx(expected.value)
    assert one.low == pytest.approx(expected.low, abs=0.01) and one.high == pytest.approx(expected.high, abs=0.01)
    assert twice.value == pytest.approx(2 * one.value)


def test_undefined_figures_are_none_and_one_case_has_no_interval() -> None:
    found = intervals_of({"none": ([0.0, 0.0], [0.0, 0.0]), "some": ([1.0, 0.0], [1.0, 0.0])}, {})
    assert found["none"] is None and found["some"] is not None and found["some"].n == 1
    single = intervals_of({"x": ([1.0], [1.0])}, {})["x"]
    assert single is not None and (single.value, single.low, single.high) == (1.0, None, None)
    assert intervals_of({"x": ([], [])}, {}) == {"x": None}
