"""Agreement between reviewers: kappa, which is agreement beyond what their habits alone would give.

Two reviewers who both approve 95 % of cases agree on 90 % by accident; kappa takes that away. Cohen's kappa is for two
named reviewers on the cases both decided, Fleiss' for any number of reviewers, who may differ from case to case. Both
are undefined, not 0 or 1, when every verdict is the same: then accident explains all agreement.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evergold.errors import BadInput
from evergold.stats import intervals
from evergold.stats.scores import Scores, read_scores


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> intervals.Interval | None:
    """Kappa of two reviewers with its interval; None when no case was shared or all verdicts are one.

    The interval is drawn from the tables that could have given this one (a Dirichlet posterior): unlike the large-sample
    formula it holds for twenty cases and has a width when all agree.
    """
    if not pairs:
        return None
    index = _categories(label for pair in pairs for label in pair)
    counts = np.zeros((len(index), len(index)))
    for first, second in pairs:
        counts[index[first], index[second]] += 1
    value = float(_cohen(counts))
    if np.isnan(value):
        return None
    agree = np.trace(counts) == len(pairs)
    tail = (1 - intervals.LEVEL) if agree else (1 - intervals.LEVEL) / 2
    # The weight of what was not observed is unknown, so the wider end of a light and a heavier one counts.
    ends = [np.nanquantile(_cohen(intervals.draw_tables(counts, weight)), [tail, 1 - tail]) for weight in (1.0, 2.0)]
    low, high = float(min(end[0] for end in ends)), float(max(end[1] for end in ends))
    return intervals.Interval(value, min(low, value), 1.0 if agree else max(high, value), len(pairs), "posterior")


FEWEST_LABELS = 30
FEWEST_OF_EACH = 5
PASSING = 0.5


@dataclass(frozen=True)
class JudgeAgreement:
    """A judge against labels: kappa with its interval, and whether they are enough to call the judge calibrated.

    `reason` says what is missing where `usable` is false; `unscored` counts labels that the judge gave no verdict on.
    """

    kappa: float | None
    low: float | None
    high: float | None
    n: int
    usable: bool
    reason: str | None
    unscored: int = 0


def agreement(judged: Scores, labelled: Scores, *, passing: float = PASSING) -> JudgeAgreement:
    """Compare a judge's scores with people's, both from 0 to 1 and passed from `passing` on.

    None on either side leaves the pair out. Usable are 30 labels or more, with 5 or more that passed and that failed.

    >>> agreement([1, 0, 1], [1, 0, 1]).reason
    '3 of 30 labels'
    """
    judged, labelled = read_scores(judged), read_scores(labelled)
    if len(judged) != len(labelled):
        raise BadInput(f"{len(judged)} judged scores but {len(labelled)} labels; give one of each for every answer")
    pairs = [
        (judge >= passing, label >= passing)
        for judge, label in zip(judged, labelled, strict=True)
        if judge is not None and label is not None
    ]
    result = cohen_kappa(pairs)
    passed = sum(label for _, label in pairs)
    few = [(word, n) for word, n in (("passed", passed), ("failed", len(pairs) - passed)) if n < FEWEST_OF_EACH]
    reason = None
    if len(pairs) < FEWEST_LABELS:
        reason = f"{len(pairs)} of {FEWEST_LABELS} labels"
    elif few:
        reason = f"{few[0][1]} of {FEWEST_OF_EACH} labels that {few[0][0]}"
    elif result is None:
        reason = "judge and labels give one verdict only, so agreement beyond chance is undefined"
    kappa, low, high = (result.value, result.low, result.high) if result else (None, None, None)
    return JudgeAgreement(kappa, low, high, len(pairs), reason is None, reason, len(judged) - len(pairs))


def fleiss_kappa(verdicts: Sequence[Sequence[Hashable]], draws: int = intervals.DRAWS) -> intervals.Interval | None:
    """Kappa of all reviewers with a bootstrap interval over cases; a case with one verdict cannot agree and is left out."""
    shared = [case for case in verdicts if len(case) > 1]
    if not shared:
        return None
    counts = _counts(shared)
    if np.isnan(_fleiss(counts[None, :, :])[0]):
        return None
    return intervals.bootstrap(lambda rows: _fleiss(counts[rows]), len(shared), draws=draws)


def raw_agreement(verdicts: Sequence[Sequence[Hashable]]) -> intervals.Interval | None:
    """The share of pairs of verdicts on one case that are equal, averaged over cases: what kappa starts from."""
    shared = [case for case in verdicts if len(case) > 1]
    return None if not shared else intervals.mean_bootstrap(_pairwise(_counts(shared)))


def interval_alpha(ratings: Sequence[Sequence[float]]) -> intervals.Interval | None:
    """Krippendorff's alpha for ratings on a scale, where 4 beside 5 is nearer than 1 beside 5.

    None when no case has two ratings, or all ratings are equal.
    """
    shared = [np.asarray(case, dtype=np.float64) for case in ratings if len(case) > 1]
    if not shared:
        return None
    sizes = np.array([case.size for case in shared], dtype=np.float64)
    sums = np.array([case.sum() for case in shared])
    squares = np.array([(case**2).sum() for case in shared])

    def alpha(rows: NDArray[np.intp]) -> intervals.Floats:
        size, total, square = sizes[rows], sums[rows], squares[rows]
        all_of = size.sum(axis=-1)
        # n·Σx² - (Σx)² is the sum of squared differences over the pairs of a case: no loop over pairs.
        observed = ((size * square - total**2) / (size - 1)).sum(axis=-1) / all_of
        expected = (all_of * square.sum(axis=-1) - total.sum(axis=-1) ** 2) / (all_of * (all_of - 1))
        return 1 - intervals.divide_known(observed, expected)

    if np.isnan(alpha(np.arange(len(shared))[None, :])[0]):
        return None
    return intervals.bootstrap(alpha, len(shared))


def _cohen(tables: intervals.Floats) -> intervals.Floats:
    """Kappa of each table; nan where all verdicts of both are the same."""
    shares = tables / tables.sum(axis=(-2, -1), keepdims=True)
    observed = np.trace(shares, axis1=-2, axis2=-1)
    expected = (shares.sum(axis=-1) * shares.sum(axis=-2)).sum(axis=-1)
    return intervals.divide_known(observed - expected, 1 - expected)


def _counts(verdicts: Sequence[Sequence[Hashable]]) -> intervals.Floats:
    index = _categories(label for case in verdicts for label in case)
    counts = np.zeros((len(verdicts), len(index)))
    for row, case in enumerate(verdicts):
        for label, times in Counter(case).items():
            counts[row, index[label]] = times
    return counts


def _pairwise(counts: NDArray[np.float64]) -> intervals.Floats:
    raters = counts.sum(axis=-1)
    # c·(c - 1) ordered pairs agree in a category that c raters chose, of n·(n - 1) pairs in all.
    equal: intervals.Floats = (np.sum(counts**2, axis=-1) - raters) / (raters * (raters - 1))
    return equal


def _fleiss(counts: NDArray[np.float64]) -> intervals.Floats:
    """One kappa per draw from counts of shape (draws, cases, categories); nan where accident explains all."""
    observed = _pairwise(counts).mean(axis=-1)
    totals = counts.sum(axis=-2)
    room = 1 - np.sum((totals / totals.sum(axis=-1, keepdims=True)) ** 2, axis=-1)
    return intervals.divide_known(observed - (1 - room), room)


def _categories(labels: Iterable[Hashable]) -> dict[Hashable, int]:
    return {label: number for number, label in enumerate(dict.fromkeys(labels))}
