"""Two runs over the same cases: is one better, and could this many cases have shown it?

Everything is paired by case, which removes the spread between easy and hard cases that both runs share. Numbers get a
paired bootstrap (of clusters where cases share a session, document or repository), pass/fail gets McNemar's exact test,
and several metrics read together are corrected by Holm. A difference that is not significant is called `tied` only if
its whole interval lies within the margin; else the honest word is `inconclusive`.

Checked against scipy in the tests; scipy itself (113 MB) is not needed to run this.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, sqrt
from statistics import NormalDist

import numpy as np

from evergold.model.report import PairedVerdict
from evergold.stats.intervals import DRAWS, percentile_bounds, resample_ratio, standard_error, sum_clusters

MANY_DRAWS, FEW_GROUPS = 10_000, 2_000  # more draws where they are cheap
FEWEST_GROUPS = 6
"""Below six independent cases even a unanimous result has a two-sided chance of over 5 %: no verdict is possible."""


@dataclass(frozen=True)
class Effect:
    """The mean difference (second minus first) over `n` cases in `groups` independent groups."""

    n: int
    groups: int
    mean: float
    low: float
    high: float
    p: float
    smallest_visible: float | None


def paired_effect(
    differences: Sequence[float], clusters: Sequence[str] | None = None, *, confidence: float = 0.95, seed: int = 0
) -> Effect:
    """Percentile bootstrap of the mean difference; whole clusters are drawn where they are given."""
    values = np.asarray(differences, dtype=np.float64)
    if values.size == 0:
        raise ValueError("no pairs to compare")
    sums, sizes = sum_clusters(values, clusters)
    mean = float(values.mean())
    means = resample_ratio(sums, sizes, seed=seed, draws=MANY_DRAWS if sums.size <= FEW_GROUPS else DRAWS)
    low, high = percentile_bounds(means, confidence)
    assert low is not None and high is not None  # no draw of clusters has a size of zero
    # Under "no difference" the draws would lie around 0 instead of the mean: how often are they as far off as that?
    extreme = int(np.count_nonzero(np.abs(means - mean) >= abs(mean) - 1e-12))
    return Effect(
        n=int(values.size),
        groups=int(sums.size),
        mean=mean,
        low=low,
        high=high,
        # The observed result counts as one of the draws, so p is never 0.
        p=min(1.0, (extreme + 1) / (means.size + 1)),
        smallest_visible=smallest_visible_effect(standard_error(sums, sizes, mean), alpha=1 - confidence),
    )


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Two-sided exact p that `only_first` and `only_second` flips are equally likely."""
    flips = only_first + only_second
    if flips == 0:
        return 1.0
    tail = sum(comb(flips, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, float(2 * tail / 2**flips))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment, in the order given."""
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        # A larger p-value may not get a smaller adjusted one.
        running = max(running, min(1.0, p_values[index] * (len(p_values) - rank)))
        adjusted[index] = running
    return adjusted


def smallest_visible_effect(standard_error: float | None, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The true difference that a two-sided test at `alpha` would find with probability `power`."""
    if standard_error is None:
        return None
    normal = NormalDist()
    return (normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)) * standard_error


def planned_effect(cases: int, trials: int = 1, spread: float = 0.5) -> float | None:
    """The smallest visible effect before anything ran, from a spread of per-case differences.

    0.5 is what two pass/fail runs disagreeing on a quarter of their cases show. Trials shrink the half of the variance
    that is assumed to be the model's own noise; more cases shrink all of it.
    """
    if cases < 2:
        return None
    variance = spread**2 * (0.5 + 0.5 / trials)
    return smallest_visible_effect(sqrt(variance / cases))


def judge(effect: Effect, adjusted_p: float, *, margin: float, alpha: float = 0.05) -> PairedVerdict:
    """Put the numbers into one word."""
    if effect.groups < FEWEST_GROUPS:
        return PairedVerdict.INCONCLUSIVE
    if adjusted_p < alpha and effect.mean != 0:
        return PairedVerdict.BETTER if effect.mean > 0 else PairedVerdict.WORSE
    if -margin <= effect.low and effect.high <= margin:
        return PairedVerdict.TIED
    return PairedVerdict.INCONCLUSIVE
