"""Means and comparisons of scores: intervals that hold, verdicts with a margin, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as oracle

import evergold
from evergold.errors import BadInput
from evergold.model.report import PairedVerdict
from evergold.stats.agreement import agreement
from evergold.stats.scores import compare_scores, holm, mean_score, planned_effect
from tests.rows import each_row

GRADES = st.lists(st.integers(0, 10).map(lambda grade: grade / 10), min_size=1, max_size=30)


def test_the_functions_are_those_of_the_package() -> None:
    assert evergold.compare_scores is compare_scores and evergold.mean_score is mean_score
    assert {"agreement", "compare_scores", "mean_score"} <= set(dir(evergold))


@each_row(
    ("values", "low", "high"), [([1] * 6, 0.05 ** (1 / 6), 1.0), ([0.7] * 2, 0.0, 1.0), ([0.5] * 30, 0.405, 0.595)]
)
def test_equal_values_have_the_width_of_what_could_be_unseen(values: list[float], low: float, high: float) -> None:
    found = mean_score(values)
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-4)


@given(GRADES)
def test_an_interval_holds_its_mean_has_a_width_and_stays_on_the_scale(values: list[float]) -> None:
    found = mean_score(values)
    assert found.value is not None and found.low is not None and found.high is not None
    assert 0 <= found.low <= found.value + 1e-12 and found.value <= found.high + 1e-12 <= 1 + 1e-9
    assert found.high > found.low


def test_varied_grades_have_the_t_interval_of_scipy() -> None:
    values = np.linspace(0.1, 0.9, 12)
    found = mean_score(values.tolist())
    half = oracle.t.ppf(0.975, 11) * values.std(ddof=1) / math.sqrt(12)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half))


def test_values_of_one_group_are_not_independent() -> None:
    values = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0] * 2
    alone, together = mean_score(values), mean_score(values, groups=[number // 3 for number in range(24)])
    assert together.groups == 8 and alone.groups == 24
    assert together.high is not None and together.low is not None and alone.high is not None and alone.low is not None
    assert together.high - together.low > 1.3 * (alone.high - alone.low)


@each_row(
    ("before", "after", "verdict"),
    [
        ([0] * 20, [1] * 20, PairedVerdict.BETTER),
        ([1] * 20, [0] * 20, PairedVerdict.WORSE),
        ([1] * 6, [1] * 6, PairedVerdict.INCONCLUSIVE),
        ([0] * 5, [1] * 5, PairedVerdict.INCONCLUSIVE),
        ([0.5] * 200, [0.5] * 200, PairedVerdict.SAME),
        # A difference below the margin is no verdict, however sure.
        ([0.50, 0.52] * 200, [0.52, 0.53] * 200, PairedVerdict.SAME),
    ],
)
def test_a_verdict_needs_a_difference_that_matters_and_cases_that_show_it(
    before: list[float], after: list[float], verdict: PairedVerdict
) -> None:
    assert compare_scores(before, after).verdict is verdict


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=6, max_size=40))
def test_better_and_worse_mirror_each_other_and_p_agrees_with_the_interval(pairs: list[tuple[bool, bool]]) -> None:
    before, after = ([float(pair[side]) for pair in pairs] for side in (0, 1))
    found, mirrored = compare_scores(before, after, margin=0), compare_scores(after, before, margin=0)
    assert (found.low, found.high) == pytest.approx((-mirrored.high, -mirrored.low), abs=1e-6)
    assert {found.verdict, mirrored.verdict} in (
        {PairedVerdict.BETTER, PairedVerdict.WORSE},
        {PairedVerdict.INCONCLUSIVE},
        {PairedVerdict.SAME},
    )
    assert (found.p < 0.05) == (found.low > 1e-9 or found.high < -1e-9)
    assert found.lower >= found.low - 1e-9


def test_an_undecided_comparison_says_how_many_more_cases_would_decide() -> None:
    before, after = [0.0, 1.0] * 20, [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0] * 5
    found = compare_scores(before, after)
    assert found.verdict is PairedVerdict.INCONCLUSIVE and found.more is not None
    wider = compare_scores(before * 8, after * 8)
    assert wider.verdict is not PairedVerdict.INCONCLUSIVE and found.more < 40 * 7


def test_unscored_pairs_are_left_out_and_counted() -> None:
    found = compare_scores([1, None, 0, 1], [None, 1, 0, 1])
    assert (found.n, found.unpaired) == (2, 2)
    assert mean_score([None, None]).value is None and mean_score([None]).unscored == 1


@each_row(
    ("baseline", "candidate", "groups", "message"),
    [
        ([1], [1, 0], None, "1 baseline scores but 2"),
        ([None], [1], None, "no case has a score on both sides"),
        ([1, 7], [1, 1], None, "score 2 is 7"),
        ([1, float("nan")], [1, 1], None, "score 2 is nan"),
        ([1, "good"], [1, 1], None, "score 2 is good; scores are numbers"),
        ([1, 1], [1, 1], ["a"], "2 scores but 1 groups"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(
    baseline: list[float | None], candidate: list[float | None], groups: list[str] | None, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        compare_scores(baseline, candidate, groups=groups)


def test_equal_models_are_seldom_told_apart_and_intervals_hold() -> None:
    """A small simulation; `perf.statistics` is the large one."""
    random, alarms, inside = np.random.default_rng(7), 0, 0
    for _ in range(400):
        before, after = (random.random((2, 8)) < 0.6).astype(float).tolist()
        alarms += compare_scores(before, after, margin=0).verdict is not PairedVerdict.INCONCLUSIVE
        found = mean_score(before)
        assert found.low is not None and found.high is not None
        inside += found.low <= 0.6 <= found.high
    assert alarms / 400 <= 0.08 and inside / 400 >= 0.9


def test_holm_is_the_textbook_example() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_a_plan_says_what_could_be_seen() -> None:
    assert planned_effect(1) is None
    assert planned_effect(100) == pytest.approx(0.14, abs=0.005)
    assert (planned_effect(100, trials=4) or 1) < (planned_effect(100) or 0)


def test_scores_come_in_any_iterable_and_what_is_none_is_refused_by_name() -> None:
    values = [0.1, 0.5, 0.9, 0.4, 0.6, 0.7]
    groups = "abcdef"
    assert mean_score(iter(values), groups=iter(groups)) == mean_score(values, groups=groups)
    assert compare_scores(iter(values), iter(values)) == compare_scores(values, values)
    for odd in ("0.1", b"01", {"a": 0.1}, None, 5, ["0.1"], [10**400], [[0.1]]):
        with pytest.raises(BadInput, match="numbers from 0 to 1"):
            mean_score(odd)  # type: ignore[arg-type]
        with pytest.raises(BadInput, match="numbers from 0 to 1"):
            agreement(odd, values)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="margin is 0"):
        compare_scores(values, values, margin="0.1")  # type: ignore[arg-type]


def test_differences_of_32_bit_rounding_alone_are_no_narrow_interval() -> None:
    values = [0.1, 0.5, 0.9, 0.4, 0.6, 0.7, 0.2, 0.8]
    made = compare_scores([float(np.float32(one)) for one in values], values)
    assert made.high == pytest.approx(compare_scores(values, values).high, abs=1e-6)
