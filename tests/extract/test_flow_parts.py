"""The parts of a flow: approvals, segments, the golden diff of a later case, rankings and rules over paths."""

import itertools
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.errors import BadInput
from evergold.extract.agents.session import Checkouts
from evergold.extract.diff import ChangeType, FileDiff, Hunk, parse_diff, runs
from evergold.extract.flow_cases import RESULT_LIMIT, call_of, seen_in_result, shorten
from evergold.extract.golden import (
    FileStep,
    change_of,
    golden_of,
    is_merge_approval,
    read_approval,
    remove_known,
    split,
    steps_between,
    steps_of,
)
from evergold.extract.history import HistoryRules, counted_files
from evergold.extract.messages import is_revert, read_message
from evergold.extract.proof import Candidate, candidates
from evergold.extract.ranges import PathRanking, PathSource, RangeRanking, RangeSource, paths_of
from evergold.model.flow import Action, Flow
from evergold.repo.git import ChangeIndex, PathChange, split_lines
from tests.rows import each_row

MOMENT = datetime(2026, 1, 2, tzinfo=UTC)


def an_approval(id: str, approved: Any = True, diff: str = "", since: str = "", **more: Any) -> Action:
    info = {"diff": diff, "diffSinceLastReview": since, "sourceBranch": "feat", "defaultTargetBranch": "main"}
    result = json.dumps({"Approved": approved, **more.pop("answer", {})})
    fields = {"params": {"mergeApprovalInfo": info}, "result": result, "created": MOMENT, **more}
    return Action(**{"id": id, "type": "user_request.approve.merge", **fields})


def a_step(id: str) -> Action:
    return Action(id=id, type="tool_call.read", created=MOMENT)


def a_diff(path: str, *hunks: str, blobs: str = "1111111..2222222") -> str:
    return f"diff --git a/{path} b/{path}\nindex {blobs} 100644\n--- a/{path}\n+++ b/{path}\n" + "".join(hunks)


ONE = "@@ -1 +1 @@\n-a\n+b\n"
TWO = "@@ -9 +9 @@\n-x\n+y\n"


@each_row(
    ("answer", "status", "error", "approved"),
    [
        ('{"Approved": true}', "complete", False, True),
        ('{"approved": true}', "complete", False, True),
        ('{"Approved": "yes"}', "complete", False, False),
        ('{"Approved": true}', "pending", False, False),
        ('{"Approved": true}', "complete", True, False),
        ("[true]", "complete", False, False),
        ("approved", "complete", False, False),
        (None, "complete", False, False),
    ],
)
def test_only_a_clear_yes_to_a_complete_request_approves(
    answer: str | None, status: str, error: bool, approved: bool
) -> None:
    action = an_approval("m").model_copy(update={"result": answer, "status": status, "error": error})
    assert read_approval(action).approved is approved and is_merge_approval(action)


def test_the_branch_that_a_person_chose_beats_the_default() -> None:
    chosen = read_approval(an_approval("m", answer={"Params": {"targetBranch": "release"}}))
    assert (chosen.target_branch, chosen.source_branch) == ("release", "feat")
    assert read_approval(an_approval("m", answer={"Params": {"targetBranch": 5}})).target_branch == "main"


def test_what_is_not_in_the_block_is_looked_for_beside_it() -> None:
    action = an_approval("m").model_copy(update={"params": {"diff": "D", "sourceBranch": "s"}})
    approval = read_approval(action)
    assert (approval.diff, approval.source_branch, approval.target_branch) == ("D", "s", None)


def test_objects_named_in_the_answer_are_listed_once() -> None:
    answer = {"commit": "abcdef1", "merge": "abcdef1 0123456789", "short": "abc", "word": "deadbee"}
    assert read_approval(an_approval("m", answer=answer)).named_objects == ("abcdef1", "0123456789", "deadbee")


def test_a_flow_is_cut_at_its_approved_merges() -> None:
    actions = (a_step("a"), an_approval("no", False), a_step("b"), an_approval("yes"), a_step("c"), an_approval("also"))
    first, second = split(Flow(id="f", actions=(*actions, a_step("after"))))
    assert [action.id for action in first.actions] == ["a", "no", "b", "yes"] and first.case_id == "yes"
    assert [review.action_id for review in first.reviews] == ["no"] and first.earlier == ()
    assert [one.action_id for one in second.earlier] == ["yes"] and second.index == 1
    assert len(split(Flow(id="f", actions=actions), all_approvals=True)) == 3
    assert split(Flow(id="f", actions=(a_step("a"),))) == []


def test_a_later_case_has_what_came_since_the_merge_before() -> None:
    whole = a_diff("f", ONE, TWO)
    flow = Flow(id="f", actions=(an_approval("1", diff=a_diff("f", ONE)), an_approval("2", diff=whole)))
    first, second = (golden_of(change_of(segment)) for segment in split(flow))
    assert [hunk.old_start for file in first.files for hunk in file.hunks] == [1]
    assert [hunk.old_start for file in second.files for hunk in file.hunks] == [9]
    assert second.proof_text == whole and len(second.proof[0].hunks) == 2


@pytest.mark.parametrize(("between", "lines"), [((), [5]), ((an_approval("no", False),), [9])])
def test_the_recorded_difference_counts_where_no_review_came_between(
    between: tuple[Action, ...], lines: list[int]
) -> None:
    since = a_diff("f", "@@ -5 +5 @@\n-q\n+r\n")
    later = an_approval("2", diff=a_diff("f", ONE, TWO), since=since)
    flow = Flow(id="f", actions=(an_approval("1", diff=a_diff("f", ONE)), *between, later))
    golden = golden_of(change_of(split(flow)[1]))
    assert [hunk.old_start for file in golden.files for hunk in file.hunks] == lines


def test_a_file_that_did_not_change_again_is_left_out_and_a_new_mode_is_kept() -> None:
    earlier = parse_diff(a_diff("f", ONE) + a_diff("g", ONE))
    assert remove_known(parse_diff(a_diff("f", ONE)), earlier) == []
    mode = "diff --git a/g b/g\nold mode 100644\nnew mode 100755\nindex 1..2\n--- a/g\n+++ b/g\n" + ONE
    (kept,) = remove_known(parse_diff(mode), earlier)
    assert (kept.new_mode, kept.hunks) == ("100755", [])


@pytest.mark.parametrize(("blobs", "left"), [("0000000..2222222", 0), ("0000000..3333333", 1)])
def test_an_added_file_is_one_change_known_by_its_blob(blobs: str, left: int) -> None:
    def added(index: str) -> list[FileDiff]:
        head = f"diff --git a/n b/n\nnew file mode 100644\nindex {index}\n--- /dev/null\n+++ b/n\n"
        return parse_diff(head + "@@ -0,0 +1 @@\n+a\n")

    assert len(remove_known(added(blobs), added("0000000..2222222"))) == left


def test_a_hunk_is_parted_at_its_changes_with_a_line_around_each() -> None:
    hunk = parse_diff(
        a_diff("f", "@@ -1,7 +1,7 @@\n a\n-b\n+B\n c\n d\n e\n-f\n+F\n\\ No newline at end of file\n g\n")
    )[0].hunks[0]
    parts = hunk.split_changes()
    assert [(part.old_start, part.old_count, part.new_start, part.new_count) for part in parts] == [
        (1, 3, 1, 3),
        (5, 3, 5, 3),
    ]
    assert parts[1].body[-2] == b"\\ No newline at end of file"
    assert [change for part in parts for change in part.changes] == hunk.changes


def test_a_remark_before_the_first_line_of_a_hunk_belongs_to_none() -> None:
    hunk = Hunk(1, 1, 1, 1, b"-+", [b"\\ No newline at end of file", b"-a", b"+b"])
    (part,) = hunk.split_changes()
    assert part.body == [b"-a", b"+b"]


SIGNS = st.text("+- ", max_size=30).map(str.encode)


@given(SIGNS)
def test_runs_cover_every_changed_line_once(signs: bytes) -> None:
    results = runs(signs)
    covered = [at for start, removed, added in results for at in range(start, start + removed + added)]
    assert covered == [at for at, sign in enumerate(signs) if sign != 32]
    assert sum(removed for _, removed, _ in results) == signs.count(b"-")


@each_row("header", ["@@ -" + "9" * 5000 + " +1 @@", "@@ -1,x +1 @@", "@@ -1 +1"])
def test_a_hunk_header_that_no_file_has_is_refused_with_its_line(header: str) -> None:
    with pytest.raises(BadInput, match=r"line 5 of the diff: .*header"):
        parse_diff(a_diff("f", f"{header}\n-a\n+b\n"))


def test_steps_of_a_diff_name_blobs_on_both_sides() -> None:
    renamed = (
        "diff --git a/o b/n\nsimilarity index 90%\nrename from o\nrename to n\nindex 1..2 100644\n--- a/o\n+++ b/n\n"
        + ONE
    )
    deleted = "diff --git a/d b/d\ndeleted file mode 100644\nindex 3..0\n--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    assert steps_of(parse_diff(renamed + deleted + a_diff("f", ONE))) == [
        FileStep("o", "1", None),
        FileStep("n", None, "2"),
        FileStep("d", "3", None),
        FileStep("f", "1111111", "2222222"),
    ]


def test_steps_between_two_diffs_of_one_base() -> None:
    earlier = parse_diff(a_diff("same", ONE) + a_diff("again", ONE, blobs="1..2") + a_diff("undone", ONE, blobs="7..8"))
    later = parse_diff(a_diff("same", ONE) + a_diff("again", ONE, TWO, blobs="1..3") + a_diff("new", ONE, blobs="4..5"))
    assert steps_between(earlier, later) == [
        FileStep("again", "2", "3"),
        FileStep("new", "4", "5"),
        FileStep("undone", "8", "7"),
    ]
    assert steps_between(earlier, parse_diff("--- a/f\n+++ b/f\n" + ONE)) == []


def test_candidates_that_make_the_whole_change_come_first() -> None:
    changes = [
        ("f", PathChange("partly", "p1", "aa11", "cc33")),
        ("f", PathChange("wholly", "p2", "aa11", "bb22")),
        ("g", PathChange("wholly", "p2", "dd44", None)),
        ("h", PathChange("wholly", "p2", None, "ee55")),
        ("f", PathChange("root", None, "aa11", "bb22")),
    ]
    steps = [FileStep("f", "aa", "bb"), FileStep("g", "dd", None)]
    first, second = candidates(ChangeIndex(iter(changes)), steps)
    assert (first.commit, first.evidence) == ("p2", ("commit wholly makes this change and touches 1 other files",))
    assert (second.commit, second.evidence) == ("p1", ("commit partly replaces 1 of 2 old files",))


def test_a_change_that_only_adds_is_recognised_by_a_commit_that_makes_it() -> None:
    changes = [("f", PathChange("c1", "p1", None, "aa11")), ("f", PathChange("c2", "p2", None, "bb22"))]
    (only,) = candidates(ChangeIndex(iter(changes)), [FileStep("f", None, "bb")])
    assert only.commit == "p2" and only.evidence == ("commit c2 makes exactly this change",)
    assert Candidate("p", "c", made=1, replaced=2, steps=3).evidence == (
        "commit c makes 1 of 3 file changes",
        "commit c replaces 2 of 3 old files",
    )


def test_paths_keep_the_order_of_discovery_and_gain_sources() -> None:
    ranking = PathRanking()
    ranking.add_golden([FileDiff("old", "new", ChangeType.RENAMED), FileDiff(None, "added", ChangeType.ADDED)])
    ranking.add("read", PathSource.TOOL_CALL_ARGS)
    ranking.add("old", PathSource.TOOL_CALL_RESULT)
    ranking.add("old", PathSource.TOOL_CALL_RESULT)
    ranked = ranking.rank()
    assert [path.path for path in ranked] == ["old", "new", "added", "read"]
    assert ranked[0].sources == ("review_merge_diff", "tool_call_result")
    assert [path.extra.get("atBase") for path in ranked] == [None, False, False, None]
    assert paths_of(FileDiff("same", "same", ChangeType.MODIFIED)) == ["same"]


SPANS = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 5), st.sampled_from(list(RangeSource))), max_size=12)


@settings(deadline=None)
@given(SPANS)
def test_ranges_hold_the_same_lines_and_no_two_of_a_source_touch(spans: list[tuple[int, int, RangeSource]]) -> None:
    ranking = RangeRanking()
    for start, more, source in spans:
        ranking.add("f", start, start + more, source)
    ranked = ranking.rank()
    for source in RangeSource:
        given_lines = {line for start, more, of in spans if of is source for line in range(start, start + more + 1)}
        kept = sorted((one.start, one.end) for one in ranked if source in one.sources)
        assert {line for start, end in kept for line in range(start, end + 1)} == given_lines
        assert all(after[0] > before[1] + 1 for before, after in itertools.pairwise(kept))
    assert len({(one.start, one.end) for one in ranked}) == len(ranked)


@each_row(
    ("path", "excluded"),
    [
        ("src/app.py", False),
        ("vendor/lib.go", True),
        ("web/node_modules/x/index.js", True),
        ("uv.lock", True),
        ("web/package-lock.json", True),
        ("api/v1_pb2.py", True),
        ("src/distance.py", False),
        ("docs/dist.md", False),
    ],
)
def test_files_that_say_nothing_about_a_task(path: str, excluded: bool) -> None:
    assert HistoryRules().is_excluded(path) is excluded
    assert (counted_files([FileDiff("src/x.py", path, ChangeType.RENAMED)], HistoryRules()) == []) is excluded


@each_row(
    ("message", "revert"),
    [
        ('Revert "Add x"', True),
        ('Reapply "Add x"', True),
        ("revert: add x", True),
        ("Back out x\n\nThis reverts commit abc", True),
        ("Fix\n\nThis reverts commit abc", False),
        ("Reverting is hard", False),
        ("Irrevertible change", False),
    ],
)
def test_what_is_a_revert(message: str, revert: bool) -> None:
    assert is_revert(message) is revert


@each_row(
    ("text", "query", "issues", "trailers"),
    [
        ("Fix it (#12)\n\nBody GH-3", "Fix it\n\nBody", ("12", "3"), ()),
        ("Fix\n\nSigned-off-by: A\nFixes: x\n  more", "Fix", (), (("Signed-off-by", "A"), ("Fixes", "x more"))),
        ("fix: typo", "fix: typo", (), ()),
        ("Set the colours (related: #7)\n\nRelated #8", "Set the colours", ("7", "8"), ()),
        ("Merge branch 'x'", "", (), ()),
        ("Merge pull request #5 from a/b\n\nAdd search", "Add search", ("5",), ()),
        ("Fix &#12; and abc#13", "Fix &#12; and abc#13", (), ()),
        ("Fix\n\nNot a trailer\nA: b", "Fix\n\nNot a trailer\nA: b", (), ()),
        ("", "", (), ()),
    ],
)
def test_a_message_is_words_issues_and_trailers(text: str, query: str, issues: Any, trailers: Any) -> None:
    assert read_message(text)[:3] == (query, issues, trailers)


@given(st.binary(max_size=60).map(lambda data: data.replace(b"\x00", b"\n")))
def test_a_file_is_split_at_its_line_feeds_alone(content: bytes) -> None:
    lines = split_lines(content)
    assert b"".join(lines) == content and all(line.find(b"\n") == len(line) - 1 for line in lines[:-1])


def test_a_long_result_says_how_much_is_missing() -> None:
    assert shorten("x" * RESULT_LIMIT) == "x" * RESULT_LIMIT
    assert shorten("x" * (RESULT_LIMIT + 7)).endswith("\n… 7 more characters")
    call = call_of(Action(id="a", type="tool_call.read", created=MOMENT, error=True))
    assert call == {"id": "a", "name": "read", "arguments": {}, "result": "", "failed": True}


TRACKED = frozenset({"src/f.py", "src/g.py", "README.md", "docs/a.md"})


@each_row(
    ("path", "folder", "expected"),
    [
        ("/home/a/repo/src/f.py", None, ("/home/a/repo", "src/f.py")),
        ("f.py", "/home/a/repo/src", ("/home/a/repo", "src/f.py")),
        ("new.py", "/home/a/repo", ("/home/a/repo", "new.py")),
        ("src/f.py", None, ("/home/a/repo", "src/f.py")),
        ("/home/a/other/f.py", None, None),
        ("../outside.py", "/home/a/repo", None),
        ("~/x.py", "/home/a/repo", None),
        ("https://x.y/z.py", "/home/a/repo", None),
        ("..", None, None),
    ],
)
def test_a_path_of_a_session_is_one_of_the_repository(
    path: str, folder: str | None, expected: tuple[str, str] | None
) -> None:
    seen = ["/home/a/repo/src/f.py", "/home/a/repo/src/g.py", "/tmp/README.md"]
    checkouts = Checkouts(TRACKED, seen, ["/home/a/repo/src"])
    assert checkouts.roots == {"/home/a/repo"} and checkouts.locate(path, folder) == expected


def test_three_files_confirm_a_checkout_that_nobody_worked_in() -> None:
    seen = [f"/w2/{name}" for name in ("src/f.py", "src/g.py", "docs/a.md")]
    assert Checkouts(TRACKED, seen, ["/elsewhere"]).roots == {"/w2"}
    assert Checkouts(TRACKED, seen[:2], ["/elsewhere"]).roots == {"/elsewhere"}
    assert Checkouts(TRACKED, [], []).locate("src/f.py", None) == ("", "src/f.py")


@each_row("result", ["File: f\nLines: " + "9" * 5000, "f.py:" + "9" * 5000 + ":x", "File: f\nLines: 9-2"])
def test_numbers_that_no_file_has_are_no_lines(result: str) -> None:
    for tool in ("read_file_lines", "bulk_search_repository"):
        action = Action(id="a", type=f"tool_call.{tool}", result=result, created=MOMENT)
        assert all(seen.start is None for seen in seen_in_result(action))
