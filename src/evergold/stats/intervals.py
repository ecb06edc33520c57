"""Intervals: how far a figure over these cases may lie from the figure over all such cases.

`t_interval` is the default for a mean. `clustered_interval` is for cases that share a session, document or
repository: such cases agree with each other, and an interval that takes them for independent is too narrow.
`score_interval` keeps either inside the range of a score, where a few cases would carry it past 0 or 1.
The bootstrap is for what has no formula: ratios of sums, medians, correlations.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from evergold.stats.bootstrap import DRAWS, Floats, Rows, percentile_bounds, resample
from evergold.stats.student import normal_quantile, t_quantile


@dataclass(frozen=True)
class Interval:
    """A value with its bounds; the bounds are None where one observation cannot tell how others would spread."""

    value: float
    low: float | None
    high: float | None
    n: int
    method: str = "bootstrap"

    def as_dict(self) -> dict[str, float | int | None]:
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n}


def t_interval(values: ArrayLike, level: float = 0.95) -> Interval | None:
    """The mean with its t interval; None for no values, because the mean of nothing is not 0."""
    data = _floats(values)
    if data.size == 0:
        return None
    error = float(data.std(ddof=1) / np.sqrt(data.size)) if data.size > 1 else None
    return _around(float(data.mean()), error, df=data.size - 1, n=data.size, level=level, method="t")


def clustered_interval(values: ArrayLike, clusters: Sequence[Hashable], level: float = 0.95) -> Interval | None:
    """The mean with an error that sums residuals inside each cluster before squaring; df = clusters - 1."""
    data = _floats(values)
    if data.size != len(clusters):
        raise ValueError(f"{data.size} values but {len(clusters)} cluster names")
    if data.size == 0:
        return None
    index: dict[Hashable, int] = {}
    codes = np.array([index.setdefault(name, len(index)) for name in clusters])
    groups = len(index)
    # Residuals that agree within a cluster add up here, and those that differ cancel out: that is the correction.
    sums = np.bincount(codes, weights=data - data.mean(), minlength=groups)
    error = float(np.sqrt(groups / (groups - 1) * np.sum(sums**2)) / data.size) if groups > 1 else None
    return _around(float(data.mean()), error, df=groups - 1, n=data.size, level=level, method="clustered t")


def score_interval(values: ArrayLike, clusters: Sequence[Hashable], level: float = 0.95) -> Interval | None:
    """The mean of scores from 0 to 1 with an interval that stays between them.

    Student's t, clustered where cases share a cluster, as long as it lies inside. Where it does not, or has no width
    because all cases agree, pass/fail scores get Wilson's interval over the independent groups; other scores are cut at
    0 and 1. Values outside 0 to 1 are of another scale, and keep t.
    """
    data = _floats(values)
    groups = len(set(clusters))
    result = t_interval(data, level) if groups == data.size else clustered_interval(data, clusters, level)
    if result is None or result.low is None or result.high is None or data.min() < 0 or data.max() > 1:
        return result
    if 0 <= result.low < result.high <= 1:
        return result
    # Wilson's interval is for shares: it needs scores that are pass or fail.
    if np.isin(data, (0.0, 1.0)).all():
        low, high = _wilson(result.value, groups, level)
        return Interval(result.value, low, high, data.size, "Wilson")
    return replace(
        result, low=max(0.0, result.low), high=min(1.0, result.high), method=f"{result.method}, cut at 0 and 1"
    )


def mean_bootstrap(values: ArrayLike, seed: int = 0, level: float = 0.95, draws: int = DRAWS) -> Interval | None:
    """The mean with a percentile bootstrap over the values."""
    return ratio_bootstrap(values, np.ones_like(_floats(values)), seed=seed, level=level, draws=draws)


def ratio_bootstrap(
    numerators: ArrayLike, denominators: ArrayLike, seed: int = 0, level: float = 0.95, draws: int = DRAWS
) -> Interval | None:
    """Σ numerator / Σ denominator over cases (a micro average), resampling whole cases; None when Σ denominator is 0."""
    top, bottom = _floats(numerators), _floats(denominators)
    if bottom.sum() == 0:
        return None

    def ratio(rows: Rows) -> Floats:
        below = bottom[rows].sum(axis=-1)
        figures: Floats = np.divide(top[rows].sum(axis=-1), below, out=np.full(below.shape, np.nan), where=below != 0)
        return figures

    return bootstrap(ratio, top.size, seed=seed, level=level, draws=draws)


def bootstrap(
    statistic: Callable[[Rows], Floats], n: int, seed: int = 0, level: float = 0.95, draws: int = DRAWS
) -> Interval | None:
    """A percentile interval of any statistic of n cases; `statistic` as `stats.bootstrap.resample` calls it."""
    if n == 0:
        return None
    # The figure itself is that of all cases, each once: a draw like any other.
    value = float(statistic(np.arange(n)[None, :])[0])
    if n == 1:
        return Interval(value, None, None, 1)
    low, high = percentile_bounds(resample(statistic, n, seed=seed, draws=draws), level)
    return Interval(value, low, high, n)


def proportion_interval(successes: int, n: int, level: float = 0.95) -> Interval | None:
    """A share with its Wilson interval, which stays inside [0, 1] and does not shrink to a point at 0 of n."""
    if n == 0:
        return None
    low, high = _wilson(successes / n, n, level)
    return Interval(successes / n, low, high, n, "Wilson")


def _wilson(share: float, n: int, level: float) -> tuple[float, float]:
    z = normal_quantile((1 + level) / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)))
    low = 0.0 if share == 0 else max(0.0, centre - half)  # exactly: rounding would leave a last digit
    high = 1.0 if share == 1 else min(1.0, centre + half)
    return low, high


def _around(mean: float, error: float | None, df: int, n: int, level: float, method: str) -> Interval:
    if error is None:
        return Interval(mean, None, None, n, method)
    half = t_quantile((1 + level) / 2, df) * error
    return Interval(mean, mean - half, mean + half, n, method)


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
