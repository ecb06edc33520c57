"""Datasets A and B: context-retrieval cases as two JSONL files, file paths in one and line ranges in the other.

A case is one thing, so reading either file of a pair reads the other beside it too. The keys of a row are a contract (camelCase,
`needsQuery` and `needsBaseCommit` in unvalidated rows only, lists never null). More keys are allowed, and keys nobody here
knows survive being read and written.

Golden and prediction files of a retrieval benchmark are read without building cases: ten thousand rows of fifty ranges should
take a moment. Whatever cannot be used is counted and named with its line, never passed over.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import orjson

from evergold.errors import BadInput, Incomplete, NotFound
from evergold.formats.atomic import recover, write_chunks
from evergold.formats.lines import numbered_lines, one_case, record_in
from evergold.formats.parts import JoinedLines, Joining
from evergold.model.case import BOOKKEEPING, Case, CaseKind, LineRange, Provenance, ReviewState, is_blank
from evergold.model.faults import Rejected
from evergold.storage import find_matching

Row = dict[str, Any]

_NEEDS = ("needsQuery", "needsBaseCommit")
_SHARED = ("workspaceId", "taskId", "flowId", "caseId", "caseIndex", "query", "baseCommit", *_NEEDS)
_DESCRIBING = ("source", "repository", "tags", "metadata")
_METADATA = ("suggestedQuery", "baseVerified", "baseOverride")
_LISTS = ("filePaths", "lineRanges")
_KNOWN = frozenset((*_SHARED, *_DESCRIBING, *_METADATA, *_LISTS, "case"))
# Where both rows hold one unknown key with different values, the value of B stands under this key of `extra`.
_OF_B_ONLY = "lineRangesRow"
ORIGIN = ("source", "repository", "workspace_id", "task_id", "flow_id", "case_index")
# Fields of a case that a row has keys for, in either dataset.
HELD = BOOKKEEPING | {"id", "dataset", "kind", "input", "base_commit", "tags", "metadata", "extra", "provenance"}


def row_a(case: Case) -> Row:
    paths = [{"path": item.path, "sources": list(item.sources), **item.extra} for item in case.paths]
    return _shared_fields(case) | {"filePaths": paths} | _list_more(case, of_b=False)


def row_b(case: Case) -> Row:
    ranges = [_range_entry(item) for item in case.ranges]
    return _shared_fields(case) | {"lineRanges": ranges} | _list_more(case, of_b=True)


def case_of_rows(a: Row | None, b: Row | None) -> Case:
    """The case that a row of A, a row of B, or both together describe. Raises BadInput for a row that is neither."""
    # Both rows say the same of the case; where they differ, B is the later one of the pair.
    row = (a or {}) | (b or {})
    if is_blank(row.get("caseId")):
        raise BadInput("field caseId is missing or empty")
    for name in _LISTS:
        if not isinstance(row.get(name, []), list):
            raise BadInput(f"field {name} is {type(row[name]).__name__}, not a list")
    metadata = dict(row.get("metadata") or {}) | {name: row[name] for name in _METADATA if name in row}
    rest = dict(row.get("case") or {})
    origin = {
        "source": row.get("source") or "manual",
        "repository": row.get("repository"),
        "workspace_id": row.get("workspaceId") or None,
        "task_id": row.get("taskId") or None,
        "flow_id": row.get("flowId") or None,
        "case_index": row.get("caseIndex"),
    }
    return Case.model_validate(
        rest
        | {
            "id": row["caseId"],
            "dataset": rest.get("dataset", "context"),
            "kind": rest.get("kind", CaseKind.CONTEXT),
            # An open row may have no query yet: what is missing is said by `needsQuery`.
            "input": row.get("query") or "",
            "base_commit": row.get("baseCommit") or None,
            "paths": rest.get("paths", ()) if "filePaths" not in row else [_path(item) for item in row["filePaths"]],
            "ranges": rest.get("ranges", ())
            if "lineRanges" not in row
            else [_range(item) for item in row["lineRanges"]],
            "tags": row.get("tags") or (),
            "metadata": metadata,
            "extra": _list_unknown(a, b),
            "provenance": Provenance.model_validate(origin | (rest.get("provenance") or {})),
            # The `needs…` keys mark an unvalidated row by being there, whatever their value.
            "review": ReviewState.UNVALIDATED if any(name in row for name in _NEEDS) else ReviewState.VALIDATED,
        }
    )


def parse_row(line: bytes) -> Row:
    return _require_id(record_in(line))


def _require_id(row: Row) -> Row:
    if is_blank(row.get("caseId")) or not isinstance(row["caseId"], str):
        raise BadInput("field caseId is missing, empty or not a text")
    return row


def dump_row(row: Row) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _shared_fields(case: Case) -> Row:
    origin = case.provenance
    row: Row = {
        "workspaceId": origin.workspace_id or "",
        "taskId": origin.task_id or "",
        "flowId": origin.flow_id or "",
        "caseId": case.id,
        "caseIndex": origin.case_index or 0,
        "query": case.input,
        "baseCommit": case.base_commit or "",
    }
    if case.review is ReviewState.UNVALIDATED:
        row |= {"needsQuery": is_blank(case.input), "needsBaseCommit": is_blank(case.base_commit)}
    return row


def _list_more(case: Case, of_b: bool) -> Row:
    """Keys beyond the contract, only where there is something to say."""
    extra = {name: value for name, value in case.extra.items() if name != _OF_B_ONLY}
    if of_b:
        extra |= case.extra.get(_OF_B_ONLY, {})
    metadata = {name: value for name, value in case.metadata.items() if name not in _METADATA}
    fields = {
        "source": case.provenance.source if case.provenance.source != "manual" else None,
        "repository": case.provenance.repository,
        "tags": list(case.tags) or None,
        "metadata": metadata or None,
    }
    named = {name: case.metadata[name] for name in _METADATA if name in case.metadata}
    return named | {name: value for name, value in fields.items() if value is not None} | extra


def _list_unknown(a: Row | None, b: Row | None) -> Row:
    """Keys nobody here knows. Where the two rows disagree, the second row's own value is kept apart."""
    of_a = {name: value for name, value in (a or {}).items() if name not in _KNOWN}
    of_b = {name: value for name, value in (b or {}).items() if name not in _KNOWN}
    apart = {name: value for name, value in of_b.items() if name in of_a and of_a[name] != value}
    return of_b | of_a | ({_OF_B_ONLY: apart} if apart else {})


def _range_entry(item: LineRange) -> Row:
    proof = {"blobSha": item.blob, "textHash": item.text_hash}
    return {
        "path": item.path,
        "startLine": item.start,
        "endLine": item.end,
        "sources": list(item.sources),
        **{name: value for name, value in proof.items() if value is not None},
        **item.extra,
    }


def _path(entry: Row) -> Row:
    extra = {name: value for name, value in entry.items() if name not in ("path", "sources")}
    return {"path": entry["path"], "sources": entry.get("sources") or (), "extra": extra}


def _range(entry: Row) -> Row:
    known = ("path", "startLine", "endLine", "sources", "blobSha", "textHash")
    return {
        "path": entry["path"],
        "start": entry["startLine"],
        "end": entry["endLine"],
        "sources": entry.get("sources") or (),
        "blob": entry.get("blobSha"),
        "text_hash": entry.get("textHash"),
        "extra": {name: value for name, value in entry.items() if name not in known},
    }


FILE_A = "dataset_a_file_paths"
FILE_B = "dataset_b_line_ranges"
UNVALIDATED = "unvalidated.jsonl"


def read_rows(path: Path, problems: list[tuple[int, str]] | None = None) -> Iterator[tuple[int, Row]]:
    """(line number, row). A line that is no JSON object raises BadInput, or is noted in `problems` and passed over."""
    for number, line in numbered_lines(path):
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
            where = path.parent / item.where
            raise BadInput(f"{item.model_copy(update={'where': str(where)})}; mend or remove the line")
        yield item


def cases_or_reasons(path: Path) -> Iterator[Case | Rejected]:
    """The cases of a file, and for each line that is none the reason."""
    sibling = sibling_of(path)
    recover(path.parent)
    # All of the sibling is held in memory: its rows may stand in another order.
    others = {row["caseId"]: row for _, row in read_rows(sibling)} if sibling else {}
    for number, line in numbered_lines(path):
        yield one_case(line, f"{path.name}:{number}", partial(_complete, others))


def _complete(others: dict[str, Row], row: Row) -> Case:
    """The case of a row and the row of the same case in the other file."""
    other = others.get(_require_id(row)["caseId"])
    return case_of_rows(row, other) if "filePaths" in row else case_of_rows(other, row)


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
    row: Callable[[Case], Row]

    def accepts(self, head: bytes) -> bool:
        first = head.split(b"\n", 1)[0]
        return b'"caseId"' in first and f'"{self.list_name}"'.encode() in first

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        """Validated cases get rows without `needs…`; one that lacks something is refused, and leaves the old file as it was."""
        return write_chunks(path, map(self._line, cases))

    def _line(self, case: Case) -> bytes:
        if case.review is ReviewState.VALIDATED and (lacking := case.list_missing()):
            raise Incomplete(f"case {case.id!r} lacks {', '.join(lacking)}; a validated row cannot do without")
        row, rest = self.row(case), self.carry_rest(case)
        return dump_row(row | {"case": rest} if rest else row)

    def carry_rest(self, case: Case) -> Row:
        """What a row of this dataset has no key for: it travels under `case`, and is nothing for most cases."""
        ours = "paths" if self.list_name == "filePaths" else "ranges"
        rest = case.model_dump(mode="json", exclude={*HELD, ours}, exclude_defaults=True)
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
    row = staticmethod(row_a)


class DatasetB(_Dataset):
    list_name: ClassVar[str] = "lineRanges"
    row = staticmethod(row_b)


Range = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What was retrieved, best first. `has_lines` is false for a prediction of paths only."""

    case_id: str
    ranges: Sequence[Range] = ()
    paths: Sequence[str] = ()
    has_lines: bool = True
    abstained: bool = False

    @property
    def files(self) -> list[str]:
        """The files in the order of their first mention."""
        # Ranges come first: a range names its file at a definite rank.
        return list(dict.fromkeys([path for path, _, _ in self.ranges]) | dict.fromkeys(self.paths))


@dataclass
class Predictions:
    """Rows by case id; `duplicates` and `problems` are what the report must show."""

    rows: dict[str, Prediction] = field(default_factory=dict)
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
        unreadable: list[tuple[int, str]] = []
        for number, row in read_rows(file, unreadable):
            where, case_id = f"{file.name}:{number}", row["caseId"]
            if case_id in predictions.rows:
                # The first counts, so that appending to a file cannot improve a score.
                predictions.duplicates.append(case_id)
                again = f"{where}: case {case_id!r} is predicted twice; the first prediction counts"
                predictions.problems.append(again)
            else:
                predictions.rows[case_id] = _prediction(row, where, predictions.problems)
        predictions.problems += [f"{file.name}:{number}: {reason}" for number, reason in unreadable]
    usable = any(row.ranges or row.paths or row.abstained for row in predictions.rows.values())
    # Every line is wrong in the same way: most likely the file is of another shape.
    if predictions.problems and not usable:
        raise BadInput(
            f"{path}: no prediction can be read; {predictions.problems[0]}; a line is "
            '{"caseId", "ranges": [{"path", "startLine", "endLine"}]} or {"caseId", "paths": […]}'
        )
    return predictions


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


def _prediction(row: Row, where: str, problems: list[str]) -> Prediction:
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
    return Prediction(row["caseId"], ranges, named, entries is not None, abstained)


def _files(path: Path) -> list[Path]:
    """The file, or those that a glob matches."""
    files = find_matching(path)
    for file in files:
        if not file.is_file():
            raise NotFound(f"no file {str(file)!r}")
    return files
