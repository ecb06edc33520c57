"""Score predictions of a retrieval against golden cases: files in, figures out.

Predictions are held, golden rows stream past them: of a golden case only its score stays.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evergold.bench.retrieval import CaseScore, Gold, Prediction, files_band, gold_of_row, language_of, score_case
from evergold.bench.retrieval_figures import (
    ReadLines,
    SourceScore,
    compare_scores,
    score_source,
    slice_scores,
    summarize,
    summarize_source,
)
from evergold.formats.atomic import write_chunks
from evergold.formats.dataset_ab import Predictions, golden_rows, read_predictions
from evergold.repo.git import Repo, split_lines
from evergold.spread import Spread
from evergold.store.database.rows import batches

CASES_A_PART = 500
Asked = tuple[dict[str, Any], list[Prediction | None]]
"""A golden row, and what each file of predictions has for its case."""


@dataclass(frozen=True)
class ScoringQuery:
    """`tier` is the gold that must be found; a repository adds tokens, symbols and ranges outside their files."""

    tier: str = "edited"
    seed: int = 0
    repo_dir: Path | None = None


class RetrievalSlice(NamedTuple):
    """What a case is looked at by."""

    repository: str
    language: str
    golden_files: str


class ScoredCase(NamedTuple):
    """What one golden case gave: a score for each file of predictions, and the figures that need the files at base."""

    case_id: str
    slice: RetrievalSlice
    scores: list[CaseScore]
    missing: bool
    source: SourceScore | None
    problems: list[str]


@dataclass(frozen=True)
class RetrievalScorer:
    """How cases are scored; `with_lines` says of each file of predictions whether it names lines."""

    query: ScoringQuery
    with_lines: tuple[bool, ...]

    def score(self, asked: Iterable[Asked], repo: Repo | None) -> Iterator[ScoredCase]:
        read = _reader(repo) if repo else None
        for row, answers in asked:
            gold = gold_of_row(row)
            # Predictions that name files only are not charged for lines they never claimed to know.
            files_only = Gold(
                gold.case_id, gold.edited, gold.core, gold.optional, has_lines=False, repository=gold.repository
            )
            scores = [
                score_case(gold if lines else files_only, answer, self.query.tier)
                for answer, lines in zip(answers, self.with_lines, strict=True)
            ]
            by = RetrievalSlice(gold.repository, language_of(gold), files_band(gold))
            source, problems = None, list[str]()
            if repo is not None and read is not None:
                source, problems = self._score_source(gold, answers[0] or Prediction(gold.case_id), repo, read)
            yield ScoredCase(gold.case_id, by, scores, answers[0] is None, source, problems)

    def _score_source(
        self, gold: Gold, answer: Prediction, repo: Repo, read: ReadLines
    ) -> tuple[SourceScore | None, list[str]]:
        """Figures that need the files at base; a case whose commit is not in the repository is named."""
        if gold.base_commit and repo.objects.commit(gold.base_commit) is None:
            return None, [f"case {gold.case_id!r}: commit {gold.base_commit} is not in the repository"]
        result = score_source(gold, answer, read, self.query.tier)
        outside = result.outside if result is not None else ()
        return result, [f"case {gold.case_id!r}: {problem}" for problem in outside]

    def score_part(self, asked: Sequence[Asked]) -> list[ScoredCase]:
        """Score some cases; what a worker does, which sees the repository under the same path."""
        with ExitStack() as stack:
            return list(self.score(asked, self.open_repo(stack)))

    def open_repo(self, stack: ExitStack) -> Repo | None:
        folder = self.query.repo_dir
        return stack.enter_context(Repo.open(folder)) if folder else None


def score_retrieval(
    golden: Path,
    predictions: Path,
    other: Path | None = None,
    query: ScoringQuery | None = None,
    spread: Spread | None = None,
) -> tuple[dict[str, Any], list[CaseScore]]:
    """Give the figures, and the scores of single cases behind them.

    With a second file of predictions, `compare` holds the paired differences (the second minus the first). Golden rows
    stream: files of a hundred thousand cases are scored in constant memory, by workers where `spread` has some.
    """
    query = query or ScoringQuery()
    results = [read_predictions(path) for path in (predictions, other) if path is not None]
    scorer = RetrievalScorer(query, tuple(_names_lines(result) for result in results))
    asked = ((row, [_answer(result, row["caseId"]) for result in results]) for row in golden_rows(golden))
    # Opened here too: a folder that is no repository fails before a case is read.
    with ExitStack() as stack:
        repo = scorer.open_repo(stack)
        done = list(scorer.score(asked, repo) if spread is None else _score_by_workers(scorer, asked, spread))
    return _figures(done, results, query), [case.scores[0] for case in done]


def _score_by_workers(scorer: RetrievalScorer, asked: Iterable[Asked], spread: Spread) -> Iterator[ScoredCase]:
    folder = scorer.query.repo_dir
    # Workers were started in other folders than this command.
    scorer = replace(scorer, query=replace(scorer.query, repo_dir=folder.absolute() if folder else None))
    return chain.from_iterable(spread(scorer.score_part, batches(asked, CASES_A_PART)))


def _figures(done: Sequence[ScoredCase], results: Sequence[Predictions], query: ScoringQuery) -> dict[str, Any]:
    scores, known = [case.scores[0] for case in done], {case.case_id for case in done}
    extra = [case_id for case_id in results[0].rows if case_id not in known]
    figures = summarize(scores, query.seed) | {
        "extra": len(extra),
        "extra_cases": extra,
        "missing_cases": [case.case_id for case in done if case.missing],
        "duplicates": results[0].duplicates,
        "problems": [*results[0].problems, *(problem for case in done for problem in case.problems)],
        "tier": query.tier,
        "slices": {
            name: slice_scores(scores, [getattr(case.slice, name) for case in done]) for name in RetrievalSlice._fields
        },
    }
    if query.repo_dir is not None:
        figures |= summarize_source([case.source for case in done if case.source is not None], query.seed)
    if len(results) > 1:
        figures["compare"] = compare_scores(scores, [case.scores[1] for case in done], query.seed)
    return figures


def _reader(repo: Repo) -> ReadLines:
    # Cases of one commit ask for the same files again and again.
    @lru_cache(maxsize=256)
    def read(commit: str, path: str) -> list[bytes] | None:
        blob = repo.objects.at(commit, path)
        return split_lines(repo.objects.read(blob.id)) if blob and blob.kind == "blob" else None

    return read


def write_per_case(scores: list[CaseScore], path: Path) -> int:
    """One line per case that has gold; a rate that is not defined is null."""
    return write_chunks(path, (_line(score) for score in scores if score.lines or score.files))


def _line(score: CaseScore) -> bytes:
    levels = {
        name: {"precision": level.precision, "recall": level.recall, "f1": level.f(1)} if level else None
        for name, level in (("line", score.lines), ("file", score.files))
    }
    return orjson.dumps({"caseId": score.case_id, **levels}, option=orjson.OPT_APPEND_NEWLINE)


def _names_lines(result: Predictions) -> bool:
    """Predictions that name files only are scored by files only."""
    # No rows at all say nothing about lines; an empty file is scored by both.
    return not result.rows or any(row.has_lines for row in result.rows.values())


def _answer(result: Predictions, case_id: str) -> Prediction | None:
    row = result.rows.get(case_id)
    return Prediction(row.case_id, row.ranges, row.paths, row.has_lines) if row else None
