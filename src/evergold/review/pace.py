"""Progress of one reviewer: cases decided today, time from case to case, agreement with colleagues."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median

from evergold.model.review import OPINIONS, Opinion
from evergold.model.review_progress import AgreementFigure, ReviewerPace
from evergold.review.agreement import first_words
from evergold.stats.intervals import proportion_interval

SITTING = timedelta(minutes=10)
"""A longer gap between two verdicts is a break, not work on a case."""


def pace_of_reviewers(opinions: Sequence[Opinion], day_began: datetime) -> dict[str, ReviewerPace]:
    """Reviewer → their pace, out of every recorded verdict, oldest first."""
    moments: dict[str, list[datetime]] = defaultdict(list)
    decided: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for opinion in opinions:
        if opinion.verdict in OPINIONS and opinion.created_at is not None:
            moments[opinion.reviewer].append(opinion.created_at)
            if opinion.created_at >= day_began:
                decided[opinion.reviewer].add((opinion.dataset, opinion.id))
    agreed = _agreement_with_others(opinions)
    return {
        reviewer: {
            "today": len(decided[reviewer]),
            "seconds_per_case": _seconds_per_case(moments[reviewer]),
            "agreement": agreed.get(reviewer, _undefined()),
        }
        for reviewer in {opinion.reviewer for opinion in opinions}
    }


def _seconds_per_case(moments: Sequence[datetime]) -> float | None:
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    # Verdicts of one bulk action share a moment; they say nothing about time per case.
    seconds = [gap.total_seconds() for gap in gaps if timedelta(0) < gap <= SITTING]
    return median(seconds) if seconds else None


def _agreement_with_others(opinions: Iterable[Opinion]) -> dict[str, AgreementFigure]:
    equal: dict[str, list[bool]] = defaultdict(list)
    for by in first_words(opinions).values():
        for reviewer, verdict in by.items():
            equal[reviewer] += [verdict == other for name, other in by.items() if name != reviewer]
    return {reviewer: _share(pairs) for reviewer, pairs in equal.items() if pairs}


def _share(equal: Sequence[bool]) -> AgreementFigure:
    result = proportion_interval(sum(equal), len(equal))
    if result is None:
        return _undefined()
    return {"value": result.value, "low": result.low, "high": result.high, "n": result.n, "reason": None}


def _undefined() -> AgreementFigure:
    return {"value": None, "low": None, "high": None, "n": 0, "reason": "no case shared with a colleague"}
