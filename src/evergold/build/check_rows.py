"""Check validated rows of dataset A and B by the rules of the validator's export."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evergold.build.manifest import BuildFinding, Report
from evergold.errors import BadInput
from evergold.formats.dataset_ab import read_rows, sibling_of

NEEDS = ("needsQuery", "needsBaseCommit")
COMMIT = re.compile(r"[0-9a-f]{7,64}", re.IGNORECASE)


def row_faults(row: dict[str, Any]) -> Iterator[str]:
    """Every fault of a row, each naming its field."""
    for name in NEEDS:
        if name in row:
            yield f"{name} is present: the row is not validated"
    if not _is_text(row.get("query")):
        yield "query is empty"
    # Abbreviated hashes are allowed from seven digits, git's own minimum for display.
    if not isinstance(row.get("baseCommit"), str) or not COMMIT.fullmatch(row["baseCommit"]):
        yield "baseCommit is not a commit hash (7 to 64 hex digits)"
    lists = [name for name in ("filePaths", "lineRanges") if name in row]
    if len(lists) != 1:
        yield "a row has filePaths (dataset A) or lineRanges (dataset B)"
        return
    entries = row[lists[0]]
    if not isinstance(entries, list):
        yield f"{lists[0]} is not a list"
        return
    if not entries and lists[0] == "filePaths":
        yield "filePaths is empty"
    for number, entry in enumerate(entries):
        yield from (f"{lists[0]}[{number}] {fault}" for fault in _entry_faults(entry, lists[0]))


def _entry_faults(entry: Any, name: str) -> Iterator[str]:
    if not isinstance(entry, dict):
        yield "is not an object"
        return
    path = entry.get("path")
    if not isinstance(path, str) or not path.strip() or path.startswith("/") or ".." in path.split("/"):
        yield f"has no path inside the repository: {path!r}"
    sources = entry.get("sources")
    if not isinstance(sources, list) or not sources or not all(_is_text(source) for source in sources):
        yield "has no sources"
    if name == "lineRanges":
        start, end = entry.get("startLine"), entry.get("endLine")
        # `True` is an integer in Python, hence the exact type.
        if type(start) is not int or type(end) is not int or not 1 <= start <= end:
            yield f"has lines {start!r} to {end!r}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.strip() != ""


def check_validated_rows(path: Path) -> Report:
    """A validated file of either dataset, row by row, and its pairing with the other file where that stands beside it."""
    if not path.is_file():
        raise BadInput(f"no file {str(path)!r} to check")
    parsed, complete, unique = (
        BuildFinding(name, path.name) for name in ("rows are JSON", "rows are complete", "ids are unique")
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
    paired = BuildFinding("both datasets hold the same cases", path.name)
    if (sibling := sibling_of(path)) is None:
        paired.skip("the other file of the pair is not beside this one")
    else:
        for case_id in sorted(seen.keys() ^ {row["caseId"] for _, row in read_rows(sibling, [])}):
            paired.fail(f"case {case_id} is only in {path.name if case_id in seen else sibling.name}")
    return Report(str(path), "rows", [parsed, complete, unique, paired])
