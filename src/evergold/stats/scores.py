"""Scores from 0 to 1: a mean with its interval, and two lists of scores over the same cases, compared.

Every figure that a decision rests on comes from here. No interval is narrower than the data allow: values that are all
equal say little about values that were not drawn, so their interval has the half-width `1 - 0.05 ** (1 / groups)`, which
is how large a share of other values could have gone unseen; and the more groups share one value, the more of that width
remains. Pass and fail without groups have the score intervals made for them (Wilson's for a mean, Tango's for a paired
difference); everything else has Student's t over groups, with a correction for few and unequal ones.

`perf.statistics` simulates false alarms, power and coverage beside scipy's t-test.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from evergold.errors import BadInput
from evergold.model.report import PairedVerdict
from evergold.stats import intervals

FEWEST_GROUPS = 6
"""Below six independent cases even a unanimous result has a two-sided chance of over 5 %: no verdict is possible."""
ALPHA = 0.05
MARGIN = 0.03
POWER = 0.8
PLANNED_SPREAD = 0.5  # what two pass/fail runs disagreeing on a quarter of their cases show

Scores = Iterable[float | None]
Bounds = Callable[[float], tuple[float, float]]  # 1 - level → the ends of the interval


@dataclass(frozen=True)
class MeanScore:
    """A mean with its 95 % interval; None for all three where nothing was scored. `unscored` counts the Nones."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    groups: int
    unscored: int = 0
    method: str | None = None

    def __str__(self) -> str:
        if self.value is None or self.low is None or self.high is None:
            return f"– (n=0, {self.unscored} unscored)"
        notes = f", {self.unscored} unscored" if self.unscored else ""
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}] (n={self.n}{notes})"


@dataclass(frozen=True)
class ScoreComparison:
    """Candidate minus baseline over the cases that both scored, with a 95 % interval and its verdict.

    `lower` is the one-sided 95 % bound that gates use, `visible` the true difference that this many cases would find four
    times out of five, `more` how many further cases would probably decide where the verdict is inconclusive.
    """

    verdict: PairedVerdict
    difference: float
    low: float
    high: float
    p: float
    n: int
    groups: int
    unpaired: int
    lower: float
    visible: float
    more: int | None
    method: str

    def __str__(self) -> str:
        left_out = f", {self.unpaired} unpaired" if self.unpaired else ""
        between = f"{self.difference:+.3f}, between {self.low:+.3f} and {self.high:+.3f}"
        return f"{self.verdict.value}: {between} (n={self.n} in {self.groups} groups{left_out}, p={self.p:.3g})"


def mean_score(values: Scores, *, groups: Iterable[Hashable] | None = None) -> MeanScore:
    """Give the mean of scores from 0 to 1 with its 95 % interval.

    `groups` names for each value what it belongs to (a session, a question asked several times): values of one group are
    not independent. None is an unscored case, left out and counted.

    >>> print(mean_score([1, 1, 1, 0, 1, 1, None, 1]))
    0.857 [0.487, 0.974] (n=7, 1 unscored)
    """
    values = read_scores(values)
    kept, names = _select_known([values], groups)
    data = np.array([row[0] for row in kept], dtype=np.float64)
    if data.size == 0:
        return MeanScore(None, None, None, 0, 0, len(values))
    sample = _Sample(data, names)
    (low, high), method = sample.bounds(ALPHA), sample.method
    if sample.is_binary and not sample.is_constant:
        (low, high), method = intervals.wilson_bounds(sample.mean, data.size, 1 - ALPHA), "Wilson"
    return MeanScore(
        sample.mean, max(0.0, low), min(1.0, high), data.size, sample.groups, len(values) - data.size, method
    )


def compare_scores(
    baseline: Scores, candidate: Scores, *, groups: Iterable[Hashable] | None = None, margin: float = MARGIN
) -> ScoreComparison:
    """Compare two lists of scores from 0 to 1 over the same cases, in the same order; more is better.

    `better`: the interval lies above 0 and the difference is at least `margin`; `worse`: mirrored; `same`: the interval
    lies within the margin; else `inconclusive`, as always with fewer than 6 groups. None is an unscored case: its pair is
    left out and counted.

    >>> compare_scores([0, 0, 1, 0, 0, 0, 1, 0], [1, 1, 1, 1, 0, 1, 1, 1]).verdict.value
    'better'
    """
    baseline, candidate = read_scores(baseline), read_scores(candidate)
    if len(baseline) != len(candidate):
        raise BadInput(
            f"{len(baseline)} baseline scores but {len(candidate)} of the candidate; give one of each for every case, "
            "None where a case has no score"
        )
    if not isinstance(margin, int | float) or not 0 <= margin <= 1:
        raise BadInput(f"margin is {margin}; it is a share of the metric's range, from 0 to 1, such as 0.03")
    kept, names = _select_known([baseline, candidate], groups)
    if not kept:
        raise BadInput("no case has a score on both sides; compare runs over the same cases, or score them first")
    before, after = np.array(kept, dtype=np.float64).T
    sample = _Sample(after - before, names, _binary(before) and _binary(after))
    bounds: Bounds = sample.bounds
    p, method = sample.p, sample.method
    if sample.is_binary and not sample.is_constant:
        gained, lost = int((after > before).sum()), int((after < before).sum())
        # Not constant: at least one case was gained or lost.
        tail = 1 - NormalDist().cdf(abs(gained - lost) / math.sqrt(gained + lost))
        bounds, p, method = _tango(sample, gained, lost), max(p, 2 * tail), "Tango"
    low, high = bounds(ALPHA)
    low, high = max(-1.0, low), min(1.0, high)
    verdict = decide(sample.mean, low, high, p, sample.groups, margin)
    return ScoreComparison(
        verdict=verdict,
        difference=sample.mean,
        low=low,
        high=high,
        p=p,
        n=len(kept),
        groups=sample.groups,
        unpaired=len(baseline) - len(kept),
        lower=max(-1.0, bounds(2 * ALPHA)[0]),
        visible=sample.visible,
        more=_count_more(sample, low, high, margin) if verdict is PairedVerdict.INCONCLUSIVE else None,
        method=method,
    )


def decide(difference: float, low: float, high: float, p: float, groups: int, margin: float) -> PairedVerdict:
    """Put a difference into one word; `p` may be one that is corrected for several metrics."""
    if groups < FEWEST_GROUPS:
        return PairedVerdict.INCONCLUSIVE
    if p < ALPHA and (low > 0 or high < 0) and abs(difference) >= margin:
        return PairedVerdict.BETTER if difference > 0 else PairedVerdict.WORSE
    # Rounding of sums must not tip an interval over a margin that it just fills.
    if low >= -margin - 1e-12 and high <= margin + 1e-12:
        return PairedVerdict.SAME
    return PairedVerdict.INCONCLUSIVE


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment, in the order given."""
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        # A larger p-value may not get a smaller adjusted one.
        running = max(running, min(1.0, p_values[index] * (len(p_values) - rank)))
        adjusted[index] = running
    return adjusted


def planned_effect(cases: int, trials: int = 1) -> float | None:
    """The smallest visible effect before anything ran, from a usual spread of per-case differences.

    Trials shrink the half of the variance that is assumed to be the model's own noise; more cases shrink all of it.
    """
    if cases < 2:
        return None
    return visible_effect(math.sqrt(PLANNED_SPREAD**2 * (0.5 + 0.5 / trials) / cases))


def visible_effect(error: float) -> float:
    """The true difference that a two-sided test at 5 % finds four times out of five, given its standard error."""
    return (NormalDist().inv_cdf(1 - ALPHA / 2) + NormalDist().inv_cdf(POWER)) * error


class _Sample:
    """Values in groups: their mean, its error, and what groups that agree leave open."""

    def __init__(self, values: intervals.Floats, names: Sequence[Hashable] | None, binary: bool | None = None) -> None:
        sums, sizes = intervals.sum_clusters(values, names)
        self.mean = float(values.mean())
        self.groups = sums.size
        self.per_group = values.size / sums.size
        grouped = sums.size < values.size
        self.is_binary = not grouped and (_binary(values) if binary is None else binary)
        self.method = "clustered t" if grouped else "t"
        # Means that differ by rounding alone, also of 32 bits, are equal.
        common = np.unique(np.round(sums / sizes, 6), return_counts=True)[1].max()
        self.is_constant = int(common) == self.groups
        self._agreeing = float(common) / self.groups
        self.error, self._df = intervals.clustered_error(sums, sizes, self.mean)
        self.visible = max(visible_effect(self.error), self.bound_unseen(ALPHA))

    def bounds(self, alpha: float) -> tuple[float, float]:
        """The interval of 1 - alpha by Student's t, never narrower than what agreeing groups leave open."""
        error = intervals.t_quantile(1 - alpha / 2, self._df) * self.error if self.error > 0 else 0.0
        half = max(error, self.bound_unseen(alpha))
        return self.mean - half, self.mean + half

    @property
    def p(self) -> float:
        """The smallest alpha whose interval leaves 0 out; a unanimous sign has a chance that groups set."""
        chance = 2.0 ** (1 - self.groups)
        unseen = float(max(0.0, 1 - abs(self.mean) / self._agreeing) ** self.groups)
        tail = 2 * (1 - intervals.t_cdf(abs(self.mean) / self.error, self._df)) if self.error > 0 else 0.0
        return min(1.0, max(chance, unseen, tail))

    def bound_unseen(self, alpha: float) -> float:
        """How large a share of other values could be missing from this many groups, by how many groups agree."""
        return intervals.unseen_share(self.groups, alpha) * self._agreeing


def _tango(sample: _Sample, gained: int, lost: int) -> Bounds:
    """Tango's score interval of a paired difference of shares."""
    n, mean = sample.groups, sample.mean

    def score(difference: float) -> float:
        # The most likely share of lost cases if the true difference were this one.
        half = ((2 * n - gained + lost) * difference - gained - lost) / (4 * n)
        share = math.sqrt(max(0.0, half**2 + lost * difference * (1 - difference) / (2 * n))) - half
        variance = n * (2 * share + difference * (1 - difference))
        return (gained - lost - n * difference) / math.sqrt(max(variance, 1e-12))

    def bounds(alpha: float) -> tuple[float, float]:
        z, half = NormalDist().inv_cdf(1 - alpha / 2), sample.bound_unseen(alpha)
        low, high = _find_crossing(score, -1.0, mean, z), _find_crossing(score, mean, 1.0, -z)
        return min(low, mean - half), max(high, mean + half)

    return bounds


def _find_crossing(score: Callable[[float], float], low: float, high: float, level: float) -> float:
    """Where a falling function crosses a level; 40 halvings are more digits than anybody reads."""
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if score(middle) > level else (low, middle)
    return (low + high) / 2


def _count_more(sample: _Sample, low: float, high: float, margin: float) -> int | None:
    """How many more cases would decide, if they were like these: half-widths shrink with the root of the cases."""
    difference, half = abs(sample.mean), (high - low) / 2
    room = difference if difference >= margin else margin - difference
    if room < 1e-9:
        return None
    needed = max(FEWEST_GROUPS, math.ceil(sample.groups * (half / room) ** 2))
    return max(1, math.ceil((needed - sample.groups) * sample.per_group))


def more_for_p(p: float, n: int) -> int | None:
    """How many more cases would bring a p-value below 5 %, if they were like these: z grows with their root."""
    if not ALPHA <= p < 1:
        return None
    z = NormalDist().inv_cdf(1 - ALPHA / 2) / NormalDist().inv_cdf(1 - p / 2)
    return max(1, math.ceil(n * (z**2 - 1)))


def _select_known(
    columns: Sequence[Sequence[float | None]], groups: Iterable[Hashable] | None
) -> tuple[list[tuple[float, ...]], list[Hashable] | None]:
    """The rows that have all their values, and their groups."""
    count = len(columns[0])
    given = None if groups is None else list(groups)
    if given is not None and len(given) != count:
        raise BadInput(f"{count} scores but {len(given)} groups; give one group for each score")
    kept, names = [], []
    for at, row in enumerate(zip(*columns, strict=True)):
        known = tuple(value for value in row if value is not None)
        if len(known) == len(row):
            kept.append(known)
            names.append(at if given is None else given[at])
    return kept, None if given is None else names


def read_scores(values: Scores) -> list[float | None]:
    """Check scores that a caller gave in any iterable."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise BadInput(
            f"scores are {type(values).__name__}; give a list of numbers from 0 to 1, None where there is none"
        )
    scores: list[float | None] = []
    for at, value in enumerate(values):
        try:
            number = None if value is None else math.nan if isinstance(value, str) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if number is not None and not 0 <= number <= 1:
            raise BadInput(
                f"score {at + 1} is {value!s:.40}; scores are numbers from 0 to 1, None where there is none: "
                "divide by the largest possible value first"
            )
        scores.append(number)
    return scores


def _binary(values: intervals.Floats) -> bool:
    return bool(np.isin(values, (0.0, 1.0)).all())
