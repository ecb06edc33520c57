"""Rows of dataset A and B: checked as files, taken into the store without losing edits, given out again."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evergold.cli import invoke as run
from evergold.model.case import ReviewState
from evergold.model.review import CaseKey, Decision, Edit, ReviewVerdict
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.e2e.review_data import jsonl, row_a, row_b

CASE_0 = CaseKey(dataset="context", id="case-0000")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(Settings(home=tmp_path / "home")) as opened:
        yield opened


def validated(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not name.startswith("needs")}


def written(folder: Path, rows_a: list[dict[str, Any]], rows_b: list[dict[str, Any]]) -> Path:
    (folder / "dataset_b_line_ranges.validated.jsonl").write_text(jsonl(rows_b))
    path = folder / "dataset_a_file_paths.validated.jsonl"
    path.write_text(jsonl(rows_a))
    return path


def test_a_good_pair_passes_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, [validated(row_a(0))], [validated(row_b(0))])
    assert run(["check", str(path)]) == 0
    assert "rows are complete" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"query": " "}, "query is empty"),
        ({"baseCommit": "main"}, "baseCommit is not a commit hash"),
        ({"needsQuery": False}, "needsQuery is present"),
        ({"filePaths": None}, "filePaths is not a list"),
        ({"filePaths": []}, "filePaths is empty"),
        ({"filePaths": [{"path": "../x", "sources": ["manual"]}]}, "filePaths[0] has no path inside the repository"),
        ({"filePaths": [{"path": "x", "sources": []}]}, "filePaths[0] has no sources"),
        ({"lineRanges": []}, "filePaths (dataset A) or lineRanges (dataset B)"),
    ],
)
def test_a_bad_row_is_named_by_line_and_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], fault: str
) -> None:
    path = written(
        tmp_path, [validated(row_a(0)), validated(row_a(1)) | change], [validated(row_b(0)), validated(row_b(1))]
    )
    assert run(["check", str(path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    examples = [text for check in found["checks"] for text in check["examples"]]
    assert any(fault in text and "line 2" in text for text in examples)


def test_a_half_pair_fails_the_check(tmp_path: Path) -> None:
    assert run(["check", str(written(tmp_path, [validated(row_a(0))], []))]) == 1


def test_rows_come_in_once_and_edited_cases_are_kept(workspace: Workspace) -> None:
    rows = [row_a(0), row_b(0), row_a(1), row_b(1)]
    review = workspace.review
    assert review.take_rows(rows, "ana", "context", False).added == 2
    assert review.take_rows(rows, "ana", "context", False).unchanged == 2
    review.edit(CASE_0, Edit(version=1, changes={"input": "mine"}), "ana")
    again = [row_a(0, query="theirs"), row_b(0, query="theirs"), row_a(1, query="theirs"), row_b(1, query="theirs")]
    taken = review.take_rows(again, "ana", "context", False)
    assert (taken.changed, taken.kept) == (1, ["case-0000"])
    assert workspace.cases.get("context", "case-0000").input == "mine"
    assert review.take_rows(again, "ana", "context", True).changed == 1


def test_bad_rows_are_named_and_good_ones_taken(workspace: Workspace) -> None:
    rows = [row_a(0), row_a(0), {"caseId": "x"}, row_a(2, filePaths="a.go"), row_b(3)]
    taken = workspace.review.take_rows(rows, "ana", "context", False)
    assert taken.added == 2
    assert len(taken.problems) == 3


def test_validated_rows_are_given_out_and_the_rest_listed(workspace: Workspace) -> None:
    review = workspace.review
    review.take_rows([row_a(0), row_b(0), row_a(1, baseCommit=""), row_b(1, baseCommit="")], "ana", "context", False)
    assert review.give_rows("context")["left_out"] == [
        {"id": "case-0000", "lacks": ["validation"]},
        {"id": "case-0001", "lacks": ["base_commit"]},
    ]
    review.decide(CASE_0, Decision(version=1, verdict=ReviewVerdict.APPROVE), "ana")
    given = review.give_rows("context")
    assert [row["caseId"] for row in given["a"]] == ["case-0000"]
    assert "needsQuery" not in given["a"][0]
    assert given["b"][0]["lineRanges"] == row_b(0)["lineRanges"]


def test_a_session_goes_on_editing_what_it_sent(workspace: Workspace) -> None:
    review = workspace.review
    first = review.take_rows([row_a(0), row_b(0)], "ana", "context")
    edited = [row_a(0, query="better"), row_b(0, query="better")]
    second = review.take_rows(edited, "ana", "context", seen=first.versions)
    third = review.take_rows([row_a(0, query="best"), row_b(0, query="best")], "ana", "context", seen=second.versions)
    assert (second.changed, third.changed, third.kept) == (1, 1, [])
    assert [entry.what for entry in review.case(CASE_0).history] == ["imported", "edited", "edited"]


def test_what_a_colleague_changed_meanwhile_is_kept_and_named(workspace: Workspace) -> None:
    review = workspace.review
    sent = review.take_rows([row_a(0), row_b(0)], "ana", "context")
    review.edit(CASE_0, Edit(version=1, changes={"input": "ben's"}), "ben")
    mine = [row_a(0, query="ana's"), row_b(0, query="ana's")]
    assert review.take_rows(mine, "ana", "context", seen=sent.versions).kept == ["case-0000"]
    assert workspace.cases.get("context", "case-0000").input == "ben's"
    assert review.take_rows(mine, "ana", "context", replace=True, seen=sent.versions).changed == 1


def test_a_validated_row_is_its_sender_s_approval_and_an_edit_takes_it_back(workspace: Workspace) -> None:
    review = workspace.review
    sent = review.take_rows([validated(row_a(0)), validated(row_b(0))], "ana", "context")
    assert [(word.reviewer, word.verdict) for word in review.case(CASE_0).opinions] == [("ana", ReviewVerdict.APPROVE)]
    assert workspace.cases.get("context", "case-0000").review is ReviewState.VALIDATED
    again = review.take_rows([validated(row_a(0)), validated(row_b(0))], "ana", "context", seen=sent.versions)
    assert again.unchanged == 1
    review.take_rows([row_a(0), row_b(0)], "ana", "context", seen=again.versions)
    assert workspace.cases.get("context", "case-0000").review is ReviewState.UNVALIDATED


def test_a_session_opens_elsewhere_with_every_row_and_its_version(workspace: Workspace) -> None:
    review = workspace.review
    review.take_rows([validated(row_a(0)), validated(row_b(0)), row_a(1), row_b(1)], "ana", "context")
    given = review.give_rows("context", unvalidated=True)
    assert [("needsQuery" in row) for row in given["a"]] == [False, True]
    assert given["versions"].keys() == {"case-0000", "case-0001"}
