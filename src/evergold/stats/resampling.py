"""Compute many figures over the same cases, with bootstrap intervals, from one set of draws.

Each figure is Σ numerator / Σ denominator over cases: a mean has ones below (zeros where a case has no value), a micro
average has sizes. A draw is a vector of how often each case was drawn, so all figures of all draws are two matrix
products, and figures derived from others (an F1 of micro averages) are derived draw by draw.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evergold.stats.bootstrap import DRAWS, Floats, percentile_bounds, resample, weights_of
from evergold.stats.intervals import Interval

Column = tuple[list[float], list[float]]
Derived = Callable[[Mapping[str, Floats]], Floats]


@dataclass(frozen=True)
class Figures:
    """Named columns of (numerators, denominators), and figures worked out from them."""

    columns: dict[str, Column]
    derived: dict[str, Derived]


class _Sums(NamedTuple):
    """The distinct columns side by side (figures share most of theirs), and where those of each figure stand."""

    matrix: Floats
    above: list[int]
    below: list[int]

    @classmethod
    def of(cls, columns: Iterable[Column]) -> "_Sums":
        columns_seen: dict[bytes, int] = {}
        kept: list[Floats] = []

        def column_index(values: list[float]) -> int:
            column = np.array(values, dtype=np.float64)
            # Denominators of ones and case sizes repeat among figures; each is multiplied once.
            at = columns_seen.setdefault(column.tobytes(), len(kept))
            if at == len(kept):
                kept.append(column)
            return at

        above, below = zip(*((column_index(top), column_index(bottom)) for top, bottom in columns), strict=True)
        return cls(np.column_stack(kept), list(above), list(below))


def intervals_of(
    figures: Figures, seed: int = 0, level: float = 0.95, draws: int = DRAWS
) -> dict[str, Interval | None]:
    """An interval per figure; None where the figure is undefined on the cases themselves."""
    n = len(next(iter(figures.columns.values()), ([], []))[0])
    if n == 0:
        return dict.fromkeys([*figures.columns, *figures.derived])
    sums = _Sums.of(figures.columns.values())
    names = [*figures.columns, *figures.derived]
    values = _evaluate(figures, np.ones((1, n)), sums)[0]
    drawn = np.empty((0, len(names)))
    if n > 1:
        drawn = resample(lambda rows: _evaluate(figures, weights_of(rows), sums), n, seed=seed, draws=draws)
    # Cases that take part in a figure: those with anything below the line.
    counted = dict(zip(figures.columns, np.count_nonzero(sums.matrix[:, sums.below], axis=0).tolist(), strict=True))
    return {
        name: _interval(float(values[at]), drawn[:, at], counted.get(name, n), level) for at, name in enumerate(names)
    }


def _interval(value: float, drawn: Floats, n: int, level: float) -> Interval | None:
    low, high = percentile_bounds(drawn, level)
    return None if np.isnan(value) else Interval(value, low, high, n)


def _evaluate(figures: Figures, weights: Floats, sums: _Sums) -> Floats:
    """Compute every figure, in columns, for each row of weights."""
    summed = weights @ sums.matrix
    above, below = summed[:, sums.above], summed[:, sums.below]
    ratios = np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)
    by_name: dict[str, Floats] = {name: ratios[:, at] for at, name in enumerate(figures.columns)}
    return np.column_stack([*by_name.values(), *(derive(by_name) for derive in figures.derived.values())])
