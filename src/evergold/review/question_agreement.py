"""Measure the agreement of reviewers on each question, by the kind of its answers."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from evergold.model.questions import AnswerOn, QuestionKind, Questionnaire, ReviewQuestion
from evergold.model.review_progress import AgreementFigure, QuestionAgreement
from evergold.stats.agreement import fleiss_kappa, interval_alpha, mean_of_cases, raw_agreement
from evergold.stats.intervals import Interval

KAPPA, ALPHA, NONE = "Fleiss' kappa", "Krippendorff's alpha", "none"
SINGLE = "no case has two answers"
ALIKE = "every answer is the same, so chance explains all agreement"


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
    measure, equal, corrected, reason = _measured(question, shared)
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


def _measured(
    question: ReviewQuestion, shared: Sequence[Sequence[Any]]
) -> tuple[str, Interval | None, Interval | None, str]:
    if question.kind is QuestionKind.TEXT:
        return NONE, None, None, "free texts are read, not counted"
    if question.kind is QuestionKind.SPAN:
        # Every pair of a case, then the mean: a case with five reviewers counts once.
        overlaps = [_mean([overlap(one, other) for one, other in combinations(case, 2)]) for case in shared]
        return NONE, mean_of_cases(overlaps), None, "" if not shared else "passages have no table of chance"
    labels = [[_label(value) for value in case] for case in shared]
    if question.kind is QuestionKind.SCALE:
        return ALPHA, raw_agreement(labels), interval_alpha(shared), ""
    return KAPPA, raw_agreement(labels), fleiss_kappa(labels), ""


def overlap(one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> float:
    """F1 of the characters that two reviewers marked with the same label."""
    # An answer has at least one mark, and a mark at least one character: the sum is never zero.
    first, second = _characters(one), _characters(other)
    return 2 * len(first & second) / (len(first) + len(second))


def _characters(marks: Sequence[Mapping[str, Any]]) -> set[tuple[str, int]]:
    return {(mark["label"], at) for mark in marks for at in range(mark["start"], mark["end"])}


def _label(value: Any) -> Hashable:
    # The order in which choices were clicked says nothing.
    return tuple(sorted(value)) if isinstance(value, list) else value


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _figure(result: Interval | None, shared: int, reason: str) -> AgreementFigure:
    if result is None:
        return {"value": None, "low": None, "high": None, "n": shared, "reason": reason}
    return {"value": result.value, "low": result.low, "high": result.high, "n": result.n, "reason": None}
