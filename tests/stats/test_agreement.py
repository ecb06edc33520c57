"""Kappa against published worked examples, statsmodels' figures, and its own definition done the slow way."""

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.errors import BadInput
from evergold.stats.agreement import agreement, cohen_kappa, fleiss_kappa, raw_agreement
from tests.rows import each_row

Table = list[list[int]]

FLEISS_EXAMPLE: Table = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def pairs_of(table: Table) -> list[tuple[int, int]]:
    return [(i, j) for i, row in enumerate(table) for j, times in enumerate(row) for _ in range(times)]


def verdicts_of(table: Table) -> list[list[int]]:
    return [[category for category, times in enumerate(row) for _ in range(times)] for row in table]


@each_row(
    ("table", "value", "low", "high"),
    [
        ([[20, 5], [10, 15]], 0.4, 0.151092290476661, 0.648907709523339),
        ([[44, 5, 1], [7, 20, 3], [9, 5, 6]], 0.491525423728813, 0.350158201217487, 0.632892646240140),
        ([[25, 15], [35, 25]], 0.038461538461538, -0.141730517814034, 0.218653594737112),
    ],
)
def test_cohens_kappa_is_that_of_statsmodels_and_its_interval_is_near(
    table: Table, value: float, low: float, high: float
) -> None:
    found = cohen_kappa(pairs_of(table))
    assert found is not None
    assert found.value == pytest.approx(value, abs=1e-9)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.04)


def test_agreement_says_what_labels_are_missing() -> None:
    assert agreement([1, 0, 1], [1, 0, 1]).reason == "3 of 30 labels"
    one_sided = agreement([1] * 29 + [0], [1] * 29 + [0])
    assert (one_sided.usable, one_sided.reason) == (False, "1 of 5 labels that failed")
    enough = agreement([1, 0] * 15, [1, 0] * 15)
    assert enough.usable and enough.reason is None
    assert enough.low is not None and enough.low < 0.95 and enough.high == 1.0
    left_out = agreement([1, None, 0], [1, 1, None])
    assert (left_out.n, left_out.unscored) == (1, 2)
    with pytest.raises(BadInput, match="3 judged scores but 2 labels"):
        agreement([1, 0, 1], [1, 0])
    with pytest.raises(BadInput, match="from 0 to 1"):
        agreement([1, 7], [1, 0])


def test_fleiss_kappa_of_the_textbook_example() -> None:
    found = fleiss_kappa(verdicts_of(FLEISS_EXAMPLE))
    assert found is not None
    assert found.value == pytest.approx(0.20993070442195522)
    assert found.low is not None and found.high is not None
    assert found.low < found.value < found.high


def slow_fleiss(verdicts: list[list[int]]) -> float:
    """The definition with loops: equal pairs within cases against equal pairs by overall shares."""
    per_case = [np.mean([a == b for a, b in combinations(case, 2)]) for case in verdicts]
    flat = [label for case in verdicts for label in case]
    accident = np.mean([a == b for a, b in product(flat, flat)])
    return float((np.mean(per_case) - accident) / (1 - accident))


@given(st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=4), min_size=2, max_size=12))
def test_fleiss_kappa_is_its_definition(verdicts: list[list[int]]) -> None:
    found = fleiss_kappa(verdicts, draws=20)
    if len({label for case in verdicts for label in case}) == 1:
        assert found is None
    else:
        assert found is not None
        assert found.value == pytest.approx(slow_fleiss(verdicts))


def test_the_bootstrap_interval_agrees_with_scipy() -> None:
    from scipy import stats as oracle

    verdicts = verdicts_of(FLEISS_EXAMPLE * 4)
    found = fleiss_kappa(verdicts, draws=4000)
    labels = sorted({label for case in verdicts for label in case})
    counts = np.array([[case.count(label) for label in labels] for case in verdicts])

    def kappa(chosen: Any) -> Any:
        drawn, raters = counts[chosen], len(verdicts[0])
        agreed = ((drawn * (drawn - 1)).sum(axis=1) / (raters * (raters - 1))).mean()
        chance = ((drawn.sum(axis=0) / drawn.sum()) ** 2).sum()
        return (agreed - chance) / (1 - chance)

    assert kappa(np.arange(len(verdicts))) == pytest.approx(slow_fleiss(verdicts))
    peer = oracle.bootstrap(
        (np.arange(len(verdicts)),),
        kappa,
        vectorized=False,
        method="percentile",
        n_resamples=2000,
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert found is not None
    assert (found.low, found.high) == pytest.approx((peer.low, peer.high), abs=0.03)


def test_kappa_of_one_verdict_everywhere_is_undefined_not_perfect() -> None:
    assert cohen_kappa([("approve", "approve")] * 20) is None
    assert fleiss_kappa([["approve", "approve"]] * 20) is None
    agreed = raw_agreement([["approve", "approve"]] * 20)
    assert agreed is not None
    assert agreed.value == 1.0


def test_nothing_shared_gives_nothing() -> None:
    assert cohen_kappa([]) is None
    assert fleiss_kappa([["approve"], ["reject"]]) is None
    assert raw_agreement([["approve"]]) is None


def test_perfect_and_opposite_reviewers() -> None:
    perfect = cohen_kappa([("a", "a"), ("b", "b")] * 10)
    opposite = cohen_kappa([("a", "b"), ("b", "a")] * 10)
    assert perfect is not None and opposite is not None
    assert (perfect.value, opposite.value) == (1.0, -1.0)
