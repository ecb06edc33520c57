"""Flows into cases: splitting, golden parts, ranking, and the database underneath."""

from pathlib import Path

import pytest

from evergold.extract.flow_cases import Rules, resolve_inside
from evergold.extract.golden import Extracted
from evergold.extract.ranges import HunkContext, Side
from evergold.extract.run import extract_cases
from evergold.model.faults import Rejected
from evergold.sources.sidekick import SidekickSource
from tests.repos import GitRepo, numbered
from tests.rows import each_row
from tests.sidekick_db import SidekickDb

DIFF = "diff --git a/{0} b/{0}\nindex 1111111..2222222 100644\n--- a/{0}\n+++ b/{0}\n@@ -3 +3 @@\n-old\n+new\n"


@pytest.fixture
def db(tmp_path: Path) -> SidekickDb:
    made = SidekickDb(tmp_path / "db")
    made.task()
    made.flow()
    return made


def cases(db: SidekickDb, **rules: object) -> list[Extracted]:
    found = list(extract_cases(SidekickSource("ws", db.path), rules=Rules(**rules)))  # type: ignore[arg-type]
    assert not [item for item in found if isinstance(item, Rejected)]
    return [item for item in found if isinstance(item, Extracted)]


def paths(item: Extracted) -> list[tuple[str, tuple[str, ...]]]:
    return [(path.path, path.sources) for path in item.case.paths]


def ranges(item: Extracted) -> list[tuple[str, int, int, tuple[str, ...]]]:
    return [(found.path, found.start, found.end, found.sources) for found in item.case.ranges]


def test_golden_first_then_in_the_order_of_discovery_and_sources_add_up(db: SidekickDb) -> None:
    db.query("  ")
    db.query("Find it")
    db.query("Later one")
    db.action(
        "tool_call.read_file_lines",
        {"file_lines": [{"file_path": "util.go", "line_number": 5}], "window_size": 1},
        "File: util.go\nLines: 4-6\n```go\na\nb\nc\n```\n",
    )
    db.action(
        "tool_call.read_file_lines",
        {"file_lines": [{"file_path": "./main.go", "line_number": 3}], "window_size": 0},
        "File: util.go\nLines: 7-9\n```go\na\nb\nc\n```\n",
    )
    db.action("git_diff", result=DIFF.format("other.go"))
    end = db.approval(DIFF.format("main.go"))
    db.action("tool_call.read_file_lines", {"file_lines": [{"file_path": "late.go", "line_number": 5}]})
    (item,) = cases(db)
    assert (item.case.id, item.case.input, item.case.provenance.case_index) == (end, "Find it", 0)
    assert paths(item) == [
        ("main.go", ("review_merge_diff", "tool_call_args")),
        ("util.go", ("tool_call_args", "tool_call_result")),
        ("other.go", ("diff",)),
    ]
    assert ranges(item) == [
        ("main.go", 3, 3, ("golden_diff", "tool_call_args")),
        ("util.go", 4, 6, ("tool_call_args",)),
        ("util.go", 4, 9, ("tool_call_result",)),
    ]
    assert item.why_no_base == "no repository was given"


def test_only_approved_merges_close_a_case(db: SidekickDb) -> None:
    db.approval(DIFF.format("first.go"), approved=False)
    db.query("After the rejection")
    db.action("user_request.approve", result={"Approved": True})
    db.approval(DIFF.format("pending.go"), approved=None, action_status="started")
    db.approval(DIFF.format("broken.go"), action_status="failed")
    end = db.approval(DIFF.format("good.go"))
    (item,) = cases(db)
    assert (item.case.id, item.case.input) == (end, "After the rejection")
    assert paths(item)[0] == ("good.go", ("review_merge_diff",))
    assert {path for path, sources in paths(item) if sources == ("diff",)} == {"first.go", "pending.go", "broken.go"}
    assert len(cases(db, all_approvals=True)) == 4


def test_an_approval_with_its_diff_at_the_top_level(db: SidekickDb) -> None:
    db.action("user_request.approve.merge", {"diff": DIFF.format("a.go"), "sourceBranch": "x"}, {"Approved": True})
    assert paths(cases(db)[0]) == [("a.go", ("review_merge_diff",))]


def test_without_a_query_the_description_is_offered(db: SidekickDb) -> None:
    db.query(12)
    db.approval(DIFF.format("a.go"))
    (item,) = cases(db)
    assert (item.case.input, item.case.metadata["suggestedQuery"]) == ("", "Do it")
    assert "rankQuery" in item.why_no_query


def test_the_second_case_holds_what_it_added(db: SidekickDb) -> None:
    first, second = DIFF.format("a.go"), DIFF.format("b.go")
    db.approval(first)
    db.approval(first + second)
    db.approval(first + second + DIFF.format("c.go"), since=DIFF.format("c.go"))
    assert [paths(item)[0][0] for item in cases(db)] == ["a.go", "b.go", "c.go"]
    assert [len(item.case.ranges) for item in cases(db)] == [1, 1, 1]
    assert [item.case.provenance.case_index for item in cases(db)] == [0, 1, 2]


def test_a_cumulative_diff_of_one_file_leaves_the_new_hunk(db: SidekickDb, tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "repo")
    repo.commit({"f": numbered(60)})
    repo.write({"f": numbered(60, l5="five")})
    db.approval(repo.diff())
    repo.write({"f": numbered(60, l5="five", l7="seven", l40="forty")})
    db.approval(repo.diff())
    assert [ranges(item) for item in cases(db)] == [
        [("f", 5, 5, ("golden_diff",))],
        [("f", 7, 7, ("golden_diff",)), ("f", 40, 40, ("golden_diff",))],
    ]


def test_renames_deletions_and_new_files(db: SidekickDb, tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "repo")
    repo.commit({"old.py": numbered(20), "gone.py": numbered(3)})
    repo.commit({"old.py": None, "new.py": numbered(20, l4="four"), "gone.py": None, "fresh.py": "a\n"})
    db.approval(repo.diff("-M", "HEAD~1", "HEAD"))
    (item,) = cases(db)
    assert [path for path, _ in paths(item)] == ["fresh.py", "gone.py", "old.py", "new.py"]
    assert [path.extra["changeType"] for path in item.case.paths] == ["added", "deleted", "renamed", "renamed"]
    assert ranges(item) == [("gone.py", 1, 3, ("golden_diff",)), ("old.py", 4, 4, ("golden_diff",))]


def test_the_literal_reading_of_hunks(db: SidekickDb, tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "repo")
    repo.commit({"f": numbered(20)})
    repo.commit({"f": "new\n" + numbered(20, l10="ten")})
    db.approval(repo.diff("HEAD~1", "HEAD"))
    assert [r[1:3] for r in ranges(cases(db)[0])] == [(1, 1), (10, 10)]
    assert [r[1:3] for r in ranges(cases(db, context=HunkContext.KEEP)[0])] == [(1, 3), (7, 13)]
    assert [r[1:3] for r in ranges(cases(db, side=Side.HEAD, context=HunkContext.KEEP)[0])] == [(1, 4), (8, 14)]


def test_an_unreadable_diff_rejects_its_case_by_name_and_no_other(db: SidekickDb) -> None:
    db.flow("next")
    bad = db.approval(DIFF.format("a.go")[:-6])
    db.approval(DIFF.format("b.go"), flow_id="next")
    found = list(extract_cases(SidekickSource("ws", db.path)))
    assert isinstance(found[0], Rejected) and bad in found[0].where and "cut off" in found[0].reason
    assert isinstance(found[1], Extracted) and paths(found[1])[0][0] == "b.go"


def test_broken_rows_and_odd_diffs_are_reported(db: SidekickDb) -> None:
    db.action("x", b"{broken")
    db.action("x", result="text\ndiff --git a/f b/f\n--- a/f\n")
    db.action("tool_call.read_file_lines", {"file_lines": [{"file_path": "/etc/passwd", "line_number": 1}]})
    db.approval(DIFF.format("a.go"))
    rejected, item = extract_cases(SidekickSource("ws", db.path))
    assert isinstance(rejected, Rejected) and "action_params" in rejected.reason
    assert isinstance(item, Extracted)
    assert any("cannot be read" in remark for remark in item.remarks)
    assert "/etc/passwd lies outside the repository" in item.remarks


def test_evidence_is_what_the_review_page_shows(db: SidekickDb) -> None:
    db.action("tool_call.bulk_search_repository", {"searches": []}, "x" * 30_000)
    db.approval(DIFF.format("a.go"))
    evidence = cases(db, evidence=True)[0].evidence
    assert evidence is not None and evidence["diff"] == DIFF.format("a.go")
    assert evidence["tool_calls"][0]["name"] == "bulk_search_repository"
    assert evidence["tool_calls"][0]["result"].endswith("10000 more characters")


@each_row(
    ("path", "expected"),
    [
        ("./a/b", "a/b"),
        ("a/../b", "b"),
        ("/wt/x.go", "x.go"),
        ("/other/x", None),
        ("../x", None),
        ("a//b", "a/b"),
        (".", None),
    ],
)
def test_paths_are_relative_to_the_repository(path: str, expected: str | None) -> None:
    assert resolve_inside(path, "/wt") == expected
