"""Score predictions of a retrieval against golden cases: files in, figures out.

Predictions are held, golden rows stream past them: of a golden case only its score stays.
"""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evergold.bench.retrieval import CaseScore, files_band, gold_of_row, language_of, score_case
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
from evergold.formats.dataset_ab import Prediction, golden_rows, read_predictions
from evergold.repo.git import Repo, split_lines
from evergold.spread import Spread
from evergold.store.database.rows import batches

CASES_A_PART = 500
SLICES = ("repository", "language", "golden_files")
Asked = tuple[dict[str, Any], list[Prediction | None]]
"""A golden row, and what each file of predictions has for its case."""


@dataclass(frozen=True)
class ScoringQuery:
    """`tier` is the gold that must be found; a repository adds tokens, symbols and ranges outside their files."""

    tier: str = "edited"
    seed: int = 0
    repo_dir: Path | None = None


class ScoredCase(NamedTuple):
    """What one golden case gave: a score for each file of predictions, and the figures that need the files at base.

    `slices` has what the case is looked at by, in the order of `SLICES`.
    """

    case_id: str
    slices: tuple[str, str, str]
    scores: list[CaseScore]
    missing: bool
    source: SourceScore | None
    problems: list[str]


def score_part(query: ScoringQuery, with_lines: Sequence[bool], asked: Iterable[Asked]) -> list[ScoredCase]:
    """Score some cases; `with_lines` says of each file of predictions whether it names lines.

    A worker that does it sees the repository under the same path.
    """
    done: list[ScoredCase] = []
    with Repo.open(query.repo_dir) if query.repo_dir else nullcontext() as repo:
        read = _reader(repo) if repo else None
        for row, answers in asked:
            gold = gold_of_row(row)
            # Predictions that name files only are not charged for lines they never claimed to know.
            files_only = replace(gold, has_lines=False)
            scores = [
                score_case(gold if lines else files_only, answer, query.tier)
                for answer, lines in zip(answers, with_lines, strict=True)
            ]
            slices = (gold.repository, language_of(gold), files_band(gold))
            source, problems = None, list[str]()
            # A case whose commit is not in the repository has no figures of its files, and is named.
            if repo and gold.base_commit and repo.objects.commit(gold.base_commit) is None:
                problems = [f"case {gold.case_id!r}: commit {gold.base_commit} is not in the repository"]
            elif read:
                source = score_source(gold, answers[0] or Prediction(gold.case_id), read, query.tier)
                problems = [f"case {gold.case_id!r}: {one}" for one in (source.outside if source else ())]
            done.append(ScoredCase(gold.case_id, slices, scores, answers[0] is None, source, problems))
    return done


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
    # Predictions that name files only are scored by files only; no rows at all say nothing about lines.
    with_lines = [not one.rows or any(row.has_lines for row in one.rows.values()) for one in results]
    asked = ((row, [result.rows.get(row["caseId"]) for result in results]) for row in golden_rows(golden))
    if spread is None:
        done = score_part(query, with_lines, asked)
    else:
        # Opened here too: a folder that is no repository fails before a case is read.
        with Repo.open(query.repo_dir) if query.repo_dir else nullcontext():
            # Workers were started in other folders than this command.
            folder = query.repo_dir.absolute() if query.repo_dir else None
            work = partial(score_part, replace(query, repo_dir=folder), with_lines)
            done = list(chain.from_iterable(spread(work, batches(asked, CASES_A_PART))))
    scores, known = [case.scores[0] for case in done], {case.case_id for case in done}
    extra = [case_id for case_id in results[0].rows if case_id not in known]
    figures = summarize(scores, query.seed) | {
        "extra": len(extra),
        "extra_cases": extra,
        "missing_cases": [case.case_id for case in done if case.missing],
        "duplicates": results[0].duplicates,
        "problems": [*results[0].problems, *(problem for case in done for problem in case.problems)],
        "tier": query.tier,
        "slices": {name: slice_scores(scores, [case.slices[at] for case in done]) for at, name in enumerate(SLICES)},
    }
    if query.repo_dir is not None:
        figures |= summarize_source([case.source for case in done if case.source is not None], query.seed)
    if len(results) > 1:
        figures["compare"] = compare_scores(scores, [case.scores[1] for case in done], query.seed)
    return figures, [case.scores[0] for case in done]


def _reader(repo: Repo) -> ReadLines:
    # Cases of one commit ask for the same files again and again.
    @lru_cache(maxsize=256)
    def read(commit: str, path: str) -> list[bytes] | None:
        blob = repo.objects.read_at(commit, path)
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
