"""Our intervals against scipy, and against what an interval promises: to hold the truth 95 times in 100."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.stats.intervals import (
    bootstrap,
    mean_bootstrap,
    proportion_interval,
    t_cdf,
    t_interval,
    t_quantile,
)
from tests.rows import each_row


@given(st.floats(0.001, 0.999), st.integers(1, 5000))
def test_the_t_quantile_is_that_of_scipy(p: float, df: int) -> None:
    from scipy import stats as oracle

    assert t_quantile(p, df) == pytest.approx(oracle.t.ppf(p, df), rel=1e-7, abs=1e-9)


@given(st.floats(-50, 50), st.integers(1, 500))
def test_the_t_distribution_is_that_of_scipy(t: float, df: int) -> None:
    from scipy import stats as oracle

    assert t_cdf(t, df) == pytest.approx(oracle.t.cdf(t, df), abs=1e-10)


@each_row("p", [0.0, 1.0, -1.0, math.nan])
def test_a_quantile_outside_the_open_unit_interval_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="0 < p < 1"):
        t_quantile(p, 3)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=60))
@settings(max_examples=50)
def test_the_t_interval_is_that_of_scipy(values: list[float]) -> None:
    from scipy import stats as oracle

    ours = t_interval(values)
    assert ours is not None and ours.low is not None and ours.high is not None
    assert ours.value == pytest.approx(np.mean(values))
    error = oracle.sem(values)
    if error > 1e-12:
        low, high = oracle.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=error)
        assert [ours.low, ours.high] == pytest.approx([low, high])


def test_nothing_has_no_mean_and_one_value_has_no_width() -> None:
    assert t_interval([]) is None
    assert t_interval([], []) is None
    assert mean_bootstrap([]) is None
    assert proportion_interval(0, 0) is None
    for one in (t_interval([0.7]), mean_bootstrap([0.7]), t_interval([0.7], ["a"])):
        assert one is not None
        assert (one.value, one.low, one.high) == (0.7, None, None)


def test_clusters_of_one_give_the_plain_interval() -> None:
    values = np.random.default_rng(1).random(30)
    plain, clustered = t_interval(values), t_interval(values, list(range(30)))
    assert plain is not None and clustered is not None
    assert clustered.low == pytest.approx(plain.low)


def test_copies_of_a_case_add_no_certainty_when_clustered() -> None:
    values = np.random.default_rng(1).random(20)
    once = t_interval(values)
    copied = t_interval(np.repeat(values, 5), [index for index in range(20) for _ in range(5)])
    assert once is not None and copied is not None
    assert copied.low == pytest.approx(once.low)
    naive = t_interval(np.repeat(values, 5))
    assert naive is not None and naive.low is not None and naive.high is not None
    assert once.low is not None and once.high is not None
    assert naive.high - naive.low < (once.high - once.low) / 2


def test_a_single_cluster_says_nothing_about_others() -> None:
    interval = t_interval([0.1, 0.9], ["s", "s"])
    assert interval is not None and interval.low is None


def test_cluster_names_must_match_the_values() -> None:
    with pytest.raises(ValueError, match="2 values but 1 cluster names"):
        t_interval([0.1, 0.2], ["a"])


@pytest.mark.parametrize("make", [t_interval, mean_bootstrap])
def test_the_interval_holds_the_truth_about_95_times_in_100(make: type) -> None:
    random = np.random.default_rng(7)
    held = 0
    for _ in range(400):
        interval = make(random.beta(2, 3, size=60))
        held += interval.low <= 0.4 <= interval.high
    assert 0.91 <= held / 400 <= 0.98


def test_a_bootstrap_gives_the_same_bounds_for_the_same_seed_and_however_it_is_sliced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = np.random.default_rng(3).random(50)
    first = mean_bootstrap(values, seed=5)
    monkeypatch.setattr("evergold.stats.intervals.CELLS_AT_ONCE", 50 * 128)
    assert mean_bootstrap(values, seed=5) == first
    assert mean_bootstrap(values, seed=6) != first


def test_draws_without_a_figure_are_left_out() -> None:
    nothing = bootstrap(lambda rows: np.where(rows.shape[0] == 1, 1.0, np.nan) * np.ones(rows.shape[0]), 3)
    assert nothing is not None and nothing.low is None


def test_no_failures_in_ten_do_not_prove_that_there_are_none() -> None:
    from scipy import stats as oracle

    interval = proportion_interval(0, 10)
    assert interval is not None and interval.low == 0 and interval.high == pytest.approx(0.2775, abs=1e-3)
    wilson = oracle.binomtest(7, 30).proportion_ci(method="wilson")
    ours = proportion_interval(7, 30)
    assert ours is not None
    assert [ours.low, ours.high] == pytest.approx([wilson.low, wilson.high], abs=1e-5)
    assert ours.n == 30


def test_draws_that_are_all_equal_leave_room_for_what_was_not_drawn() -> None:
    found = mean_bootstrap([1.0] * 8)
    assert found is not None and (found.low, found.high) == pytest.approx((0.05 ** (1 / 8), 1.0))
