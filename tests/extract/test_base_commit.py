"""Base commits, derived from what real repositories still know, and proved."""

from pathlib import Path

import pytest

from evergold.extract.approval import Approval
from evergold.extract.base_commit import Base, derive_base
from evergold.extract.diff import parse_diff
from evergold.extract.golden import Golden
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
) -> Base:
    text = diff.decode()
    approval = Approval("a", True, text, "", branch, target, named)
    with Repo.open(made.path) as repo:
        return derive_base(repo, approval, Golden(parse_diff(text), parse_diff(text), text))


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
    assert base.commit is None and "candidate commits" in base.reason


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
    assert base.commit is None and reason in base.reason


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
