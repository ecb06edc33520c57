"""Reducers: the trials of one case → one value for the case.

Repeating a case does not make it more cases, so trials are reduced first and intervals are taken over cases.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean, median

PASSING = 0.5

Reducer = Callable[[Sequence[float]], float]


def mode(values: Sequence[float]) -> float:
    """The most frequent value; on a tie the smallest, so that a tie never flatters."""
    counts = Counter(values)
    top = max(counts.values())
    return min(value for value, count in counts.items() if count == top)


def pass_at(values: Sequence[float], k: int, passing: float = PASSING) -> float:
    """pass@k: the chance that at least one of k trials drawn from these passes (unbiased estimate)."""
    n, passed = _passed(values, k, passing)
    # One minus the share of subsets of size k in which nothing passed.
    return 1 - math.comb(n - passed, k) / math.comb(n, k)


def pass_all(values: Sequence[float], k: int, passing: float = PASSING) -> float:
    """pass^k: the chance that all of k trials drawn from these pass (unbiased estimate)."""
    n, passed = _passed(values, k, passing)
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


def _passed(values: Sequence[float], k: int, passing: float) -> tuple[int, int]:
    if k > len(values):
        raise ValueError(f"pass over {k} trials needs {k} scored trials, there are {len(values)}")
    return len(values), sum(value >= passing for value in values)
