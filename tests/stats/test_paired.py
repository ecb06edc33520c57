"""Paired statistics, held against scipy and against cases worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.model.report import PairedVerdict
from evergold.stats.paired import Effect, holm, judge, mcnemar_exact, paired_effect, planned_effect
from tests.rows import each_row


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_equals_the_binomial_test(first: int, second: int) -> None:
    from scipy import stats as oracle

    expected = oracle.binomtest(first, first + second, 0.5).pvalue if first + second else 1.0
    assert mcnemar_exact(first, second) == pytest.approx(expected)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_monotone_never_below_the_raw_value_and_never_above_bonferroni(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    for raw, held in zip(p_values, adjusted, strict=True):
        assert raw <= held <= min(1.0, raw * len(p_values)) + 1e-12
    order = np.argsort(p_values, kind="stable")
    assert list(np.asarray(adjusted)[order]) == sorted(adjusted)


def test_holm_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


@pytest.mark.parametrize("draw", ["numbers", "flips"])
def test_the_interval_agrees_with_scipys_bootstrap(draw: str) -> None:
    from scipy import stats as oracle

    rng = np.random.default_rng(7)
    differences = (
        rng.normal(0.05, 0.3, 200) if draw == "numbers" else rng.choice([-1.0, 0.0, 1.0], 200, p=[0.1, 0.7, 0.2])
    )
    ours = paired_effect(list(differences))
    theirs = oracle.bootstrap((differences,), np.mean, method="percentile", n_resamples=10_000, rng=1)
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.006)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.006)
    assert ours.p == pytest.approx(oracle.ttest_1samp(differences, 0).pvalue, abs=0.02)


def test_clusters_widen_the_interval_when_cases_of_one_cluster_move_together() -> None:
    rng = np.random.default_rng(3)
    shared = np.repeat(rng.normal(0, 0.3, 40), 10)
    names = [f"session-{i // 10}" for i in range(400)]
    alone, clustered = paired_effect(list(shared)), paired_effect(list(shared), names)
    assert (clustered.high - clustered.low) > 2 * (alone.high - alone.low)
    assert clustered.smallest_visible is not None and alone.smallest_visible is not None
    assert clustered.smallest_visible > 2 * alone.smallest_visible


def test_smallest_visible_effect_is_found_four_times_out_of_five() -> None:
    from scipy import stats as oracle

    rng = np.random.default_rng(11)
    effect = planned_effect(100, spread=0.5)
    assert effect is not None
    samples = rng.normal(effect, 0.5, (4_000, 100))
    found = np.mean(oracle.ttest_1samp(samples, 0, axis=1).pvalue < 0.05)
    assert found == pytest.approx(0.8, abs=0.03)


def test_trials_and_cases_shrink_what_can_be_seen() -> None:
    one, three, many = planned_effect(50), planned_effect(50, trials=3), planned_effect(200)
    assert one and three and many
    assert many == pytest.approx(one / 2)
    assert one / 2**0.5 < three < one
    assert planned_effect(1) is None


def effect(mean: float, low: float, high: float, n: int = 50) -> Effect:
    return Effect(n=n, groups=n, mean=mean, low=low, high=high, p=0.0, smallest_visible=0.1)


@each_row(
    ("found", "p", "verdict"),
    [
        (effect(0.2, 0.1, 0.3), 0.001, PairedVerdict.BETTER),
        (effect(-0.2, -0.3, -0.1), 0.001, PairedVerdict.WORSE),
        (effect(0.001, -0.01, 0.01), 0.9, PairedVerdict.TIED),
        (effect(0.0, 0.0, 0.0), 1.0, PairedVerdict.TIED),
        (effect(0.05, -0.1, 0.2), 0.4, PairedVerdict.INCONCLUSIVE),
        (effect(1.0, 1.0, 1.0, n=5), 0.0001, PairedVerdict.INCONCLUSIVE),
    ],
)
def test_verdicts(found: Effect, p: float, verdict: PairedVerdict) -> None:
    assert judge(found, p, margin=0.02) is verdict


def test_no_pairs_and_uneven_clusters_are_refused() -> None:
    with pytest.raises(ValueError, match="no pairs"):
        paired_effect([])
    with pytest.raises(ValueError, match="2 values but 1 cluster names"):
        paired_effect([0.1, 0.2], ["a"])
