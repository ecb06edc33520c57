"""Score predictions of a retrieval against golden cases: files in, figures out."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from evergold.bench.retrieval import CaseScore, Gold, Prediction, score_case
from evergold.bench.retrieval_gold import files_band, gold_of_row, language_of
from evergold.bench.retrieval_source import ReadLines, SourceScore, score_source
from evergold.bench.retrieval_summary import compared, sliced, summarize, summarize_source
from evergold.extract.fingerprint import split_lines
from evergold.formats.atomic import write_chunks
from evergold.formats.retrieval_files import Predictions, golden_rows, read_predictions
from evergold.repo.git import Repo


@dataclass(frozen=True)
class Scored:
    """The figures, and the scores of single cases behind them."""

    figures: dict[str, Any]
    scores: list[CaseScore]


@dataclass(frozen=True)
class ScoringWish:
    """`tier` is the gold that must be found; a repository adds tokens, symbols and ranges outside their files."""

    tier: str = "edited"
    seed: int = 0
    repo_dir: Path | None = None


def score_retrieval(
    golden: Path, predictions: Path, other: Path | None = None, wish: ScoringWish | None = None
) -> Scored:
    """With a second file of predictions, `compare` holds the paired differences (the second minus the first)."""
    wish = wish or ScoringWish()
    tier, seed = wish.tier, wish.seed
    gold = [gold_of_row(row) for row in golden_rows(golden)]
    found = read_predictions(predictions)
    scores = _scores(gold, found, tier)
    by_id = {item.case_id: item for item in gold}
    extra = [case_id for case_id in found.rows if case_id not in by_id]
    missing = [item.case_id for item in gold if item.case_id not in found.rows]
    figures = summarize(scores, seed) | {
        "extra": len(extra),
        "extra_cases": extra,
        "missing_cases": missing,
        "duplicates": found.duplicates,
        "problems": found.problems,
        "tier": tier,
        "slices": {
            "repository": sliced(scores, lambda score: by_id[score.case_id].repository),
            "language": sliced(scores, lambda score: language_of(by_id[score.case_id])),
            "golden_files": sliced(scores, lambda score: files_band(by_id[score.case_id])),
        },
    }
    if wish.repo_dir is not None:
        figures |= _from_source(gold, found, wish, wish.repo_dir)
    if other is not None:
        figures["compare"] = compared(scores, _scores(gold, read_predictions(other), tier), seed)
    return Scored(figures, scores)


def _from_source(gold: list[Gold], found: Predictions, wish: ScoringWish, repo_dir: Path) -> dict[str, Any]:
    """Figures that need the files at base; a case whose commit is not in the repository is named."""
    results: list[SourceScore] = []
    problems = list(found.problems)
    with Repo.open(repo_dir) as repo:
        reader = _reader(repo)
        for item in gold:
            if item.base_commit and repo.objects.commit(item.base_commit) is None:
                problems.append(f"case {item.case_id!r}: commit {item.base_commit} is not in the repository")
                continue
            row = found.rows.get(item.case_id)
            prediction = Prediction(item.case_id, tuple(row.ranges) if row else ())
            result = score_source(item, prediction, reader, wish.tier)
            if result is not None:
                results.append(result)
                problems += [f"case {item.case_id!r}: {problem}" for problem in result.outside]
    return summarize_source(results, wish.seed) | {"problems": problems}


def _reader(repo: Repo) -> ReadLines:
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


def _scores(gold: list[Gold], found: Predictions, tier: str) -> list[CaseScore]:
    lines_count = any(row.has_lines for row in found.rows.values()) or not found.rows
    scores = []
    for item in gold:
        row = found.rows.get(item.case_id)
        prediction = Prediction(row.case_id, tuple(row.ranges), tuple(row.paths), row.has_lines) if row else None
        wanted = item if lines_count else _without_lines(item)
        scores.append(score_case(wanted, prediction, tier))
    return scores


def _without_lines(gold: Gold) -> Gold:
    """Predictions that name files only are scored by files only."""
    return Gold(gold.case_id, gold.edited, gold.core, gold.optional, has_lines=False, repository=gold.repository)
