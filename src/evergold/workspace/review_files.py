"""Dataset A and B files and the review store: check validated files, take rows in without losing edits."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evergold.build.manifest import Finding, Report
from evergold.errors import BadInput
from evergold.formats.dataset_ab import case_of_rows, read_rows, row_a, row_b, sibling_of
from evergold.model.case import Case, CaseKind, CaseStatus, ReviewState
from evergold.review.rows import row_faults

Row = dict[str, Any]


def check_validated_rows(path: Path) -> Report:
    """A validated file of either dataset, row by row, and its pairing with the other file where that stands beside it."""
    if not path.is_file():
        raise BadInput(f"no file {str(path)!r} to check")
    parsed, complete, unique = (
        Finding(name, path.name) for name in ("rows are JSON", "rows are complete", "ids are unique")
    )
    problems: list[tuple[int, str]] = []
    seen: dict[str, int] = {}
    for number, row in read_rows(path, problems):
        for fault in row_faults(row):
            complete.fail(f"line {number}, case {row['caseId']}: {fault}")
        if row["caseId"] in seen:
            unique.fail(f"line {number}: case {row['caseId']} is in line {seen[row['caseId']]} already")
        seen.setdefault(row["caseId"], number)
    for number, problem in problems:
        parsed.fail(f"line {number}: {problem}")
    return Report(str(path), "rows", [parsed, complete, unique, _pairing(path, set(seen))])


def _pairing(path: Path, ids: set[str]) -> Finding:
    finding = Finding("both datasets hold the same cases", path.name)
    sibling = sibling_of(path)
    if sibling is None:
        finding.outcome, finding.message = "not measured", "the other file of the pair is not beside this one"
        return finding
    others = {row["caseId"] for _, row in read_rows(sibling, [])}
    for case_id in sorted(ids ^ others):
        finding.fail(f"case {case_id} is only in {path.name if case_id in ids else sibling.name}")
    return finding


def cases_of_rows(rows: Sequence[Row], dataset: str) -> tuple[list[Case], list[str]]:
    """The cases that rows of either dataset describe, and what was wrong with the others, by position."""
    pairs: dict[str, dict[str, Row]] = {}
    problems: list[str] = []
    for number, row in enumerate(rows, 1):
        # The two datasets share no schema; the list each of them has tells which one a row is of.
        half = "a" if "filePaths" in row else "b" if "lineRanges" in row else None
        case_id = row.get("caseId")
        if half is None or not isinstance(case_id, str) or not case_id.strip():
            problems.append(f"row {number}: needs caseId, and filePaths (dataset A) or lineRanges (dataset B)")
        elif half in pairs.setdefault(case_id, {}):
            problems.append(f"row {number}: case {case_id!r} has a row of dataset {half.upper()} already")
        else:
            pairs[case_id][half] = row
    results: list[Case] = []
    for case_id, pair in pairs.items():
        try:
            results.append(case_of_rows(pair.get("a"), pair.get("b")).model_copy(update={"dataset": dataset}))
        # Rows come from a browser or a file that a person edited: anything may be missing or of another type.
        except (BadInput, ValidationError, TypeError, KeyError) as problem:
            problems.append(f"case {case_id!r}: {str(problem).splitlines()[0]}")
    return results, problems


def every_row_of(cases: Iterable[Case]) -> dict[str, Any]:
    """All context cases as rows of A and B, and the version of each: what another browser goes on from."""
    results = [case for case in cases if case.kind is CaseKind.CONTEXT and case.status is CaseStatus.ACTIVE]
    return {
        "a": [row_a(case) for case in results],
        "b": [row_b(case) for case in results],
        "left_out": [],
        "versions": {case.id: case.version for case in results},
    }


def rows_of_cases(cases: Iterable[Case]) -> dict[str, Any]:
    """Validated, complete cases as rows of A and B; every other context case with what it lacks."""
    rows: dict[str, Any] = {"a": [], "b": [], "left_out": [], "versions": {}}
    for case in cases:
        if case.kind is not CaseKind.CONTEXT:
            continue
        lacks = list(case.missing()) or ([] if case.review is ReviewState.VALIDATED else ["validation"])
        if lacks:
            rows["left_out"].append({"id": case.id, "lacks": lacks})
        else:
            rows["a"].append(row_a(case))
            rows["b"].append(row_b(case))
            rows["versions"][case.id] = case.version
    return rows
