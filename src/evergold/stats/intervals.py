"""Intervals: how far a figure over these cases may lie from the figure over all such cases.

`t_interval` is for values without bounds; scores have `scores.mean_score`. Cases that share a session, document or
repository agree with each other, and an interval that takes them for independent is too narrow: their clusters are given
to it. The bootstrap is for what has no formula: ratios of sums, medians, correlations. Repeating a case does not make it
more cases, so trials are reduced first (`reducer`) and intervals are taken over cases.

Student's t is computed here: scipy would cost more than the rest of the core together. Tests hold this page against it.
This is the only file of the statistics that draws at random, and the same seed gives the same draws. They come in slices
of bounded size, so that memory does not grow with cases × draws.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist, fmean, median, multimode

import numpy as np
from numpy.typing import ArrayLike, NDArray


def t_cdf(t: float, df: float) -> float:
    """P(T <= t)."""
    square = t * t
    if square < df:  # near zero the other tail would lose every digit of t
        half = 0.5 * _incomplete_beta(0.5, df / 2, square / (df + square))
        return 0.5 + half if t > 0 else 0.5 - half
    tail = 0.5 * _incomplete_beta(df / 2, 0.5, df / (df + square))
    return 1 - tail if t > 0 else tail


@lru_cache(maxsize=512)
def t_quantile(p: float, df: float) -> float:
    """The t with P(T <= t) = p; bisection, because it cannot fail and 60 halvings cost microseconds."""
    if not 0 < p < 1:
        raise ValueError(f"a quantile needs 0 < p < 1, not {p}")
    if p < 0.5:
        return -t_quantile(1 - p, df)
    low, high = 0.0, 2.0
    while t_cdf(high, df) < p:
        low, high = high, high * 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, df) < p else (low, middle)
    return (low + high) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b), the share of a beta distribution below x."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    # The fraction converges quickly only below this point; the symmetry of the function covers the rest.
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    # In logarithms: gamma functions of hundreds overflow a double.
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    # The classical fraction of the incomplete beta function, evaluated from the front (Lentz).
    tiny = 1e-300
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1), tiny)
    value = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        step = 1.0
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d, tiny)
            c = _away_from_zero(1 + term / c, tiny)
            step = c * d
            value *= step
        if abs(step - 1) < 1e-15:
            break
    return math.exp(log_front) * value / a


def _away_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny


Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

LEVEL = 0.95
DRAWS = 2000
# Row numbers of a slice of draws: 32 MB of 64-bit integers.
CELLS_AT_ONCE = 4_000_000


def resample(statistic: Callable[[Rows], Floats], n: int, *, seed: int = 0, draws: int = DRAWS) -> Floats:
    """Compute a statistic on draws of `n` cases; the first axis of the result are the draws.

    `statistic` takes row numbers of shape (draws, n), so that the work is one array operation.
    """
    random = np.random.default_rng(seed)
    step = max(1, min(draws, CELLS_AT_ONCE // n))
    return np.concatenate(
        [statistic(random.integers(0, n, size=(min(step, draws - done), n))) for done in range(0, draws, step)]
    )


def draw_tables(counts: Floats, weight: float) -> Floats:
    """Draw tables of shares that could have given these counts: a Dirichlet posterior whose prior weighs `weight` cases."""
    drawn = np.random.default_rng(0).dirichlet((counts + weight / counts.size).ravel(), size=DRAWS)
    return np.asarray(drawn.reshape(-1, *counts.shape), dtype=np.float64)


def divide_known(above: Floats, below: Floats) -> Floats:
    """Divide element by element; nan where what stands below the line is 0 but for rounding."""
    shape = np.shape(below)
    shares: Floats = np.divide(above, below, out=np.full(shape, np.nan), where=np.abs(below) > 1e-12)
    return shares


def percentile_bounds(figures: Floats, n: int) -> tuple[float, float] | tuple[None, None]:
    """Give the bounds that hold 95 % of the figures; a draw on which the statistic is undefined (nan) is left out.

    Draws of `n` equal cases are all the same, which says nothing of cases that were not drawn: then the bounds leave room
    for the share of other cases that could have gone unseen. Figures lie between -1 and 1.
    """
    known = figures[~np.isnan(figures)]
    if known.size == 0:
        return None, None
    low, high = map(float, np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    if high - low < 1e-12:
        half = unseen_share(n, 1 - LEVEL)
        low, high = max(0.0 if low >= 0 else -1.0, low - half), min(1.0, high + half)
    return low, high


def unseen_share(n: int, alpha: float) -> float:
    """How large a share of other cases could be missing from `n` that are all alike."""
    return float(1 - alpha ** (1 / n))


@dataclass(frozen=True)
class Interval:
    """A value with its bounds; the bounds are None where one observation cannot tell how others would spread."""

    value: float
    low: float | None
    high: float | None
    n: int
    method: str = "bootstrap"


def t_interval(values: ArrayLike, clusters: Sequence[Hashable] | None = None) -> Interval | None:
    """The mean with its t interval; None for no values, because the mean of nothing is not 0.

    Values of one cluster are not independent: see `clustered_error`.
    """
    data = np.asarray(values, dtype=np.float64)
    sums, sizes = sum_clusters(data, clusters)
    if data.size == 0:
        return None
    mean, method = float(data.mean()), "t" if sums.size == data.size else "clustered t"
    if sums.size < 2:
        return Interval(mean, None, None, data.size, method)
    error, df = clustered_error(sums, sizes, mean)
    half = t_quantile((1 + LEVEL) / 2, df) * error
    return Interval(mean, mean - half, mean + half, data.size, method)


def sum_clusters(values: Floats, clusters: Sequence[Hashable] | None) -> tuple[Floats, Floats]:
    """The sum of the values in each cluster, and its size; without clusters every value is one."""
    if clusters is None:
        return values, np.ones_like(values)
    if len(clusters) != values.size:
        raise ValueError(f"{values.size} values but {len(clusters)} cluster names")
    codes = np.unique(np.array([*map(str, clusters)], dtype=str), return_inverse=True)[1]
    return np.bincount(codes, weights=values).astype(np.float64), np.bincount(codes).astype(np.float64)


def clustered_error(sums: Floats, sizes: Floats, mean: float) -> tuple[float, float]:
    """The error of a mean over groups and its degrees of freedom, corrected for few and unequal groups (CR2).

    Residuals that agree within a group add up and those that differ cancel out; a large group pulls the mean towards
    itself, which its residual is corrected for. Groups of one give the textbook s/√n with n - 1.
    """
    total = float(sizes.sum())
    if sums.size < 2:
        return 0.0, 1.0
    lever = 1 / (1 - sizes / total)
    residuals = sums - sizes * mean
    error = float(np.sqrt((residuals**2 * lever).sum()) / total)
    weights = lever * sizes**2 / total
    # Satterthwaite's approximation for this estimate, after Bell and McCaffrey.
    df = total**2 / float((sizes**2).sum() + weights.sum() ** 2 - (weights**2).sum())
    return (0.0 if error < 1e-12 else error), max(1.0, df)


def mean_bootstrap(values: ArrayLike, seed: int = 0) -> Interval | None:
    """The mean with a percentile bootstrap over the values; None for no values."""
    data = np.asarray(values, dtype=np.float64)
    return bootstrap(lambda rows: data[rows].mean(axis=-1), data.size, seed=seed)


def bootstrap(statistic: Callable[[Rows], Floats], n: int, seed: int = 0, draws: int = DRAWS) -> Interval | None:
    """A percentile interval of any statistic of n cases; `statistic` as `resample` calls it."""
    if n == 0:
        return None
    # The figure itself is that of all cases, each once: a draw like any other.
    value = float(statistic(np.arange(n)[None, :])[0])
    if n == 1:
        return Interval(value, None, None, 1)
    low, high = percentile_bounds(resample(statistic, n, seed=seed, draws=draws), n)
    return Interval(value, low, high, n)


def proportion_interval(successes: int, n: int) -> Interval | None:
    """A share with its Wilson interval, which stays inside [0, 1] and does not shrink to a point at 0 of n."""
    if n == 0:
        return None
    low, high = wilson_bounds(successes / n, n, LEVEL)
    return Interval(successes / n, low, high, n, "Wilson")


def wilson_bounds(share: float, n: int, level: float) -> tuple[float, float]:
    """Wilson's interval of a share of n."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)))
    low = 0.0 if share == 0 else max(0.0, centre - half)  # exactly: rounding would leave a last digit
    high = 1.0 if share == 1 else min(1.0, centre + half)
    return low, high


Column = tuple[list[float], list[float]]
Derived = Callable[[Mapping[str, Floats]], Floats]


def intervals_of(
    columns: Mapping[str, Column], derived: Mapping[str, Derived], seed: int = 0
) -> dict[str, Interval | None]:
    """An interval per figure, all from one set of draws; None where the figure is undefined on the cases themselves.

    A column is Σ numerator / Σ denominator: a mean has ones below (zeros where a case has no value), a micro average sizes.
    `derived` are worked out from columns, such as an F1 of micro averages. A draw is a vector of how often each case was
    drawn, so all figures of all draws are two matrix products.
    """
    names = [*columns, *derived]
    n = len(next(iter(columns.values()), ([], []))[0])
    if n == 0:
        return dict.fromkeys(names)
    tops, bottoms = (np.array(side, dtype=np.float64).T for side in zip(*columns.values(), strict=True))

    def evaluate(rows: Rows) -> Floats:
        """Compute every figure, in columns, for each draw."""
        often = np.stack([np.bincount(drawn, minlength=n) for drawn in rows]).astype(np.float64)
        ratios = divide_known(often @ tops, often @ bottoms)
        by_name: dict[str, Floats] = {name: ratios[:, at] for at, name in enumerate(columns)}
        return np.column_stack([*by_name.values(), *(derive(by_name) for derive in derived.values())])

    values = evaluate(np.arange(n)[None, :])[0]
    drawn = resample(evaluate, n, seed=seed) if n > 1 else np.empty((0, len(names)))
    # Cases that take part in a figure: those with anything below the line.
    counted = dict(zip(columns, np.count_nonzero(bottoms, axis=0).tolist(), strict=True))
    results: dict[str, Interval | None] = {}
    for at, name in enumerate(names):
        low, high = percentile_bounds(drawn[:, at], max(1, counted.get(name, n)))
        results[name] = None if np.isnan(values[at]) else Interval(float(values[at]), low, high, counted.get(name, n))
    return results


def spearman(one: ArrayLike, other: ArrayLike) -> Interval | None:
    """Correlation of ranks, taken once over all cases; None for fewer than three cases, or when one side never varies."""
    x, y = ranks(one), ranks(other)
    if x.size < 3 or x.std() == 0 or y.std() == 0:
        return None
    return bootstrap(lambda rows: _correlations(x[rows], y[rows]), x.size)


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
    return divide_known((x * y).sum(axis=-1), np.sqrt((x**2).sum(axis=-1) * (y**2).sum(axis=-1)))


PASSING = 0.5

Reducer = Callable[[Sequence[float]], float]


def mode(values: Sequence[float]) -> float:
    """The most frequent value; on a tie the smallest, so that a tie never flatters."""
    return min(multimode(values))


def pass_at(values: Sequence[float], k: int) -> float:
    """pass@k: the chance that at least one of k trials drawn from these passes (unbiased estimate)."""
    n, passed = _count_passes(values, k)
    # One minus the share of subsets of size k in which nothing passed.
    return 1 - math.comb(n - passed, k) / math.comb(n, k)


def pass_all(values: Sequence[float], k: int) -> float:
    """pass^k: the chance that all of k trials drawn from these pass (unbiased estimate)."""
    n, passed = _count_passes(values, k)
    return math.comb(passed, k) / math.comb(n, k)


def reducer(name: str) -> Reducer:
    """`mean`, `median`, `mode`, `max`, `pass@k` or `pass^k` (k a number) → the function.

    Raises ValueError with the names that exist.
    """
    plain: dict[str, Reducer] = {"mean": fmean, "median": median, "mode": mode, "max": max}
    if name in plain:
        return plain[name]
    for sign, estimate in (("@", pass_at), ("^", pass_all)):
        digits = name.removeprefix(f"pass{sign}")
        if digits != name and digits.isascii() and digits.isdigit() and int(digits) > 0:
            return lambda values: estimate(values, int(digits))
    raise ValueError(f"unknown reducer {name!r}; valid are {', '.join(plain)}, pass@K and pass^K, such as pass@3")


def _count_passes(values: Sequence[float], k: int) -> tuple[int, int]:
    if k > len(values):
        raise ValueError(f"pass over {k} trials needs {k} scored trials, there are {len(values)}")
    return len(values), sum(value >= PASSING for value in values)
