"""Means in which each question counts once, however many cases ask it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from evergold.model.run import Run
from evergold.report.scores import Mean, Outside, ValueRow, by_case, means, outside

Scores = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Groups:
    """Which cases are not independent of each other (`clusters`), and, where each question counts once, which ask one.

    Both map a case to a name. `questions` is None where every case counts by itself.
    """

    clusters: Mapping[str, str] = field(default_factory=dict)
    questions: Mapping[str, str] | None = None

    def counted(self, cases: set[str]) -> int:
        """How many values a mean over these cases can rest on: their questions, or the cases themselves."""
        return len(cases) if self.questions is None else len(_named(cases, self.questions))

    def reduced(self, values: Mapping[str, float]) -> Mapping[str, float]:
        """The value of each question, or of each case where every case counts by itself."""
        return values if self.questions is None else _asked(values, self.questions)

    def weighed(
        self, scores: Scores, outside: Mapping[str, Outside]
    ) -> tuple[Mapping[str, Mapping[str, float]], Mapping[str, Outside]]:
        """Scores and what they leave out, by question where each counts once, else as they are."""
        return (scores, outside) if self.questions is None else by_question(scores, outside, self.questions)


def run_means(run: Run, rows: Sequence[ValueRow], metrics: Sequence[str], groups: Groups) -> list[Mean]:
    """The mean of each metric over the cases of a run, or over their questions where each counts once."""
    scores, left_out = groups.weighed(by_case(rows), outside(rows))
    count = run.total // run.spec.trials
    if groups.questions is not None:
        count = len(set(groups.questions.values()))
    return means(scores, metrics, count, groups.clusters, left_out)


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
