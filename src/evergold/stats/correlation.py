"""Correlation with bootstrap intervals over cases: Pearson for values, Spearman for ranks."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evergold.stats.bootstrap import Floats
from evergold.stats.intervals import Interval, bootstrap


def pearson(one: ArrayLike, other: ArrayLike, seed: int = 0) -> Interval | None:
    """Correlation of values; None for fewer than three cases, or when one side never varies."""
    x, y = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if x.size < 3 or x.std() == 0 or y.std() == 0:
        return None
    return bootstrap(lambda rows: _correlations(x[rows], y[rows]), x.size, seed=seed)


def spearman(one: ArrayLike, other: ArrayLike, seed: int = 0) -> Interval | None:
    """Correlation of ranks, ties sharing their mean rank; ranks are taken once, over all cases."""
    return pearson(ranks(one), ranks(other), seed)


def ranks(values: ArrayLike) -> Floats:
    """Ranks from 1; equal values share the mean of theirs."""
    data = np.asarray(values, dtype=np.float64)
    _, inverse, counts = np.unique(data, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    # Equal values hold the ranks first to last; their mean is half the sum of both.
    shared: Floats = ((last - counts + 1 + last) / 2)[inverse]
    return shared


def _correlations(x: NDArray[np.float64], y: NDArray[np.float64]) -> Floats:
    """One correlation per row; nan where a draw has no variation."""
    x = x - x.mean(axis=-1, keepdims=True)
    y = y - y.mean(axis=-1, keepdims=True)
    spread = np.sqrt((x**2).sum(axis=-1) * (y**2).sum(axis=-1))
    figures: Floats = np.divide((x * y).sum(axis=-1), spread, out=np.full(spread.shape, np.nan), where=spread > 1e-12)
    return figures
