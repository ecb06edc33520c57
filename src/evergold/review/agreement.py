"""Measure the agreement of reviewers: kappa over the first independent opinions, pair by pair and all together.

An opinion given after a dispute was shown, or as a ruling, is no longer independent; only each reviewer's first word on
a content counts here.
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations

from evergold.model.review import OPINIONS, Opinion
from evergold.model.review_progress import Agreement, AgreementFigure, PairAgreement, QuestionAgreement
from evergold.stats.agreement import cohen_kappa, fleiss_kappa, raw_agreement
from evergold.stats.intervals import Interval

Shared = dict[tuple[str, str, str], dict[str, str]]


def first_words(opinions: Iterable[Opinion]) -> Shared:
    """(dataset, case, content) → reviewer → first verdict."""
    words: Shared = defaultdict(dict)
    for opinion in opinions:
        # A ruling was made with the dispute in view, so it is not an independent judgement.
        if opinion.verdict in OPINIONS and not opinion.adjudicate:
            words[opinion.dataset, opinion.id, opinion.rev].setdefault(opinion.reviewer, opinion.verdict.value)
    return dict(words)


def agreement(opinions: Iterable[Opinion], questions: list[QuestionAgreement] | None = None) -> Agreement:
    """Fleiss' kappa and raw agreement of everybody, Cohen's kappa of each pair; what is undefined says why."""
    words = first_words(opinions)
    verdicts = [tuple(by.values()) for by in words.values()]
    shared = sum(len(case) > 1 for case in verdicts)
    return {
        "cases": len(words),
        "shared": shared,
        "disputed": sum(len(set(case)) > 1 for case in verdicts),
        "agreement": _shown(raw_agreement(verdicts), shared),
        "fleiss": _shown(fleiss_kappa(verdicts), shared),
        "pairs": _pairs(words),
        "questions": questions or [],
    }


def _pairs(words: Shared) -> list[PairAgreement]:
    reviewers = sorted({name for by in words.values() for name in by})
    rows: list[PairAgreement] = []
    for one, other in combinations(reviewers, 2):
        both = [(by[one], by[other]) for by in words.values() if one in by and other in by]
        if both:
            rows.append({"reviewers": [one, other], "cohen": _shown(cohen_kappa(both), len(both))})
    return rows


def _shown(result: Interval | None, shared: int) -> AgreementFigure:
    if result is not None:
        return {"value": result.value, "low": result.low, "high": result.high, "n": result.n, "reason": None}
    reason = (
        # Chance-corrected agreement divides by 1 - expected agreement, which is zero here.
        "no case has two opinions" if shared == 0 else "every verdict is the same, so chance explains all agreement"
    )
    return {"value": None, "low": None, "high": None, "n": shared, "reason": reason}
