"""Score predictions of a retrieval against golden cases: files in, figures out.

Predictions are held, golden rows stream past them: of a golden case only its score stays.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evergold.bench.retrieval import CaseScore, Gold, Prediction, files_band, gold_of_row, language_of, score_case
from evergold.bench.retrieval_figures import (
    ReadLines,
    SourceScore,
    compared,
    score_source,
    sliced,
    summarize,
    summarize_source,
)
from evergold.extract.ranges import split_lines
from evergold.formats.atomic import write_bytes, write_chunks
from evergold.formats.dataset_ab import Predictions, golden_rows, read_predictions
from evergold.repo.git import Repo
from evergold.report.documents import as_rows, compare_rows
from evergold.report.html import as_html
from evergold.spread import Spread, spread_over
from evergold.store.database.rows import batches

CASES_A_PART = 500


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
        cluster: str | None = None,
    ) -> dict[str, Any]:
        """Score predictions against golden cases; optionally write the single scores (JSONL) and a report (HTML).

        With the address of a Dask cluster its workers score the cases; they see the repository under the same path.
        """
        with spread_over(cluster) as spread:
            scored = score_retrieval(golden, predictions, other, query, spread)
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


class _Asked(NamedTuple):
    """A golden row, and what each file of predictions has for its case."""

    row: dict[str, Any]
    answers: list[Prediction | None]


class _Scored(NamedTuple):
    """What one golden case gave: a score for each file of predictions, and the figures that need the files at base."""

    case_id: str
    slice: RetrievalSlice
    scores: list[CaseScore]
    missing: bool
    source: SourceScore | None
    problems: list[str]


@dataclass(frozen=True)
class _Scoring:
    """How cases are scored; `with_lines` says of each file of predictions whether it names lines."""

    query: ScoringQuery
    with_lines: tuple[bool, ...]

    def scored(self, asked: Iterable[_Asked], repo: Repo | None) -> Iterator[_Scored]:
        read = _reader(repo) if repo else None
        for row, answers in asked:
            gold = gold_of_row(row)
            # Predictions that name files only are not charged for lines they never claimed to know.
            scores = [
                score_case(gold if lines else _without_lines(gold), answer, self.query.tier)
                for answer, lines in zip(answers, self.with_lines, strict=True)
            ]
            by = RetrievalSlice(gold.repository, language_of(gold), files_band(gold))
            source, problems = None, list[str]()
            if repo is not None and read is not None:
                source, problems = self._from_source(gold, answers[0] or Prediction(gold.case_id), repo, read)
            yield _Scored(gold.case_id, by, scores, answers[0] is None, source, problems)

    def _from_source(
        self, gold: Gold, answer: Prediction, repo: Repo, read: ReadLines
    ) -> tuple[SourceScore | None, list[str]]:
        """Figures that need the files at base; a case whose commit is not in the repository is named."""
        if gold.base_commit and repo.objects.commit(gold.base_commit) is None:
            return None, [f"case {gold.case_id!r}: commit {gold.base_commit} is not in the repository"]
        result = score_source(gold, answer, read, self.query.tier)
        outside = result.outside if result is not None else ()
        return result, [f"case {gold.case_id!r}: {problem}" for problem in outside]

    def part(self, asked: Sequence[_Asked]) -> list[_Scored]:
        """Score some cases; what a worker does, which sees the repository under the same path."""
        with self.opened() as repo:
            return list(self.scored(asked, repo))

    @contextmanager
    def opened(self) -> Iterator[Repo | None]:
        if self.query.repo_dir is None:
            yield None
            return
        with Repo.open(self.query.repo_dir) as repo:
            yield repo


@dataclass
class _Gathered:
    """The scores of all cases; of a golden case nothing else stays."""

    query: ScoringQuery
    scores: list[list[CaseScore]]
    ids: set[str] = field(default_factory=set)
    slices: list[RetrievalSlice] = field(default_factory=list)
    from_source: list[SourceScore] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(self, scored: _Scored) -> None:
        self.ids.add(scored.case_id)
        self.slices.append(scored.slice)
        for scores, score in zip(self.scores, scored.scores, strict=True):
            scores.append(score)
        if scored.missing:
            self.missing.append(scored.case_id)
        if scored.source is not None:
            self.from_source.append(scored.source)
        self.problems += scored.problems


def score_retrieval(
    golden: Path,
    predictions: Path,
    other: Path | None = None,
    query: ScoringQuery | None = None,
    spread: Spread | None = None,
) -> ScoredRetrieval:
    """With a second file of predictions, `compare` holds the paired differences (the second minus the first).

    Golden rows stream: files of a hundred thousand cases are scored in constant memory, by workers where `spread` has some.
    """
    query = query or ScoringQuery()
    results = [read_predictions(path) for path in (predictions, other) if path is not None]
    scoring = _Scoring(query, tuple(_any_lines(result) for result in results))
    gathered = _Gathered(query, [[] for _ in results])
    asked = (_asked(row, results) for row in golden_rows(golden))
    # Opened here too: a folder that is no repository fails before a case is read.
    with scoring.opened() as repo:
        done = scoring.scored(asked, repo) if spread is None else _spread_out(scoring, asked, spread)
        for scored in done:
            gathered.add(scored)
    return ScoredRetrieval(_figures(gathered, results[0]), gathered.scores[0])


def _spread_out(scoring: _Scoring, asked: Iterable[_Asked], spread: Spread) -> Iterator[_Scored]:
    folder = scoring.query.repo_dir
    # Workers were started in other folders than this command.
    scoring = replace(scoring, query=replace(scoring.query, repo_dir=folder.absolute() if folder else None))
    return chain.from_iterable(spread(scoring.part, batches(asked, CASES_A_PART)))


def _asked(row: dict[str, Any], results: Sequence[Predictions]) -> _Asked:
    return _Asked(row, [_answer(result, row["caseId"]) for result in results])


def _figures(done: _Gathered, result: Predictions) -> dict[str, Any]:
    scores, seed = done.scores[0], done.query.seed
    extra = [case_id for case_id in result.rows if case_id not in done.ids]
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
    if done.query.repo_dir is not None:
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
