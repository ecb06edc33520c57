import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.stats.intervals import pearson, ranks, spearman

NUMBERS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=40)


@given(NUMBERS)
def test_correlations_are_those_of_scipy(pairs: list[tuple[int, int]]) -> None:
    from scipy import stats as oracle

    x, y = map(list, zip(*pairs, strict=True))
    assert ranks(x) == pytest.approx(oracle.rankdata(x))
    ours_values, ours_ranks = pearson(x, y), spearman(x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert ours_values is None and ours_ranks is None
        return
    assert ours_values is not None and ours_ranks is not None
    assert ours_values.value == pytest.approx(oracle.pearsonr(x, y).statistic, abs=1e-9)
    assert ours_ranks.value == pytest.approx(oracle.spearmanr(x, y).statistic, abs=1e-9)


def test_an_interval_holds_the_correlation_and_two_cases_have_none() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=200)
    found = pearson(x, x + random.normal(size=200))
    assert found is not None and found.low is not None and found.high is not None
    assert found.low < 1 / 2**0.5 < found.high
    assert pearson([1, 2], [1, 2]) is None
