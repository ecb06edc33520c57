import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.stats.intervals import ranks, spearman

NUMBERS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=40)


@given(NUMBERS)
def test_correlations_are_those_of_scipy(pairs: list[tuple[int, int]]) -> None:
    from scipy import stats as oracle

    x, y = map(list, zip(*pairs, strict=True))
    assert ranks(x) == pytest.approx(oracle.rankdata(x))
    ours = spearman(x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert ours is None
        return
    assert ours is not None
    assert ours.value == pytest.approx(oracle.spearmanr(x, y).statistic, abs=1e-9)


def test_an_interval_holds_the_correlation_and_two_cases_have_none() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=200)
    found = spearman(x, x + random.normal(size=200))
    assert found is not None and found.low is not None and found.high is not None
    # The rank correlation of two normal variables, from their correlation of one over the root of two.
    assert found.low < 6 / np.pi * np.arcsin(0.5 / 2**0.5) < found.high
    assert spearman([1, 2], [1, 2]) is None
