"""Agreement between reviewers: kappa, which is agreement beyond what their habits alone would give.

Two reviewers who both approve 95 % of cases agree on 90 % by accident; kappa takes that away. Cohen's kappa is for two
named reviewers on the cases both decided, Fleiss' for any number of reviewers, who may differ from case to case. Both
are undefined, not 0 or 1, when every verdict is the same: then accident explains all agreement.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from evergold.stats.intervals import DRAWS, Floats, Interval, bootstrap, mean_bootstrap


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]], level: float = 0.95) -> Interval | None:
    """Kappa of two reviewers with its large-sample interval; None when no case was shared or all verdicts are one."""
    if not pairs:
        return None
    table = _confusion(pairs)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    observed, expected = float(np.trace(table)), float(rows @ columns)
    # All verdicts of both are the same: rounding keeps the sum from being exactly 1.
    if expected >= 1 - 1e-12:
        return None
    value = (observed - expected) / (1 - expected)
    if len(pairs) == 1:
        return Interval(value, None, None, 1)
    half = NormalDist().inv_cdf((1 + level) / 2) * _cohen_error(table, value, len(pairs))
    return Interval(value, max(-1.0, value - half), min(1.0, value + half), len(pairs))


def fleiss_kappa(
    verdicts: Sequence[Sequence[Hashable]], seed: int = 0, level: float = 0.95, draws: int = DRAWS
) -> Interval | None:
    """Kappa of all reviewers with a bootstrap interval over cases; a case with one verdict cannot agree and is left out."""
    shared = [case for case in verdicts if len(case) > 1]
    if not shared:
        return None
    counts = _counts(shared)
    if np.isnan(_fleiss(counts[None, :, :])[0]):
        return None
    return bootstrap(lambda rows: _fleiss(counts[rows]), len(shared), seed=seed, level=level, draws=draws)


def raw_agreement(verdicts: Sequence[Sequence[Hashable]]) -> Interval | None:
    """The share of pairs of verdicts on one case that are equal, averaged over cases: what kappa starts from."""
    shared = [case for case in verdicts if len(case) > 1]
    if not shared:
        return None
    return mean_bootstrap(_pairwise(_counts(shared)))


def interval_alpha(ratings: Sequence[Sequence[float]]) -> Interval | None:
    """Krippendorff's alpha for ratings on a scale, where 4 beside 5 is nearer than 1 beside 5.

    None when no case has two ratings, or all ratings are equal.
    """
    shared = [np.asarray(case, dtype=np.float64) for case in ratings if len(case) > 1]
    if not shared:
        return None
    sizes = np.array([case.size for case in shared], dtype=np.float64)
    sums = np.array([case.sum() for case in shared])
    squares = np.array([(case**2).sum() for case in shared])

    def alpha(rows: NDArray[np.intp]) -> Floats:
        size, total, square = sizes[rows], sums[rows], squares[rows]
        all_of = size.sum(axis=-1)
        # n·Σx² - (Σx)² is the sum of squared differences over the pairs of a case: no loop over pairs.
        observed = ((size * square - total**2) / (size - 1)).sum(axis=-1) / all_of
        expected = (all_of * square.sum(axis=-1) - total.sum(axis=-1) ** 2) / (all_of * (all_of - 1))
        room = expected > 1e-12
        figures: Floats = 1 - np.divide(observed, expected, out=np.full(np.shape(observed), np.nan), where=room)
        return figures

    if np.isnan(alpha(np.arange(len(shared))[None, :])[0]):
        return None
    return bootstrap(alpha, len(shared))


def _confusion(pairs: Sequence[tuple[Hashable, Hashable]]) -> Floats:
    index = _categories(label for pair in pairs for label in pair)
    table = np.zeros((len(index), len(index)))
    for first, second in pairs:
        table[index[first], index[second]] += 1
    shares: Floats = table / len(pairs)
    return shares


def _cohen_error(table: Floats, kappa: float, n: int) -> float:
    """The standard error of Fleiss, Cohen and Everitt (1969), which does not assume that there is no agreement."""
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    expected = float(rows @ columns)
    diagonal = np.diag(table)
    on = float(np.sum(diagonal * (1 - (rows + columns) * (1 - kappa)) ** 2))
    # The off-diagonal cells weigh by the marginals crosswise, as in the formula of the paper.
    weights = (columns[:, None] + rows[None, :]) ** 2
    np.fill_diagonal(weights, 0.0)
    off = (1 - kappa) ** 2 * float(np.sum(table * weights))
    drift = (kappa - expected * (1 - kappa)) ** 2
    return float(np.sqrt(max(0.0, on + off - drift) / n) / (1 - expected))


def _counts(verdicts: Sequence[Sequence[Hashable]]) -> Floats:
    index = _categories(label for case in verdicts for label in case)
    counts = np.zeros((len(verdicts), len(index)))
    for row, case in enumerate(verdicts):
        for label, times in Counter(case).items():
            counts[row, index[label]] = times
    return counts


def _pairwise(counts: NDArray[np.float64]) -> Floats:
    raters = counts.sum(axis=-1)
    # c·(c - 1) ordered pairs agree in a category that c raters chose, of n·(n - 1) pairs in all.
    equal: Floats = (np.sum(counts**2, axis=-1) - raters) / (raters * (raters - 1))
    return equal


def _fleiss(counts: NDArray[np.float64]) -> Floats:
    """One kappa per draw from counts of shape (draws, cases, categories); nan where accident explains all."""
    observed = _pairwise(counts).mean(axis=-1)
    totals = counts.sum(axis=-2)
    shares = totals / totals.sum(axis=-1, keepdims=True)
    room = 1 - np.sum(shares**2, axis=-1)
    figures: Floats = np.divide(
        observed - (1 - room), room, out=np.full(np.shape(observed), np.nan), where=np.abs(room) > 1e-12
    )
    return figures


def _categories(labels: Iterable[Hashable]) -> dict[Hashable, int]:
    index: dict[Hashable, int] = {}
    for label in labels:
        index.setdefault(label, len(index))
    return index
