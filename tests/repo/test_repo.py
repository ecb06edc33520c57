"""The one place that runs git, against repositories in every state they are met in."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from evergold.errors import BadInput, NotFound, Unavailable
from evergold.repo import history
from evergold.repo.git import Repo
from tests.repos import GitRepo, numbered


@pytest.fixture
def made(tmp_path: Path) -> GitRepo:
    made = GitRepo(tmp_path / "made")
    made.commit({"f.txt": numbered(5), "dir/é \t.txt": "x\n"}, "First")
    made.commit({"f.txt": numbered(5, l2="two")}, "Second\n\nFixes #12")
    return made


def clone(made: GitRepo, *options: str) -> Path:
    path = made.path.parent / "clone"
    subprocess.run(["git", "clone", "-q", *options, f"file://{made.path}", str(path)], check=True, capture_output=True)
    return path


def test_objects_are_found_by_any_name(made: GitRepo) -> None:
    with Repo.open(made.path) as repo:
        head = repo.objects.require_commit("HEAD")
        assert repo.objects.commit("main") == head == repo.objects.commit(head[:8])
        found = repo.objects.read_at(head, "f.txt")
        assert found is not None and repo.objects.read(found.id) == numbered(5, l2="two").encode()
        assert repo.objects.read_at(head, "dir/é \t.txt") is not None
        assert repo.objects.read_at(head, "no such file") is None
        assert repo.objects.read_at(head, "no\nsuch") is None


def test_a_path_with_a_line_end_is_read(tmp_path: Path) -> None:
    GitRepo(tmp_path).commit({"new\nline": "x\n"})
    with Repo.open(tmp_path) as repo:
        assert repo.objects.read_at("HEAD", "new\nline") is not None


def test_trees_and_blobs_are_not_commits(made: GitRepo) -> None:
    with Repo.open(made.path) as repo:
        assert repo.objects.commit(made.git("rev-parse", "HEAD^{tree}").strip()) is None
        assert repo.objects.commit(made.git("rev-parse", "HEAD:f.txt").strip()) is None
        assert repo.objects.commit("--all") is None


def test_a_bare_repository_is_as_good(made: GitRepo) -> None:
    path = clone(made, "--bare")
    diff = made.diff("HEAD~1", "HEAD")
    with Repo.open(path) as repo:
        assert repo.objects.read_at("main", "f.txt") is not None
        assert history.applies(repo, "main~1", diff)
        assert not history.applies(repo, "main", diff)


def test_a_shallow_clone_says_how_to_deepen_it(made: GitRepo) -> None:
    first = made.git("rev-parse", "HEAD~1").strip()
    with Repo.open(clone(made, "--depth=1")) as repo:
        head = repo.objects.require_commit("HEAD")
        assert repo.shallow_commits == {head}
        assert history.parents(repo, head) == []
        with pytest.raises(NotFound, match=r"is not in .*shallow: git fetch --unshallow"):
            repo.objects.require_commit(first)


def test_what_is_no_repository_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFound, match="no folder"):
        Repo.open(tmp_path / "missing")
    with pytest.raises(NotFound, match="not a git repository"):
        Repo.open(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="git"):
        Repo.open(tmp_path)


def test_variables_of_an_outer_git_do_not_lead_elsewhere(
    made: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    with Repo.open(made.path) as repo:
        assert repo.objects.commit("main")


def test_history_has_messages_and_parents(made: GitRepo) -> None:
    with Repo.open(made.path) as repo:
        second, first = history.commits(repo)
        assert (first.message.strip(), first.parents) == ("First", ())
        assert (second.message.strip(), second.parents) == ("Second\n\nFixes #12", (first.id,))
        assert [commit.id for commit in history.commits(repo, since=first.id)] == [second.id]
        with pytest.raises(BadInput, match="names no commit"):
            list(history.commits(repo, "no-such-branch"))


def test_diffs_come_in_order_and_whole(made: GitRepo) -> None:
    made.commit(message="Empty")
    for number in range(30):
        made.commit({f"big{number}.txt": f"{number}\n" * 5000})
    with Repo.open(made.path) as repo:
        pairs = [(commit.id, commit.parents[0]) for commit in history.commits(repo) if commit.parents]
        found = list(history.diffs(repo, pairs))
    assert [commit for commit, _ in found] == [commit for commit, _ in pairs]
    for commit, diff in found:
        assert diff.strip() == made.diff("-U0", "--full-index", f"{commit}~1", commit).strip()


class Trickling(Repo):
    """Git's output in pieces of seven bytes: every boundary is met."""

    def stream(self, *args: str, stdin: int | None = subprocess.DEVNULL) -> Iterator[bytes]:
        for piece in super().stream(*args, stdin=stdin):
            yield from (piece[at : at + 7] for at in range(0, len(piece), 7))


def test_commits_without_a_change_and_lines_that_are_ids_part_nothing(made: GitRepo) -> None:
    first, second = made.git("rev-list", "--reverse", "HEAD").split()
    empty = made.commit(message="Nothing")
    also_empty = made.commit(message="Nothing again")
    last = made.commit({"f.txt": f"{second}\n{empty}\n"}, "Ids in a file")
    pairs = [(last, also_empty), (also_empty, empty), (empty, second), (second, first)]
    with Trickling.open(made.path) as trickling, Repo.open(made.path) as repo:
        found = list(history.diffs(trickling, pairs))
        assert found == list(history.diffs(repo, pairs))
        assert list(history.diffs(repo, [])) == []
    assert [commit for commit, _ in found] == [last, also_empty, empty, second]
    texts = [diff for _, diff in found]
    assert f"+{empty}\n".encode() in texts[0] and texts[1:3] == [b"", b""] and texts[3].endswith(b"+two\n")


def test_a_merge_is_compared_with_the_parent_named(made: GitRepo) -> None:
    made.branch("side")
    made.commit({"side.txt": "s\n"})
    made.switch("main")
    made.commit({"main.txt": "m\n"})
    merged = made.merge("side", "--no-ff")
    with Repo.open(made.path) as repo:
        first, _ = history.parents(repo, merged)
        ((_, diff),) = history.diffs(repo, [(merged, first)])
    assert b"side.txt" in diff and b"main.txt" not in diff


def test_tips_include_archive_tags_newest_first(made: GitRepo) -> None:
    for tag in ("archive/feat", "archive/feat-2", "archive/feat-10", "archive/feature"):
        made.commit(message=tag)
        made.git("tag", tag)
    with Repo.open(made.path) as repo:
        assert history.archive_tags(repo, "feat") == [f"refs/tags/archive/feat{end}" for end in ("-10", "-2", "")]
        assert len(history.branch_tips(repo, "feat")) == 3


def test_a_damaged_stream_is_an_error_and_leaves_no_process(made: GitRepo) -> None:
    with Repo.open(made.path) as repo, pytest.raises(BadInput, match="git log failed"):
        list(repo.stream("log", "--no-such-option"))


def test_a_partial_clone_says_what_completes_it(tmp_path: Path) -> None:
    made = GitRepo(tmp_path / "whole")
    made.commit({"f.py": "one\n"}, "Begin")
    commit = made.commit({"f.py": "two\n"}, "Go on")
    made.git("config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    made.git("clone", "-q", "--no-checkout", "--filter=blob:none", made.path.as_uri(), str(partial))
    with (
        Repo.open(partial) as repo,
        pytest.raises(BadInput, match="the clone is partial: git fetch --refetch"),
    ):
        list(repo.stream("show", commit))
