"""The bootstrap: draw cases with replacement, compute a statistic on each draw, take percentiles.

The only file of the statistics that draws at random: intervals, paired comparisons and benchmark figures use it. Draws come in
slices of bounded size, so that memory does not grow with cases × draws. The same seed gives the same draws.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

DRAWS = 2000
# Row numbers of a slice of draws: 32 MB of 64-bit integers.
CELLS_AT_ONCE = 4_000_000
FEW_DISTINCT = 64  # distinct values up to which counts are drawn instead of cases


def resample(statistic: Callable[[Rows], Floats], n: int, *, seed: int = 0, draws: int = DRAWS) -> Floats:
    """Compute a statistic on draws of `n` cases; the first axis of the result are the draws.

    `statistic` takes row numbers of shape (draws, n), so that the work is one array operation.
    """
    random = np.random.default_rng(seed)
    step = max(1, min(draws, CELLS_AT_ONCE // n))
    return np.concatenate(
        [statistic(random.integers(0, n, size=(min(step, draws - done), n))) for done in range(0, draws, step)]
    )


def resample_ratio(tops: Floats, bottoms: Floats, *, seed: int = 0, draws: int = DRAWS) -> Floats:
    """Compute Σ top / Σ bottom on draws of cases. Few distinct values (pass/fail) are drawn as counts: exact and fast."""
    distinct, counts = np.unique(np.stack([tops, bottoms]), axis=1, return_counts=True)
    if distinct.shape[1] <= FEW_DISTINCT:
        # Drawing n cases with replacement and counting the distinct values is a multinomial draw of those counts.
        drawn = np.random.default_rng(seed).multinomial(int(tops.size), counts / tops.size, size=draws)
        return np.asarray((drawn @ distinct[0]) / (drawn @ distinct[1]), dtype=np.float64)
    return resample(
        lambda rows: np.asarray(tops[rows].sum(axis=1) / bottoms[rows].sum(axis=1)), tops.size, seed=seed, draws=draws
    )


def weights_of(rows: Rows) -> Floats:
    """Count how often each case was drawn, per draw."""
    n = rows.shape[1]
    return np.stack([np.bincount(drawn, minlength=n) for drawn in rows]).astype(np.float64)


def percentile_bounds(figures: Floats, level: float) -> tuple[float, float] | tuple[None, None]:
    """Give the bounds that hold `level` of the figures; a draw on which the statistic is undefined (nan) is left out."""
    known = figures[~np.isnan(figures)]
    if known.size == 0:
        return None, None
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
