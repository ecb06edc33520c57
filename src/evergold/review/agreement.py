"""Measure the agreement of reviewers on verdicts and questions, and the pace of each reviewer.

Only each reviewer's first verdict on a content counts: one given after a dispute was shown, or as a ruling, is no longer
independent.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import combinations, pairwise
from statistics import fmean, median
from typing import Any

from evergold.model.review import (
    OPINIONS,
    Agreement,
    AgreementFigure,
    AnswerOn,
    Opinion,
    PairAgreement,
    QuestionAgreement,
    QuestionKind,
    Questionnaire,
    ReviewerPace,
    ReviewQuestion,
)
from evergold.stats.agreement import cohen_kappa, fleiss_kappa, interval_alpha, raw_agreement
from evergold.stats.intervals import Interval, mean_bootstrap, proportion_interval

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
    reason = SAME_VERDICT if shared else "no case has two opinions"
    reviewers = sorted({name for by in words.values() for name in by})
    rows: list[PairAgreement] = []
    for one, other in combinations(reviewers, 2):
        both = [(by[one], by[other]) for by in words.values() if one in by and other in by]
        if both:
            rows.append({"reviewers": [one, other], "cohen": _figure(cohen_kappa(both), len(both), SAME_VERDICT)})
    return {
        "cases": len(words),
        "shared": shared,
        "disputed": sum(len(set(case)) > 1 for case in verdicts),
        "agreement": _figure(raw_agreement(verdicts), shared, reason),
        "fleiss": _figure(fleiss_kappa(verdicts), shared, reason),
        "pairs": rows,
        "questions": questions or [],
    }


SINGLE = "no case has two answers"
ALIKE = "every answer is the same, so chance explains all agreement"
# Chance-corrected agreement divides by 1 - expected agreement, which is zero there.
SAME_VERDICT = "every verdict is the same, so chance explains all agreement"
NOT_SHARED = "no case shared with a colleague"


def agreement_on_questions(
    questionnaires: Mapping[str, Questionnaire], answers: Iterable[AnswerOn]
) -> list[QuestionAgreement]:
    """One row for each question of each dataset; answers on different contents of a case are not compared."""
    by_question: dict[tuple[str, str], dict[tuple[str, str], list[Any]]] = {}
    # An answer belongs to the content it was given on; after an edit it is another question.
    for given in answers:
        cases = by_question.setdefault((given.dataset, given.answer.question), {})
        cases.setdefault((given.id, given.answer.rev), []).append(given.answer.value)
    return [
        _row(dataset, question, list(by_question.get((dataset, question.name), {}).values()))
        for dataset, questionnaire in questionnaires.items()
        for question in questionnaire.questions
    ]


def _row(dataset: str, question: ReviewQuestion, cases: Sequence[Sequence[Any]]) -> QuestionAgreement:
    shared = [case for case in cases if len(case) > 1]
    measure, reason = "none", ""
    equal: Interval | None = None
    corrected: Interval | None = None
    if question.kind is QuestionKind.TEXT:
        reason = "free texts are read, not counted"
    elif question.kind is QuestionKind.SPAN:
        # Every pair of a case, then the mean: a case with five reviewers counts once.
        overlaps = [fmean(overlap(one, other) for one, other in combinations(case, 2)) for case in shared]
        equal, reason = mean_bootstrap(overlaps), "passages have no table of chance" if shared else ""
    else:
        # The order in which choices were clicked says nothing.
        labels = [[tuple(sorted(value)) if isinstance(value, list) else value for value in case] for case in shared]
        equal = raw_agreement(labels)
        is_scale = question.kind is QuestionKind.SCALE
        measure = "Krippendorff's alpha" if is_scale else "Fleiss' kappa"
        corrected = interval_alpha(shared) if is_scale else fleiss_kappa(labels)
    return {
        "dataset": dataset,
        "question": question.name,
        "title": question.title,
        "kind": question.kind.value,
        "answers": sum(len(case) for case in cases),
        "shared": len(shared),
        "agreement": _figure(equal, len(shared), reason or SINGLE),
        "measure": measure,
        "beyond_chance": _figure(corrected, len(shared), reason or (ALIKE if shared else SINGLE)),
    }


def overlap(one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> float:
    """F1 of the characters that two reviewers marked with the same label."""
    # An answer has at least one mark, and a mark at least one character: the sum is never zero.
    first, second = _characters(one), _characters(other)
    return 2 * len(first & second) / (len(first) + len(second))


def _characters(marks: Sequence[Mapping[str, Any]]) -> set[tuple[str, int]]:
    return {(mark["label"], at) for mark in marks for at in range(mark["start"], mark["end"])}


def _figure(result: Interval | None, shared: int, reason: str) -> AgreementFigure:
    if result is None:
        return {"value": None, "low": None, "high": None, "n": shared, "reason": reason}
    return {"value": result.value, "low": result.low, "high": result.high, "n": result.n, "reason": None}


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
    equal: dict[str, list[bool]] = defaultdict(list)
    for by in first_words(opinions).values():
        for reviewer, verdict in by.items():
            equal[reviewer] += [verdict == other for name, other in by.items() if name != reviewer]
    agreed = {
        reviewer: _figure(proportion_interval(sum(pairs), len(pairs)), 0, NOT_SHARED)
        for reviewer, pairs in equal.items()
        if pairs
    }
    return {
        reviewer: {
            "today": len(decided[reviewer]),
            "seconds_per_case": _seconds_per_case(moments[reviewer]),
            "agreement": agreed.get(reviewer, _figure(None, 0, NOT_SHARED)),
        }
        for reviewer in {opinion.reviewer for opinion in opinions}
    }


def _seconds_per_case(moments: Sequence[datetime]) -> float | None:
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    # Verdicts of one bulk action share a moment; they say nothing about time per case.
    seconds = [gap.total_seconds() for gap in gaps if timedelta(0) < gap <= SITTING]
    return median(seconds) if seconds else None
