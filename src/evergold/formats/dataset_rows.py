"""Rows of the datasets A and B: one case as a row of file paths and a row of line ranges, and back.

The keys are a contract (camelCase, `needsQuery` and `needsBaseCommit` in unvalidated rows only, lists never null). More keys are
allowed, and keys nobody here knows survive being read and written.
"""

from typing import Any

import orjson

from evergold.errors import BadInput
from evergold.formats.lines import record_in
from evergold.model.case import BOOKKEEPING, Case, CaseKind, LineRange, Provenance, RankedPath, ReviewState, is_blank

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
HELD = BOOKKEEPING | {
    "id",
    "dataset",
    "kind",
    "input",
    "base_commit",
    "paths",
    "ranges",
    "tags",
    "metadata",
    "extra",
    "provenance",
}


def row_a(case: Case) -> Row:
    return _shared(case) | {"filePaths": [_path_entry(item) for item in case.paths]} | _more(case, of_b=False)


def row_b(case: Case) -> Row:
    return _shared(case) | {"lineRanges": [_range_entry(item) for item in case.ranges]} | _more(case, of_b=True)


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
            "extra": _unknown(a, b),
            "provenance": _provenance(row, rest),
            # The `needs…` keys mark an unvalidated row by being there, whatever their value.
            "review": ReviewState.UNVALIDATED if any(name in row for name in _NEEDS) else ReviewState.VALIDATED,
        }
    )


def parse_row(line: bytes) -> Row:
    row = record_in(line)
    if is_blank(row.get("caseId")) or not isinstance(row["caseId"], str):
        raise BadInput("field caseId is missing, empty or not a text")
    return row


def dump_row(row: Row) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _shared(case: Case) -> Row:
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


def _more(case: Case, of_b: bool) -> Row:
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


def _unknown(a: Row | None, b: Row | None) -> Row:
    """Keys nobody here knows. Where the two rows disagree, the second row's own value is kept apart."""
    of_a = {name: value for name, value in (a or {}).items() if name not in _KNOWN}
    of_b = {name: value for name, value in (b or {}).items() if name not in _KNOWN}
    apart = {name: value for name, value in of_b.items() if name in of_a and of_a[name] != value}
    return of_b | of_a | ({_OF_B_ONLY: apart} if apart else {})


def _provenance(row: Row, rest: Row) -> Provenance:
    return Provenance.model_validate(
        {
            "source": row.get("source") or "manual",
            "repository": row.get("repository"),
            "workspace_id": row.get("workspaceId") or None,
            "task_id": row.get("taskId") or None,
            "flow_id": row.get("flowId") or None,
            "case_index": row.get("caseIndex"),
        }
        | (rest.get("provenance") or {})
    )


def _path_entry(item: RankedPath) -> Row:
    return {"path": item.path, "sources": list(item.sources), **item.extra}


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
