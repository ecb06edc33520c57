"""Score predictions of a retrieval against golden cases: files in, figures out.

Predictions are held, golden rows stream past them: of a golden case only its score stays.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evergold.bench.retrieval import CaseScore, Gold, Prediction, score_case
from evergold.bench.retrieval_gold import files_band, gold_of_row, language_of
from evergold.bench.retrieval_source import ReadLines, SourceScore, score_source
from evergold.bench.retrieval_summary import compared, sliced, summarize, summarize_source
from evergold.extract.fingerprint import split_lines
from evergold.formats.atomic import write_bytes, write_chunks
from evergold.formats.retrieval_files import Predictions, golden_rows, read_predictions
from evergold.repo.git import Repo
from evergold.report.retrieval import as_html, as_rows, compare_rows


@dataclass(frozen=True)
class ScoredRetrieval:
    """The figures, and the scores of single cases behind them."""

    figures: dict[str, Any]
    scores: list[CaseScore]


class RetrievalSlice(NamedTuple):
    """What a case is looked at by."""

    repository: str
    language: str
    golden_files: str


@dataclass(frozen=True)
class ScoringQuery:
    """`tier` is the gold that must be found; a repository adds tokens, symbols and ranges outside their files."""

    tier: str = "edited"
    seed: int = 0
    repo_dir: Path | None = None


class Retrieval:
    """The facade of retrieval scoring."""

    def score(
        self,
        golden: Path,
        predictions: Path,
        other: Path | None = None,
        query: ScoringQuery | None = None,
        *,
        per_case: Path | None = None,
        html: Path | None = None,
    ) -> dict[str, Any]:
        """Score predictions against golden cases; optionally write the single scores (JSONL) and a report (HTML)."""
        scored = score_retrieval(golden, predictions, other, query)
        if per_case is not None:
            write_per_case(scored.scores, per_case)
        if html is not None:
            write_bytes(html, as_html(scored.figures, golden.name, predictions.name).encode())
        return scored.figures

    def rows(self, figures: dict[str, Any]) -> list[tuple[object, ...]]:
        """List figures as rows of a table: level, figure, value, interval."""
        return list(as_rows(figures))

    def comparison_rows(self, figures: dict[str, Any]) -> list[tuple[object, ...]]:
        """List the paired differences of two files of predictions as rows of a table."""
        return list(compare_rows(figures))


@dataclass
class _Pass:
    """One pass over the golden rows: each is scored against every file of predictions and forgotten."""

    query: ScoringQuery
    predictions: list[Predictions]
    read: ReadLines | None
    has_commit: Callable[[str], bool]
    scores: list[list[CaseScore]] = field(default_factory=list)
    slices: list[RetrievalSlice] = field(default_factory=list)
    from_source: list[SourceScore] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def run(self, golden: Path) -> set[str]:
        """The ids of the golden cases."""
        ids: set[str] = set()
        with_lines = [_any_lines(result) for result in self.predictions]
        self.scores = [[] for _ in self.predictions]
        # Golden rows stream: files of a hundred thousand cases are scored in constant memory.
        for row in golden_rows(golden):
            gold = gold_of_row(row)
            ids.add(gold.case_id)
            self.slices.append(RetrievalSlice(gold.repository, language_of(gold), files_band(gold)))
            answers = [_answer(result, gold.case_id) for result in self.predictions]
            for answer, lines, scores in zip(answers, with_lines, self.scores, strict=True):
                # Predictions that name files only are not charged for lines they never claimed to know.
                scores.append(score_case(gold if lines else _without_lines(gold), answer, self.query.tier))
            if answers[0] is None:
                self.missing.append(gold.case_id)
            if self.read is not None:
                self._score_source(gold, answers[0] or Prediction(gold.case_id), self.read)
        return ids

    def _score_source(self, gold: Gold, answer: Prediction, read: ReadLines) -> None:
        """Figures that need the files at base; a case whose commit is not in the repository is named."""
        if gold.base_commit and not self.has_commit(gold.base_commit):
            self.problems.append(f"case {gold.case_id!r}: commit {gold.base_commit} is not in the repository")
            return
        result = score_source(gold, answer, read, self.query.tier)
        if result is not None:
            self.from_source.append(result)
            self.problems += [f"case {gold.case_id!r}: {problem}" for problem in result.outside]


def score_retrieval(
    golden: Path, predictions: Path, other: Path | None = None, query: ScoringQuery | None = None
) -> ScoredRetrieval:
    """With a second file of predictions, `compare` holds the paired differences (the second minus the first)."""
    query = query or ScoringQuery()
    results = [read_predictions(path) for path in (predictions, other) if path is not None]
    if query.repo_dir is None:
        done = _Pass(query, results, None, lambda commit: True)
        ids = done.run(golden)
    else:
        with Repo.open(query.repo_dir) as repo:
            done = _Pass(query, results, _reader(repo), lambda commit: repo.objects.commit(commit) is not None)
            ids = done.run(golden)
    return ScoredRetrieval(_figures(done, results[0], ids), done.scores[0])


def _figures(done: _Pass, result: Predictions, ids: set[str]) -> dict[str, Any]:
    scores, seed = done.scores[0], done.query.seed
    extra = [case_id for case_id in result.rows if case_id not in ids]
    figures = summarize(scores, seed) | {
        "extra": len(extra),
        "extra_cases": extra,
        "missing_cases": done.missing,
        "duplicates": result.duplicates,
        "problems": [*result.problems, *done.problems],
        "tier": done.query.tier,
        "slices": {
            name: sliced(scores, [getattr(item, name) for item in done.slices]) for name in RetrievalSlice._fields
        },
    }
    if done.read is not None:
        figures |= summarize_source(done.from_source, seed)
    if len(done.scores) > 1:
        figures["compare"] = compared(scores, done.scores[1], seed)
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
    row = {"caseId": score.case_id}
    levels = {
        name: {"precision": level.precision, "recall": level.recall, "f1": level.f(1)} if level else None
        for name, level in (("line", score.lines), ("file", score.files))
    }
    return orjson.dumps(row | levels, option=orjson.OPT_APPEND_NEWLINE)


def _any_lines(result: Predictions) -> bool:
    """Predictions that name files only are scored by files only."""
    # No rows at all say nothing about lines; an empty file is scored by both.
    return not result.rows or any(row.has_lines for row in result.rows.values())


def _answer(result: Predictions, case_id: str) -> Prediction | None:
    row = result.rows.get(case_id)
    return Prediction(row.case_id, row.ranges, row.paths, row.has_lines) if row else None


def _without_lines(gold: Gold) -> Gold:
    return Gold(gold.case_id, gold.edited, gold.core, gold.optional, has_lines=False, repository=gold.repository)
