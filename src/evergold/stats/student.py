"""Student's t without scipy: its quantile from the regularised incomplete beta function.

scipy would cost more than the rest of the core together, and one function of it is needed. Tests hold this page
against scipy.
"""

import math
from functools import lru_cache
from statistics import NormalDist


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
    return math.exp(log_front) * _continued_fraction(a, b, x) / a


def _continued_fraction(a: float, b: float, x: float) -> float:
    """The classical fraction of the incomplete beta function, evaluated from the front (Lentz)."""
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
    return value


def _away_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny


def normal_quantile(p: float) -> float:
    """The standard normal quantile."""
    return NormalDist().inv_cdf(p)
