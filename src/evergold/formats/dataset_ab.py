"""Datasets A and B: context-retrieval cases as two JSONL files, file paths in one and line ranges in the other.

`formats/dataset_rows.py` has the rows themselves. A case is one thing, so reading either file of a pair reads the other
beside it too.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from evergold.errors import BadInput, Incomplete
from evergold.formats.atomic import FileSet, write_chunks
from evergold.formats.dataset_rows import HELD, ORIGIN, Row, case_of_rows, dump_row, parse_row, row_a, row_b
from evergold.formats.joining import JoinedLines, Joining
from evergold.formats.journal import recover
from evergold.formats.rows import open_rows
from evergold.model.case import Case, CaseKind, ReviewState
from evergold.model.faults import first_fault
from evergold.model.rejected import Rejected

FILE_A = "dataset_a_file_paths"
FILE_B = "dataset_b_line_ranges"
UNVALIDATED = "unvalidated.jsonl"


def read_rows(path: Path, problems: list[tuple[int, str]] | None = None) -> Iterator[tuple[int, Row]]:
    """(line number, row). A line that is no JSON object raises BadInput, or is noted in `problems` and passed over."""
    with open_rows(path) as handle:
        for number, line in enumerate(handle, 1):
            if not line.strip():
                continue
            try:
                yield number, parse_row(line)
            except BadInput as problem:
                if problems is None:
                    raise BadInput(f"{path}:{number}: {problem.message}; mend or remove the line") from problem
                problems.append((number, problem.message))


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of a file of either dataset, completed from its sibling. Raises BadInput at the first bad line."""
    for item in cases_or_reasons(path):
        if isinstance(item, Rejected):
            raise BadInput(f"{path.parent / item.where}: {item.reason}; mend or remove the line")
        yield item


def cases_or_reasons(path: Path) -> Iterator[Case | Rejected]:
    """The cases of a file, and for each line that is none the reason."""
    sibling = sibling_of(path)
    recover(path.parent)
    # All of the sibling is held in memory: its rows may stand in another order.
    others = {row["caseId"]: row for _, row in read_rows(sibling)} if sibling else {}
    with open_rows(path) as handle:
        for number, line in enumerate(handle, 1):
            if line.strip():
                yield _case_or_reason(line, others, f"{path.name}:{number}")


def _case_or_reason(line: bytes, others: dict[str, Row], where: str) -> Case | Rejected:
    try:
        row = parse_row(line)
        other = others.get(row["caseId"])
        return case_of_rows(row, other) if "filePaths" in row else case_of_rows(other, row)
    except (BadInput, ValidationError, TypeError, KeyError, AttributeError, ValueError) as problem:
        return Rejected(where=where, reason=_first_reason(problem))


def sibling_of(path: Path) -> Path | None:
    """The other file of the pair, if it stands beside this one."""
    for one, other in ((FILE_A, FILE_B), (FILE_B, FILE_A)):
        if path.name.startswith(one):
            beside = path.with_name(path.name.replace(one, other, 1))
            return beside if beside.is_file() else None
    return None


def read_dataset_a(path: Path | str) -> list[Case]:
    return list(read_cases(Path(path)))


def read_dataset_b(path: Path | str) -> list[Case]:
    return list(read_cases(Path(path)))


def write_dataset_a(path: Path | str, cases: Iterable[Case]) -> int:
    """Replace the file by one row of paths per case; returns how many."""
    return write_chunks(path, (dump_row(row_a(case)) for case in cases))


def write_dataset_b(path: Path | str, cases: Iterable[Case]) -> int:
    """Replace the file by one row of line ranges per case; returns how many."""
    return write_chunks(path, (dump_row(row_b(case)) for case in cases))


class _Dataset:
    """What the two formats share; each names its list and the function that makes its row."""

    suffix: ClassVar[str] = ".jsonl"
    joining: ClassVar[Joining] = JoinedLines
    list_name: ClassVar[str]

    def accepts(self, head: bytes) -> bool:
        first = head.split(b"\n", 1)[0]
        return b'"caseId"' in first and f'"{self.list_name}"'.encode() in first

    def row(self, case: Case) -> Row:
        raise NotImplementedError

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        """Validated cases get rows without `needs…`; one that lacks something is refused."""
        count = 0
        with FileSet() as files:
            out = files.open(path)
            for case in cases:
                if case.review is ReviewState.VALIDATED and (lacking := case.missing()):
                    # FileSet removes the temporary file: a refused case leaves the old file as it was.
                    raise Incomplete(f"case {case.id!r} lacks {', '.join(lacking)}; a validated row cannot do without")
                row, rest = self.row(case), self.rest(case)
                out.write(dump_row(row | {"case": rest} if rest else row))
                count += 1
        return count

    def rest(self, case: Case) -> Row:
        """What a row of this dataset has no key for: it travels under `case`, and is nothing for most cases."""
        other = "ranges" if self.list_name == "filePaths" else "paths"
        rest = case.model_dump(mode="json", exclude=set(HELD) - {other}, exclude_defaults=True)
        origin = case.provenance.model_dump(mode="json", exclude=set(ORIGIN), exclude_defaults=True)
        # A row has `caseIndex` 0 for "none", so None itself must be carried.
        if case.provenance.case_index is None:
            origin["case_index"] = None
        fields = {"dataset": case.dataset, "kind": case.kind, "provenance": origin}
        usual = {"dataset": "context", "kind": CaseKind.CONTEXT, "provenance": {}}
        return rest | {name: value for name, value in fields.items() if value != usual[name]}

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        return cases_or_reasons(path)


class DatasetA(_Dataset):
    list_name: ClassVar[str] = "filePaths"

    def row(self, case: Case) -> Row:
        return row_a(case)


class DatasetB(_Dataset):
    list_name: ClassVar[str] = "lineRanges"

    def row(self, case: Case) -> Row:
        return row_b(case)


def _first_reason(problem: Exception) -> str:
    if isinstance(problem, ValidationError):
        return f"field {first_fault(problem, Case)}"
    if isinstance(problem, KeyError):
        return f"field {problem} is missing"
    if isinstance(problem, BadInput):
        return problem.message
    return f"a value is not of the kind this format has there ({problem})"
