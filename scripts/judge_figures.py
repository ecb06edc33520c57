"""Figures of a judge against people, with bootstrap intervals over examples."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evergold.stats.intervals import Floats, Interval, bootstrap, ranks


def balanced_accuracy(said: NDArray[np.bool_], true: NDArray[np.bool_]) -> Interval | None:
    """The mean of the shares that are right among the true and among the others."""

    def accuracy(rows: Any) -> Floats:
        right, positive = (said == true)[rows], true[rows]
        halves = [_share(right & side, side) for side in (positive, ~positive)]
        mean: Floats = (halves[0] + halves[1]) / 2
        return mean

    return bootstrap(accuracy, len(true))


def area(scores: Floats, true: NDArray[np.bool_]) -> Interval | None:
    """The area under the ROC curve; ties count half."""

    def areas(rows: Any) -> Floats:
        return np.array([_area(scores[row], true[row]) for row in np.atleast_2d(rows)])

    return bootstrap(areas, len(true))


def _area(scores: Floats, true: NDArray[np.bool_]) -> float:
    yes, no = int(true.sum()), int((~true).sum())
    if not yes or not no:
        return float("nan")
    return float((ranks(scores)[true].sum() - yes * (yes + 1) / 2) / (yes * no))


def _share(part: NDArray[np.bool_], whole: NDArray[np.bool_]) -> Floats:
    sizes = whole.sum(axis=-1)
    shares: Floats = np.divide(part.sum(axis=-1), sizes, where=sizes > 0, out=np.full(len(sizes), np.nan))
    return shares
