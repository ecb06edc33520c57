"""What is read of a history beside its diffs: changes by path, times, files of a commit, refs and work trees."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from evergold.repo import history
from evergold.repo.git import Repo
from evergold.repo.history import TreeFile, checkouts, common_folder, files_at, grep, list_reachable, timeline
from tests.repos import GitRepo
from tests.rows import each_row


class Made:
    """A history with a rename, a removal, a merge and a file whose name needs quoting."""

    def __init__(self, path: Path) -> None:
        self.repo = GitRepo(path)
        self.first = self.repo.commit({"a.txt": "one\n", "d/é\t.txt": "x\n"}, "First\n\nBody")
        self.second = self.repo.commit({"a.txt": "two\n", "b.txt": "Needle here\nneedle\nNEEDLE\n"}, "Second")
        self.repo.branch("side")
        self.side = self.repo.commit({"side.txt": "s\n"}, "Side")
        self.repo.switch("main")
        self.third = self.repo.commit({"a.txt": None, "c.txt": "two\n"}, "Third")
        self.merge = self.repo.merge("side", "--no-ff")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("made"))


def test_changes_of_a_path_come_newest_first_with_both_blobs(made: Made) -> None:
    with Repo.open(made.repo.path) as repo:
        index = repo.changes(made.merge)
        removed, changed, added = index.of_path("a.txt")
        assert (removed.commit, removed.parent, removed.new_blob) == (made.third, made.second, None)
        assert removed.old_blob == changed.new_blob != changed.old_blob == added.new_blob
        assert (added.commit, added.parent, added.old_blob) == (made.first, None, None)
        assert index.of_path("never.txt") == []


def test_a_rename_is_a_removal_and_an_addition_of_one_blob(made: Made) -> None:
    with Repo.open(made.repo.path) as repo:
        index = repo.changes(made.merge)
        assert index.of_path("c.txt")[0].new_blob == index.of_path("a.txt")[0].old_blob
        assert repo.changes(made.merge) is index


def test_a_merge_lists_what_it_brought_to_its_first_parent(made: Made) -> None:
    with Repo.open(made.repo.path) as repo:
        index = repo.changes(made.merge)
        assert {change.commit for change in index.of_path("side.txt")} == {made.merge, made.side}
        assert index.files_of[made.third] == 2 and index.files_of[made.first] == 2


def test_a_path_that_git_quotes_is_indexed_by_its_own_name(made: Made) -> None:
    with Repo.open(made.repo.path) as repo:
        assert repo.changes(made.merge).of_path("d/é\t.txt")[0].commit == made.first


def test_a_repository_without_changes_has_an_empty_index(tmp_path: Path) -> None:
    bare = GitRepo(tmp_path)
    empty = bare.commit(message="Nothing")
    with Repo.open(tmp_path) as repo:
        assert repo.changes(empty).files_of == {}


def test_the_timeline_has_every_branch_with_its_times(made: Made) -> None:
    with Repo.open(made.repo.path) as repo:
        moments = timeline(repo)
        assert {moment.id for moment in moments} == {made.first, made.second, made.side, made.third, made.merge}
        assert moments[0].id == made.merge and moments[0].parents == (made.third, made.side)
        first = moments[-1]
        assert (first.subject, first.message.strip()) == ("First", "First\n\nBody")
        assert first.authored == first.committed == datetime(2026, 1, 2, 3, 0, 1, tzinfo=UTC)


def test_what_tips_reach(made: Made) -> None:
    with Repo.open(made.repo.path) as repo:
        assert list_reachable(repo) == set()
        assert list_reachable(repo, made.side) == {made.first, made.second, made.side}
        assert list_reachable(repo, made.side, f"^{made.second}") == {made.side}


def test_files_of_a_commit_are_files_alone(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path)
    repo.write({"f.txt": "x\n", "run.sh": "y\n"})
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "link").symlink_to("f.txt")
    commit = repo.commit()
    with Repo.open(tmp_path) as opened:
        listed = files_at(opened, commit)
    assert [file.path for file in listed] == ["f.txt", "run.sh"]
    assert listed[0] == TreeFile("f.txt", repo.git("rev-parse", "HEAD:f.txt").strip())


@each_row(
    ("words", "limit", "expected"),
    [
        (["needle"], 10, [("b.txt", 1), ("b.txt", 2), ("b.txt", 3)]),
        (["needle"], 2, [("b.txt", 1), ("b.txt", 2)]),
        (["here", "x"], 10, [("b.txt", 1), ("d/é\t.txt", 1)]),
        (["."], 10, []),
        (["-e"], 10, []),
    ],
)
def test_words_are_searched_as_they_stand(
    made: Made, words: list[str], limit: int, expected: list[tuple[str, int]]
) -> None:
    with Repo.open(made.repo.path) as repo:
        assert grep(repo, made.second, words, limit) == expected


def test_ancestors_parents_and_merge_bases(made: Made) -> None:
    with Repo.open(made.repo.path) as repo:
        assert history.parents(repo, made.merge) == [made.third, made.side]
        assert history.parents(repo, made.first) == []
        assert history.merge_base(repo, made.side, made.third) == made.second
        assert history.contains(repo, made.merge, made.side) and not history.contains(repo, made.third, made.side)
        assert history.first_parents(repo, made.merge, 2) == [made.merge, made.third]


def test_histories_without_a_common_commit_have_no_merge_base(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path)
    one = repo.commit({"f": "x"})
    repo.git("checkout", "-q", "--orphan", "other")
    other = repo.commit({"g": "y"})
    with Repo.open(tmp_path) as opened:
        assert history.merge_base(opened, one, other) is None


def test_merges_of_a_branch_are_those_of_its_own_commits(made: Made) -> None:
    with Repo.open(made.repo.path) as repo:
        assert history.merges_of(repo, made.side, made.merge) == [(made.third, made.side)]
        assert history.merges_of(repo, made.third, made.merge) == []
        assert history.target_tip(repo, "main") == made.merge
        assert history.target_tip(repo, "no-such-branch") is None


def test_first_parents_alone_leave_the_side_branch_out(made: Made) -> None:
    with Repo.open(made.repo.path) as repo:
        listed = [commit.id for commit in history.commits(repo, first_parent=True)]
        assert listed == [made.merge, made.third, made.second, made.first]
        assert [commit.id for commit in history.commits(repo, made.side)] == [made.side, made.second, made.first]


def test_work_trees_are_checkouts_of_one_repository(made: Made, tmp_path: Path) -> None:
    other = tmp_path / "other"
    made.repo.git("worktree", "add", "-q", "--detach", str(other))
    with Repo.open(made.repo.path) as main, Repo.open(other) as second:
        assert checkouts(main) == [made.repo.path, other]
        assert common_folder(main) == common_folder(second) == (made.repo.path / ".git").resolve()


def test_a_bare_repository_has_no_checkout_of_its_own(tmp_path: Path) -> None:
    GitRepo(tmp_path, "--bare")
    with Repo.open(tmp_path) as repo:
        assert checkouts(repo) == []
        assert common_folder(repo) == tmp_path.resolve()
