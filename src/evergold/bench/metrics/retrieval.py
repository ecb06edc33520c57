"""Retrieval metrics of a run: what share of the files and lines a task needed was found, and how much of it was noise.

The same scores as `evergold score-retrieval`, one case at a time, for targets that answer with paths and line ranges.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from evergold.bench.retrieval import BUDGETS, CUTS, CaseScore, gold_of_case, score_case
from evergold.errors import BadInput, describe_unknown
from evergold.formats.dataset_ab import Prediction
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement

NO_GOLD = "the case has no golden {level}"
NO_PREDICTION = "nothing was predicted, so there is no precision"


@dataclass(frozen=True)
class LevelMetric:
    """Precision, recall or F1 over lines or files; `tier` says which gold must be found."""

    version: ClassVar[str] = "1"
    level: str
    figure: str
    tier: str = "edited"

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        score = score_attempt(case, attempt, self.tier)
        counts = score.lines if self.level == "line" else score.files
        if counts is None:
            return Measurement.unscored(NO_GOLD.format(level=f"{self.level}s"))
        value = {"precision": counts.precision, "recall": counts.recall, "f1": counts.f(1)}[self.figure]
        if value is None:
            # Nothing predicted has recall 0 and no precision: a division by zero is not a score of zero.
            return Measurement.unscored(NO_PREDICTION)
        return Measurement.of(value, hit=counts.hit, predicted=counts.predicted, golden=counts.golden)


@dataclass(frozen=True)
class RankMetric:
    """A figure of the order of files, or recall within a number of lines."""

    version: ClassVar[str] = "1"
    figure: str
    tier: str = "edited"

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        score = score_attempt(case, attempt, self.tier)
        figures = score.ranked | {f"lines@{limit}": recall for limit, recall in score.budget.items()}
        # A case without golden lines has no budget figures at all.
        if self.figure not in figures:
            return Measurement.unscored(NO_GOLD.format(level="lines" if self.figure.startswith("lines") else "files"))
        return Measurement.of(figures[self.figure])


def _make_level(level: str, figure: str) -> Callable[..., LevelMetric]:
    def make(tier: str = "edited") -> LevelMetric:
        return LevelMetric(level, figure, tier)

    return make


def _make_rank(figure: str) -> Callable[..., RankMetric]:
    def make(tier: str = "edited") -> RankMetric:
        return RankMetric(figure, tier)

    return make


def _make_cut(figure: str) -> Callable[..., RankMetric]:
    def make(k: int = 5, tier: str = "edited") -> RankMetric:
        return RankMetric(f"{figure}@{_one_of('k', k, CUTS)}", tier)

    return make


line_precision = _make_level("line", "precision")
line_recall = _make_level("line", "recall")
line_f1 = _make_level("line", "f1")
file_precision = _make_level("file", "precision")
file_recall = _make_level("file", "recall")
file_hit = _make_cut("hit")
file_acc = _make_cut("acc")
file_mrr = _make_rank("mrr")
file_ndcg = _make_rank("ndcg@10")


def line_budget(lines: int = 500, tier: str = "edited") -> RankMetric:
    """Recall within so many lines, an overlap charged once."""
    return RankMetric(f"lines@{_one_of('lines', lines, BUDGETS)}", tier)


def score_attempt(case: Case, attempt: Attempt, tier: str) -> CaseScore:
    ranges = tuple((item.path, item.start, item.end) for item in attempt.ranges)
    return score_case(gold_of_case(case), Prediction(case.id, ranges, attempt.paths), tier)


def _one_of(name: str, value: int, valid: tuple[int, ...]) -> int:
    if value not in valid:
        raise BadInput(describe_unknown(f"value of {name}", str(value), [str(number) for number in valid]))
    return value
