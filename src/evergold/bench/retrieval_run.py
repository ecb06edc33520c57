"""Score predictions of a retrieval against golden cases: files in, figures out, each with a 95 % bootstrap interval over cases.

Predictions are held, golden rows stream past them: of a golden case only its score stays. Macro figures are means over cases,
micro ones ratios of sums. A case nobody answered counts as found nothing; a case without gold is not applicable; both are
numbers in the result, so that nobody has to guess what an average left out.

Some figures need the files: budgets in tokens, symbols, and ranges that lie outside their file. A token is taken as four
bytes: near enough to compare two retrievals under one budget, whatever the tokenizer. Symbols are the functions, methods
and classes of Python files, told apart by the standard library's own parser; lines outside of all of them are the module's.
"""

import ast
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np
import orjson

from evergold.bench.retrieval import (
    BUDGETS,
    CUTS,
    NDCG_CUT,
    CaseScore,
    Gold,
    Overlap,
    files_band,
    gold_of_row,
    gold_of_tier,
    language_of,
    score_case,
)
from evergold.formats.atomic import write_chunks
from evergold.formats.dataset_ab import Prediction, golden_rows, read_predictions
from evergold.repo.git import Repo, split_lines
from evergold.spread import Spread
from evergold.stats.intervals import Column, Derived, Floats, Interval, intervals_of, mean_bootstrap
from evergold.store.database.rows import batches

TOKEN_BUDGETS = (1_000, 4_000, 8_000, 32_000)
BYTES_PER_TOKEN = 4

ReadLines = Callable[[str, str], Sequence[bytes] | None]
"""(commit, path) → the lines of the file there, or None."""


class SourceScore(NamedTuple):
    """`tokens` is recall within so many tokens; `symbols` is None where no golden line lies in Python."""

    tokens: dict[int, float]
    symbols: Overlap | None
    outside: tuple[str, ...]


def score_source(gold: Gold, prediction: Prediction, read: ReadLines, tier: str = "edited") -> SourceScore | None:
    """None where the case has no golden lines or its base commit is not known."""
    wanted = gold_of_tier(gold, tier)
    if not gold.has_lines or not wanted.lines or not gold.base_commit:
        return None
    commit = gold.base_commit
    read_base = partial(read, commit)
    inside, outside = _within_files(prediction.ranges, read_base)
    golden = {
        (path, line) for path, spans in wanted.lines.items() for start, end in spans for line in range(start, end + 1)
    }
    symbols = _symbols_of(golden, read_base)
    result = _symbols_of({(path, line) for path, start, end in inside for line in range(start, end + 1)}, read_base)
    return SourceScore(
        tokens=_within_tokens(inside, golden, read_base),
        symbols=Overlap(len(symbols & result), len(result), len(symbols)) if symbols else None,
        outside=tuple(outside),
    )


ReadBase = Callable[[str], Sequence[bytes] | None]


def _within_files(
    ranges: Iterable[tuple[str, int, int]], read: ReadBase
) -> tuple[list[tuple[str, int, int]], list[str]]:
    """Ranges cut to their files, and a word about each that had to be cut."""
    inside: list[tuple[str, int, int]] = []
    outside: list[str] = []
    for path, start, end in ranges:
        lines = read(path)
        if lines is None:
            outside.append(f"{path}: no such file at base")
            continue
        if end > len(lines):
            outside.append(f"{path}:{start}-{end}: the file has {len(lines)} lines")
        if start <= len(lines):
            inside.append((path, start, min(end, len(lines))))
    return inside, outside


def _within_tokens(
    ranges: Iterable[tuple[str, int, int]], golden: set[tuple[str, int]], read: ReadBase
) -> dict[int, float]:
    """Recall within each budget: lines in rank order, each charged once, until the budget is spent."""
    spent = 0
    seen: set[tuple[str, int]] = set()
    positions: list[int] = []
    for path, start, end in ranges:
        lines = read(path) or ()
        for number in range(start, end + 1):
            if (path, number) in seen:
                continue
            seen.add((path, number))
            # Rounded up: a short line costs a token too.
            spent += -(-len(lines[number - 1]) // BYTES_PER_TOKEN)
            if (path, number) in golden:
                positions.append(spent)
        # Ranges behind the largest budget change no figure.
        if spent > TOKEN_BUDGETS[-1]:
            break
    return {budget: sum(position <= budget for position in positions) / len(golden) for budget in TOKEN_BUDGETS}


def _symbols_of(lines: set[tuple[str, int]], read: ReadBase) -> set[tuple[str, str]]:
    """The symbols of Python files that these lines lie in."""
    results: set[tuple[str, str]] = set()
    for path in {path for path, _ in lines if path.endswith(".py")}:
        content = read(path)
        names = line_symbols(b"".join(content)) if content else None
        if names is not None:
            results |= {(path, names[line - 1]) for at, line in lines if at == path and line <= len(names)}
    return results


@lru_cache(maxsize=512)
def line_symbols(source: bytes) -> tuple[str, ...] | None:
    """The innermost symbol of every line, "" for the module; None for what this Python cannot parse."""
    try:
        with catch_warnings():
            simplefilter("ignore")  # old code may spell its escapes in ways newer Pythons warn about
            tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    names = [""] * (source.count(b"\n") + 1)

    def mark(node: ast.AST, outer: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = outer
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{outer}.{child.name}" if outer else child.name
                # A decorator belongs to its function, and stands above `lineno`.
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                names[first - 1 : child.end_lineno] = [name] * ((child.end_lineno or first) - first + 1)
            mark(child, name)

    mark(tree, "")
    return tuple(names)


AVERAGES = ("macro", "micro")
BETAS = {"f1": 1.0, "f0.5": 0.5, "f2": 2.0}
RANKED = (*(f"{name}@{cut}" for name in ("acc", "hit", "recall") for cut in CUTS), "mrr", f"ndcg@{NDCG_CUT}")
LOWER_BOUND = (
    "Edited lines are a lower bound of the context a task needs: people who label what was needed mark about ten times as many. "
    "Read recall as a share of what must be found, and precision with the noise rate beside it."
)
NOTHING = Overlap(hit=0, predicted=0, golden=0)
Json = dict[str, Any]


def summarize(scores: Sequence[CaseScore], seed: int = 0) -> Json:
    """The figures in the shape of `--json`. `line` is null where nothing has lines."""
    by_lines = [score for score in scores if score.lines is not None]
    by_files = [score for score in scores if score.files is not None]
    # Where any case has golden lines, the cases with lines are counted; else those with files.
    counted = by_lines or by_files
    # One set of bootstrap draws for all figures, so that their intervals are comparable.
    result = _all_figures([score for score in scores if score.lines or score.files], seed)
    lines, files = result.get("line", {}), result.get("file", {})
    return {
        "n": len(counted),
        "abstained": sum(score.has_abstained for score in counted),
        "missing": sum(score.missing for score in counted),
        "not_applicable": len(scores) - len(counted),
        "line": {average: lines[average] for average in AVERAGES} if by_lines else None,
        "file": {average: files[average] for average in AVERAGES} | files["ranked"] if by_files else None,
        "budget": lines["budget"] if by_lines else None,
        "noise": lines["noise"]["rate"] if by_lines else _bounds(None),
        "note": LOWER_BOUND,
    }


def summarize_source(scores: Sequence[SourceScore], seed: int = 0) -> Json:
    """Figures that needed the repository: recall within tokens, and symbols."""
    columns = {f"tokens {budget}": _column([score.tokens[budget] for score in scores]) for budget in TOKEN_BUDGETS}
    result = _group(intervals_of(columns, {}, seed))
    counts = [score.symbols for score in scores if score.symbols]
    symbols = _group(intervals_of(*_level("", counts), seed)) if counts else None
    return {"tokens": result.get("tokens"), "symbol": symbols, "symbol_n": len(counts)}


def slice_scores(scores: Sequence[CaseScore], names: Sequence[str]) -> Json:
    """The main figures per slice, without intervals: slices are for looking, not for deciding. A name for each score."""
    groups: dict[str, list[CaseScore]] = {}
    for score, name in zip(scores, names, strict=True):
        if score.lines or score.files:
            groups.setdefault(name, []).append(score)
    return {
        name: {
            "n": len(group),
            "line_recall": _average(score.lines.recall for score in group if score.lines),
            "line_precision": _average(score.lines.precision for score in group if score.lines),
            "file_recall": _average(score.files.recall for score in group if score.files),
        }
        for name, group in sorted(groups.items())
    }


def compare_scores(one: Sequence[CaseScore], other: Sequence[CaseScore], seed: int = 0) -> Json:
    """The second minus the first, case by case: only cases both have a value for take part, and `n` says how many."""
    theirs = {score.case_id: score for score in other}
    pairs = [(score, theirs[score.case_id]) for score in one if score.case_id in theirs]
    results: Json = {}
    for name, read in _COMPARED.items():
        values = [(read(score), read(their)) for score, their in pairs]
        known = [after - before for before, after in values if before is not None and after is not None]
        results[name] = _bounds(mean_bootstrap(known, seed)) | {"n": len(known)}
    return results


def _all_figures(scores: Sequence[CaseScore], seed: int) -> Json:
    """Level, group, figure: all over the same cases, from one set of draws."""
    columns, derived = _level("line ", [score.lines for score in scores])
    for limit in BUDGETS:
        columns[f"line budget {limit}"] = _column([score.budget.get(limit) for score in scores])
    columns["line budget area"] = _column([score.area for score in scores])
    columns["line noise rate"] = _column([score.noise for score in scores])
    of_files, derived_of_files = _level("file ", [score.files for score in scores])
    for name in RANKED:
        of_files[f"file ranked {name}"] = _column([score.ranked.get(name) for score in scores])
    return _group(intervals_of(columns | of_files, derived | derived_of_files, seed))


def _level(prefix: str, counts: Sequence[Overlap | None]) -> tuple[dict[str, Column], dict[str, Derived]]:
    """The columns of one level; a case that has no such level takes part in none of them."""
    known = [count or NOTHING for count in counts]
    hits = [float(count.hit) for count in known]
    rates = {name: [getattr(count, name) for count in known] for name in ("precision", "recall")}
    rates |= {name: [count.f(beta) for count in known] for name, beta in BETAS.items()}
    rates["iou"] = [count.iou for count in known]
    # A case without this level has zero counts and takes no part in a macro mean, whose denominator skips it.
    columns = {f"{prefix}macro {name}": _column(values) for name, values in rates.items()}
    columns[f"{prefix}micro precision"] = (hits, [float(count.predicted) for count in known])
    columns[f"{prefix}micro recall"] = (hits, [float(count.golden) for count in known])
    columns[f"{prefix}micro iou"] = (hits, [float(count.predicted + count.golden - count.hit) for count in known])
    return columns, {f"{prefix}micro {name}": _f(prefix, beta) for name, beta in BETAS.items()}


def _group(results: dict[str, Interval | None]) -> Json:
    """`a b c` under `a`, then `b`, then `c`."""
    groups: Json = {}
    for name, interval in results.items():
        *outer, figure = name.split(" ")
        node = groups
        for group in outer:
            node = node.setdefault(group, {})
        node[figure] = _bounds(interval)
    return groups


def _f(prefix: str, beta: float) -> Derived:
    def derive(result: Any) -> Floats:
        # A draw in which nothing was predicted has no precision; for F it counts as 0.
        precision, recall = np.nan_to_num(result[f"{prefix}micro precision"]), result[f"{prefix}micro recall"]
        below = beta * beta * precision + recall
        top: Floats = (1 + beta * beta) * precision * recall
        # Where precision and recall are both 0, F is 0 and not undefined.
        figures: Floats = np.divide(top, below, out=np.zeros_like(top), where=below > 0)
        return figures

    return derive


def _column(values: Iterable[float | None]) -> Column:
    """A mean over the cases that have a value."""
    listed = list(values)
    return [0.0 if value is None else value for value in listed], [float(value is not None) for value in listed]


def _bounds(interval: Interval | None) -> Json:
    return {name: getattr(interval, name, None) for name in ("value", "low", "high")}


def _average(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


_COMPARED: dict[str, Callable[[CaseScore], float | None]] = {
    "line_recall": lambda score: score.lines.recall if score.lines else None,
    "line_precision": lambda score: score.lines.precision if score.lines else None,
    "line_f1": lambda score: score.lines.f(1) if score.lines else None,
    "file_recall": lambda score: score.files.recall if score.files else None,
    "file_f1": lambda score: score.files.f(1) if score.files else None,
    "mrr": lambda score: score.ranked.get("mrr"),
    f"ndcg@{NDCG_CUT}": lambda score: score.ranked.get(f"ndcg@{NDCG_CUT}"),
    "budget_area": lambda score: score.area,
}


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
