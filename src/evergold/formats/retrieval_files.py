"""Golden and prediction files of a retrieval benchmark, as plain rows.

They are read without building cases: ten thousand rows of fifty ranges should take a moment. Whatever cannot be used is
counted and named with its line, never passed over.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evergold.errors import BadInput, NotFound
from evergold.formats.dataset_ab import Row, read_rows
from evergold.storage import matching

Range = tuple[str, int, int]


@dataclass
class PredictedRow:
    case_id: str
    ranges: list[Range]
    paths: list[str]
    has_lines: bool
    abstained: bool = False


@dataclass
class Predictions:
    """Rows by case id; `duplicates` and `problems` are what the report must show."""

    rows: dict[str, PredictedRow] = field(default_factory=dict)
    duplicates: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def golden_rows(path: Path) -> Iterator[Row]:
    """The rows of a dataset A or B file. Raises BadInput for a bad line or a case listed twice."""
    seen: set[str] = set()
    for file in _files(path):
        for number, row in read_rows(file):
            if row["caseId"] in seen:
                raise BadInput(f"{file}:{number}: case {row['caseId']!r} is listed twice; remove one of the lines")
            if problem := _wrong_with(row):
                raise BadInput(f"{file}:{number}: {problem}; mend or remove the line")
            seen.add(row["caseId"])
            yield row


def _wrong_with(row: Row) -> str | None:
    """What keeps a row from being gold. Ranges are looked at one by one: a wrong one would make every figure wrong."""
    entries = row.get("lineRanges", row.get("filePaths"))
    if not isinstance(entries, list):
        return "neither filePaths (dataset A) nor lineRanges (dataset B) is a list"
    if "lineRanges" in row:
        return next((problem for problem in map(range_of, entries) if isinstance(problem, str)), None)
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
            return f"{entry!r} has no path"
    return None


def read_predictions(path: Path) -> Predictions:
    """`{"caseId", "ranges": [{"path","startLine","endLine"}]}` or `{"caseId", "paths": […]}`, best first."""
    predictions = Predictions()
    for file in _files(path):
        _add_predictions(file, predictions)
    usable = any(row.ranges or row.paths or row.abstained for row in predictions.rows.values())
    # Every line is wrong in the same way: most likely the file is of another shape.
    if predictions.problems and not usable:
        raise BadInput(
            f"{path}: no prediction can be read; {predictions.problems[0]}; a line is "
            '{"caseId", "ranges": [{"path", "startLine", "endLine"}]} or {"caseId", "paths": […]}'
        )
    return predictions


def _add_predictions(path: Path, predictions: Predictions) -> None:
    unreadable: list[tuple[int, str]] = []
    for number, row in read_rows(path, unreadable):
        case_id = row["caseId"]
        if case_id in predictions.rows:
            # The first counts, so that appending to a file cannot improve a score.
            predictions.duplicates.append(case_id)
            predictions.problems.append(
                f"{path.name}:{number}: case {case_id!r} is predicted twice; the first prediction counts"
            )
            continue
        predictions.rows[case_id] = _predicted(row, f"{path.name}:{number}", predictions.problems)
    predictions.problems += [f"{path.name}:{number}: {reason}" for number, reason in unreadable]


def range_of(entry: Any) -> Range | str:
    """(path, first, last), or what is wrong with it."""
    if not isinstance(entry, dict):
        return f"{entry!r} is not an object"
    path, start, end = entry.get("path"), entry.get("startLine"), entry.get("endLine")
    if not isinstance(path, str) or not path:
        return f"path {path!r} is not a text"
    # `true` is an int in Python, and 1.0 is no line number.
    if type(start) is not int or type(end) is not int:
        return f"{path}: startLine {start!r} and endLine {end!r} must be whole numbers"
    if start < 1:
        return f"{path}: startLine {start} is before the first line"
    if end < start:
        return f"{path}: endLine {end} is before startLine {start}"
    return path, start, end


def _predicted(row: Row, where: str, problems: list[str]) -> PredictedRow:
    ranges: list[Range] = []
    entries = row.get("ranges")
    paths = row.get("paths")
    if not isinstance(entries if entries is not None else paths, list):
        problems.append(f"{where}: neither ranges nor paths is a list; nothing is predicted")
    for entry in entries if isinstance(entries, list) else ():
        parsed = range_of(entry)
        if isinstance(parsed, str):
            problems.append(f"{where}: range left out: {parsed}")
        else:
            ranges.append(parsed)
    named = [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []
    # An explicit empty list says "nothing fits", which is scored; a list of broken ranges says nothing.
    abstained = (entries == [] or paths == []) and not (ranges or named)
    return PredictedRow(row["caseId"], ranges, named, entries is not None, abstained)


def _files(path: Path) -> list[Path]:
    """The file, or those that a glob matches."""
    files = matching(path)
    for file in files:
        if not file.is_file():
            raise NotFound(f"no file {str(file)!r}")
    return files
