"""Base commits, derived from what real repositories still know, and proved."""

from pathlib import Path

import pytest

from evergold.extract.golden import Approval, Golden, Segment, change_of, golden_of
from evergold.extract.proof import BaseProof, prove
from evergold.model.flow import CodeChange
from evergold.repo.git import Repo
from tests.repos import GitRepo, numbered


@pytest.fixture
def made(tmp_path: Path) -> GitRepo:
    """main with some history, and a branch `feat` with two commits of work."""
    made = GitRepo(tmp_path / "repo")
    made.commit({"f.py": numbered(30), "g.py": numbered(5)})
    made.commit({"g.py": numbered(6)})
    made.git("tag", "start")
    made.branch("feat")
    made.commit({"f.py": numbered(30, l10="ten")})
    made.commit({"f.py": numbered(30, l10="ten", l20="twenty"), "new.py": "x\n"})
    made.git("tag", "end")
    made.switch("main")
    return made


def derive(
    made: GitRepo, diff: bytes, branch: str | None = "feat", target: str | None = "main", named: tuple[str, ...] = ()
) -> BaseProof:
    change = CodeChange(diff=diff.decode(), source_branch=branch, target_branch=target, named_commits=named)
    with Repo.open(made.path) as repo:
        return prove(change, repo)


def commit(made: GitRepo, name: str) -> str:
    return made.git("rev-parse", name).strip()


def work(made: GitRepo) -> bytes:
    return made.diff("start", "end")


def test_a_branch_not_merged_yet(made: GitRepo) -> None:
    made.commit({"g.py": numbered(8)})
    assert derive(made, work(made)).commit == commit(made, "start")


def test_a_merge_commit_after_which_main_went_on(made: GitRepo) -> None:
    made.commit({"g.py": numbered(8)})
    made.merge("feat", "--no-ff")
    made.commit({"f.py": "all new\n"})
    assert derive(made, work(made)).commit == commit(made, "start")


def test_a_fast_forward_after_which_main_went_on(made: GitRepo) -> None:
    made.merge("feat", "--ff-only")
    made.commit({"f.py": "all new\n"})
    assert derive(made, work(made)).commit == commit(made, "start")


def test_a_squash_merge(made: GitRepo) -> None:
    made.git("merge", "-q", "--squash", "feat")
    made.commit(message="Squashed")
    assert derive(made, work(made)).commit == commit(made, "start")


def test_a_deleted_branch_leaves_its_archive_tag(made: GitRepo) -> None:
    made.merge("feat", "--no-ff")
    made.git("tag", "archive/feat", "start")
    made.git("tag", "archive/feat-2", "feat")
    made.git("branch", "-q", "-D", "feat")
    assert derive(made, work(made)).commit == commit(made, "start")


def test_a_branch_that_only_the_remote_has(made: GitRepo) -> None:
    made.git("update-ref", "refs/remotes/origin/feat", "feat")
    made.git("update-ref", "refs/remotes/origin/main", "main")
    made.git("checkout", "-q", "--detach")
    made.git("branch", "-q", "-D", "feat", "main")
    assert derive(made, work(made)).commit == commit(made, "start")


def test_a_branch_merged_worked_on_and_merged_again(made: GitRepo) -> None:
    made.merge("feat", "--no-ff")
    made.switch("feat")
    made.commit({"f.py": numbered(30, l10="ten", l20="twenty", l25="more")})
    made.switch("main")
    made.commit({"g.py": numbered(9)})
    made.merge("feat", "--no-ff")
    assert derive(made, work(made)).commit == commit(made, "start")
    assert derive(made, made.diff("end", "feat")).commit == commit(made, "end")


def test_a_commit_named_in_the_approval_gives_its_parent_and_a_tree_never(made: GitRepo) -> None:
    made.git("branch", "-q", "-D", "feat")
    final = commit(made, "end")
    tree = commit(made, "end^{tree}")
    assert derive(made, made.diff("end~1", "end"), named=(tree[:12], final[:12])).commit == commit(made, "end~1")
    assert derive(made, made.diff("end~1", "end"), named=(tree,)).commit is None


def test_a_diff_without_blob_ids_is_proved_by_applying_it(made: GitRepo) -> None:
    bare = b"".join(line for line in work(made).splitlines(keepends=True) if not line.startswith(b"index "))
    assert derive(made, bare).commit == commit(made, "start")


def test_no_candidate_that_fails_the_proof_is_taken(made: GitRepo) -> None:
    made.commit({"f.py": numbered(30, l1="other")})
    other = made.diff("HEAD", "end")
    base = derive(made, other)
    assert base.commit is None and "candidate commits" in base.problems[0]


@pytest.mark.parametrize(
    ("branch", "target", "reason"),
    [
        ("gone", "main", "branch 'gone' and its archive tag are gone"),
        (None, "main", "names no source branch"),
        ("feat", "nowhere", "target branch 'nowhere'"),
    ],
)
def test_what_is_missing_is_said(made: GitRepo, branch: str | None, target: str, reason: str) -> None:
    base = derive(made, work(made), branch, target)
    assert base.commit is None and reason in base.problems[0]


def test_an_empty_diff_proves_nothing(made: GitRepo) -> None:
    assert derive(made, b"").commit is None


def test_submodules_and_renames_are_part_of_the_proof(made: GitRepo) -> None:
    sub = commit(made, "start")
    made.git("update-index", "--add", "--cacheinfo", f"160000,{sub},lib")
    made.git("commit", "-q", "-m", "sub")
    made.git("tag", "with-sub")
    made.branch("move")
    made.git("mv", "g.py", "h.py")
    made.git("update-index", "--cacheinfo", f"160000,{commit(made, 'end')},lib")
    made.git("commit", "-q", "-m", "move")
    diff = made.diff("-M", "with-sub", "move")
    made.git("checkout", "-q", "-f", "main")
    assert derive(made, diff, "move").commit == commit(made, "with-sub")


def squash(made: GitRepo, branch: str, message: str = "Squashed") -> None:
    made.git("merge", "-q", "--squash", branch)
    made.commit(message=message)


def test_a_squash_merge_of_a_deleted_branch_is_recognised_by_content(made: GitRepo) -> None:
    squash(made, "feat")
    made.git("branch", "-q", "-D", "feat")
    made.commit({"f.py": "all new\n"})
    base = derive(made, work(made))
    assert base.commit == commit(made, "start")
    assert base.evidence and "makes exactly this change" in base.evidence[0]


def test_a_rebased_and_deleted_branch_is_recognised_by_content(made: GitRepo) -> None:
    made.commit({"g.py": numbered(9)})
    made.git("tag", "moved")
    made.git("rebase", "-q", "main", "feat")
    made.switch("main")
    made.merge("feat", "--ff-only")
    made.git("branch", "-q", "-D", "feat")
    assert derive(made, work(made)).commit == commit(made, "moved")


def test_a_change_split_over_commits_of_the_target_begins_before_the_first(made: GitRepo) -> None:
    made.git("branch", "-q", "-D", "feat")
    made.commit({"other.py": "x\n"})
    made.git("tag", "before")
    made.commit({"new.py": "x\n"})
    made.commit({"f.py": numbered(30, l10="ten", l20="twenty")})
    base = derive(made, work(made))
    assert base.commit == commit(made, "before")


def test_an_addition_of_other_content_is_no_evidence(made: GitRepo) -> None:
    made.git("branch", "-q", "-D", "feat")
    made.commit({"late.py": "something else\n"})
    made.branch("side")
    made.git("rm", "-q", "late.py")
    made.git("commit", "-q", "-m", "gone")
    made.git("tag", "gone")
    made.commit({"late.py": "mine\n"})
    diff = made.diff("gone", "side")
    made.git("checkout", "-q", "-f", "main")
    made.git("branch", "-q", "-D", "side")
    assert derive(made, diff, "side").commit is None


def test_a_diff_without_blob_ids_of_a_deleted_branch_is_proved_by_applying_it(made: GitRepo) -> None:
    squash(made, "feat")
    made.git("branch", "-q", "-D", "feat")
    bare = b"".join(line for line in work(made).splitlines(keepends=True) if not line.startswith(b"index "))
    assert derive(made, bare).commit == commit(made, "start")


def segments(made: GitRepo, *diffs: bytes) -> list[Segment]:
    approvals = [Approval(f"a{n}", True, diff.decode(), "", "feat", "main", ()) for n, diff in enumerate(diffs)]
    return [Segment(n, (), approval, earlier=tuple(approvals[:n])) for n, approval in enumerate(approvals)]


def later_case(made: GitRepo, *diffs: bytes) -> tuple[BaseProof, Golden]:
    segment = segments(made, *diffs)[-1]
    with Repo.open(made.path) as repo:
        change = change_of(segment)
        return prove(change, repo), golden_of(change)


@pytest.mark.parametrize("kept", [True, False], ids=["branch kept", "branch deleted"])
def test_the_second_case_of_a_squashed_flow_begins_after_the_first(made: GitRepo, kept: bool) -> None:
    """The file that the first case added is there, and the lines of the second are those of that file."""
    first = work(made)
    squash(made, "feat")
    made.git("tag", "first-merged")
    made.switch("feat")
    made.commit({"new.py": "x\ny\n", "f.py": numbered(30, l10="ten", l20="twenty", l25="more")})
    second = made.diff("start", "feat")
    made.switch("main")
    made.git("checkout", "-q", "feat", "--", ".")
    made.commit(message="Second squash")
    if not kept:
        made.git("branch", "-q", "-D", "feat")
    base, _ = later_case(made, first, second)
    assert base.commit == commit(made, "first-merged")
    assert base.files is not None
    spans = {file.path: [change.old_line for hunk in file.hunks for change in hunk.changes] for file in base.files}
    assert spans == {"f.py": [25], "new.py": [2]}


def test_a_later_case_is_open_where_no_commit_has_the_state_it_began_in(made: GitRepo) -> None:
    first = work(made)
    made.switch("feat")
    made.commit({"new.py": "x\ny\n"})
    second = made.diff("start", "feat")
    made.switch("main")
    base, _ = later_case(made, first, second)
    assert base.commit is None and "new.py was added by an earlier case" in base.problems[0]


def test_a_later_case_keeps_the_context_lines_of_hunks_that_are_all_its_own(made: GitRepo) -> None:
    first = made.diff("start", "end~1")
    whole = made.diff("start", "end")
    golden = golden_of(change_of(segments(made, first, whole)[-1]))
    hunks = [(hunk.old_start, hunk.old_count) for file in golden.files for hunk in file.hunks if file.path == "f.py"]
    assert hunks == [(17, 7)]
