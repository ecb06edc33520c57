"""Many figures over the same cases, with bootstrap intervals, from one set of draws.

Each figure is Σ numerator / Σ denominator over cases: a mean has ones below (zeros where a case has no value), a micro
average has sizes. A draw is a vector of how often each case was drawn, so all figures of all draws are two matrix
products, and figures derived from others (an F1 of micro averages) are derived draw by draw.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evergold.stats.intervals import DRAWS, Interval

Floats = NDArray[np.float64]
Column = tuple[list[float], list[float]]
Derived = Callable[[Mapping[str, Floats]], Floats]

_DRAWS_AT_ONCE = 100


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
    values = _evaluate(figures, np.ones((1, n)), sums)
    random = np.random.default_rng(seed)
    drawn = [
        _evaluate(figures, _weights(random, min(_DRAWS_AT_ONCE, draws - done), n), sums)
        for done in range(0, draws if n > 1 else 0, _DRAWS_AT_ONCE)
    ]
    counted = dict(zip(figures.columns, np.count_nonzero(sums.matrix[:, sums.below], axis=0).tolist(), strict=True))
    return {
        name: _interval(float(values[name][0]), [part[name] for part in drawn], counted.get(name, n), level)
        for name in values
    }


def _weights(random: np.random.Generator, draws: int, n: int) -> Floats:
    """How often each case is drawn, per draw."""
    picks = random.integers(0, n, size=(draws, n))
    return np.stack([np.bincount(drawn, minlength=n) for drawn in picks]).astype(np.float64)


def _evaluate(figures: Figures, weights: Floats, sums: _Sums) -> dict[str, Floats]:
    summed = weights @ sums.matrix
    above, below = summed[:, sums.above], summed[:, sums.below]
    ratios = np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)
    results: dict[str, Floats] = {name: ratios[:, at] for at, name in enumerate(figures.columns)}
    return results | {name: derive(results) for name, derive in figures.derived.items()}


def _interval(value: float, parts: list[Floats], n: int, level: float) -> Interval | None:
    if np.isnan(value):
        return None
    figures = np.concatenate(parts) if parts else np.array([])
    figures = figures[~np.isnan(figures)]
    if figures.size == 0:
        return Interval(value, None, None, n)
    low, high = np.quantile(figures, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high), n)
