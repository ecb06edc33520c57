"""Means in which each question counts once, however many cases ask it."""

from collections.abc import Mapping
from statistics import fmean

from evergold.report.scores import Outside

Scores = Mapping[str, Mapping[str, float]]


def by_question(
    scores: Scores, outside: Mapping[str, Outside], question_of: Mapping[str, str]
) -> tuple[dict[str, dict[str, float]], dict[str, Outside]]:
    """Metric → question → mean over the scored cases that ask it, and the questions of which a metric scored no case.

    `question_of`: case → the name of its question; a case that is not there is a question of its own.
    """
    asked = {metric: _asked(values, question_of) for metric, values in scores.items()}
    left_out: dict[str, Outside] = {}
    for metric, cut in outside.items():
        scored = asked.get(metric, {}).keys()
        own = _named(cut.own, question_of)
        # As for single cases: self-compared answers count in the mean only where the metric has no other.
        if cut.own.isdisjoint(scores.get(metric, {})):
            # A question that has a scored case is inside the mean, whatever its other cases are.
            own -= scored
        left_out[metric] = Outside(_named(cut.not_applicable, question_of) - scored - own, own)
    return asked, left_out


def _asked(values: Mapping[str, float], question_of: Mapping[str, str]) -> dict[str, float]:
    by_name: dict[str, list[float]] = {}
    for case, value in values.items():
        by_name.setdefault(question_of.get(case, case), []).append(value)
    return {question: fmean(some) for question, some in by_name.items()}


def _named(cases: set[str], question_of: Mapping[str, str]) -> set[str]:
    return {question_of.get(case, case) for case in cases}
