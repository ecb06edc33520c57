"""Datasets A and B: the keys of the contract, nothing lost, and the pair in one piece."""

from pathlib import Path
from typing import Any

import pytest

from evergold.errors import BadInput, Incomplete
from evergold.formats.dataset_ab import DatasetA, DatasetB, case_of_rows, dump_row, read_cases, row_a, row_b
from evergold.model.case import Case, CaseKind, LineRange, Provenance, RankedPath, ReviewState
from evergold.model.faults import Rejected

SEED_A: dict[str, Any] = {
    "workspaceId": "ws-123",
    "taskId": "task-456",
    "flowId": "flow-789",
    "caseId": "action-1",
    "caseIndex": 0,
    "query": "Implement feature X with tests",
    "baseCommit": "abc123def456",
    "needsQuery": False,
    "needsBaseCommit": False,
    "filePaths": [
        {"path": "pkg/feature.go", "sources": ["review_merge_diff"]},
        {"path": "pkg/util.go", "sources": ["tool_call_args", "tool_call_result"]},
    ],
}
SEED_B: dict[str, Any] = {name: value for name, value in SEED_A.items() if name != "filePaths"} | {
    "lineRanges": [{"path": "pkg/feature.go", "startLine": 10, "endLine": 25, "sources": ["golden_diff"]}]
}


def a_context_case(**more: Any) -> Case:
    fields: dict[str, Any] = {
        "id": "c1",
        "dataset": "context",
        "kind": CaseKind.CONTEXT,
        "input": "Fix it",
        "base_commit": "f" * 40,
        "paths": (RankedPath(path="a.py", sources=("review_merge_diff",), extra={"changeType": "modified"}),),
        "ranges": (
            LineRange(path="a.py", start=3, end=4, sources=("golden_diff",), blob="b" * 40, text_hash="sha256:x"),
        ),
        "metadata": {"baseVerified": True, "suggestedQuery": "s", "issues": ["12"]},
        "extra": {"mood": "good"},
        "tags": ("slow",),
        "provenance": Provenance(
            source="git", repository="r", workspace_id="w", task_id="t", flow_id="f", case_index=2
        ),
    }
    return Case(**(fields | more))


def test_rows_of_the_seed_come_back_key_by_key() -> None:
    case = case_of_rows(SEED_A, SEED_B)
    assert list(row_a(case).items()) == list(SEED_A.items())
    assert list(row_b(case).items()) == list(SEED_B.items())


def test_a_case_survives_the_pair_and_either_file(tmp_path: Path) -> None:
    case = a_context_case()
    assert case_of_rows(row_a(case), row_b(case)) == case
    for dataset in (DatasetA(), DatasetB()):
        path = tmp_path / f"{dataset.list_name}.jsonl"
        assert dataset.write([case], path) == 1
        assert dataset.accepts(path.read_bytes())
        assert list(dataset.read(path)) == [case]


def test_a_case_of_another_kind_survives_too(tmp_path: Path) -> None:
    case = Case(id="x", input="q", expected="e", output="o", review=ReviewState.UNVALIDATED)
    DatasetA().write([case], tmp_path / "a.jsonl")
    assert list(DatasetA().read(tmp_path / "a.jsonl")) == [case]


def test_unknown_keys_survive_also_where_the_rows_disagree() -> None:
    a, b = SEED_A | {"mood": "good", "both": 1}, SEED_B | {"mood": "bad", "both": 1}
    case = case_of_rows(a, b)
    assert (row_a(case)["mood"], row_b(case)["mood"], row_b(case)["both"]) == ("good", "bad", 1)
    entry = SEED_B["lineRanges"][0] | {"note": "x", "blobSha": "f" * 40}
    assert row_b(case_of_rows(None, SEED_B | {"lineRanges": [entry]}))["lineRanges"] == [entry]


def test_open_rows_say_what_they_need_and_validated_ones_need_nothing(tmp_path: Path) -> None:
    open_case = a_context_case(input="", base_commit=None, paths=(), ranges=())
    row = row_a(open_case)
    assert (row["query"], row["baseCommit"], row["needsQuery"], row["needsBaseCommit"], row["filePaths"]) == (
        "",
        "",
        True,
        True,
        [],
    )
    validated = a_context_case(review=ReviewState.VALIDATED)
    assert "needsQuery" not in row_a(validated) and "needsBaseCommit" not in row_b(validated)
    assert case_of_rows(row_a(validated), row_b(validated)) == validated
    with pytest.raises(Incomplete, match="lacks input, base_commit, paths"):
        DatasetA().write([open_case.model_copy(update={"review": ReviewState.VALIDATED})], tmp_path / "x.jsonl")
    assert not (tmp_path / "x.jsonl").exists()


def test_either_file_of_a_pair_reads_both(tmp_path: Path) -> None:
    (tmp_path / "dataset_a_file_paths.unvalidated.jsonl").write_bytes(dump_row(SEED_A))
    path = tmp_path / "dataset_b_line_ranges.unvalidated.jsonl"
    path.write_bytes(dump_row(SEED_B))
    (case,) = read_cases(path)
    assert (len(case.paths), len(case.ranges)) == (2, 1)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{broken", "not JSON"),
        (b"[1]", "expected an object, got list"),
        (b'{"caseId": ""}', "field caseId"),
        (b'{"caseId": "x", "filePaths": "y"}', "filePaths is str, not a list"),
        (
            b'{"caseId": "x", "lineRanges": [{"path": "y", "startLine": 5, "endLine": 2}]}',
            "endLine 2 is before startLine 5",
        ),
        (
            b'{"caseId": "x", "lineRanges": [{"path": "y", "startLine": 0, "endLine": 2}]}',
            "is 0; at least 1 is allowed",
        ),
        (b'{"caseId": "x", "lineRanges": [{"path": "y"}]}', "startLine' is missing"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(dump_row(SEED_A) + line + b"\n")
    with pytest.raises(BadInput, match=rf"rows\.jsonl:2: .*{reason}"):
        list(read_cases(path))
    good, bad = DatasetA().read(path)
    assert isinstance(good, Case) and isinstance(bad, Rejected) and bad.where == "rows.jsonl:2"
