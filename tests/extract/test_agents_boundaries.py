"""Where a session's work became a commit: seen, rewritten, named by a trailer, found in history, or not at all."""

import json
from pathlib import Path

import pytest

from evergold.extract.agents.extraction import AgentRules
from tests.agent_logs import ClaudeLog
from tests.extract.test_agents_claude import extracted, ranges
from tests.repos import GitRepo, numbered


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    made = GitRepo(tmp_path / "repo")
    made.commit({"f.py": numbered(40), "g.py": numbered(9)}, "Start of it all")
    return made


@pytest.fixture
def log(repo: GitRepo, tmp_path: Path) -> ClaudeLog:
    return ClaudeLog(repo, tmp_path / "logs" / "s-1.jsonl")


def work(log: ClaudeLog, line: int, name: str = "f.py") -> None:
    log.ask(f"Please write line {line} in words")
    log.read(name, line, 3)
    log.edit(name, f"line {line}\n", f"word for {line}\n")


def test_a_commit_nobody_told_of_is_found_in_the_history(repo: GitRepo, log: ClaudeLog) -> None:
    work(log, 3)
    found = log.commit("By hand, in another window", told=False)
    repo.commit({"other.py": "x\n", "more.py": "y\n"}, "Work of somebody else")
    log.ask("Thank you very much")
    cases, _ = extracted(log)
    assert [(case.id, case.metadata["boundary"]) for case in cases] == [(found, "history")]
    assert cases[0].metadata["editedInSession"] == ["f.py"]


def test_another_branch_is_not_the_sessions(repo: GitRepo, log: ClaudeLog) -> None:
    repo.branch("side")
    log.branch = "side"
    work(log, 3)
    own = log.commit("On the side", told=False)
    repo.switch("main")
    repo.commit({"f.py": numbered(40, l3="mine")}, "Somebody else on main")
    log.ask("Thank you very much")
    assert [case.id for case in extracted(log)[0]] == [own]


def test_an_amended_commit_is_found_by_its_author_time(repo: GitRepo, log: ClaudeLog) -> None:
    work(log, 3)
    first = log.commit("Line three")
    work(log, 9)
    repo.git("add", "-A")
    repo.minutes += 1
    repo.git("commit", "-q", "--amend", "-m", "Line three")
    amended = repo.git("rev-parse", "HEAD").strip()
    log.bash("git commit --amend --no-edit", f"[main {amended[:7]}] Line three\n Date: today")
    (case,), said = extracted(log)
    assert case.id == amended != first and not said
    assert ranges(case, golden=True) == [("f.py", 3, 3), ("f.py", 9, 9)]
    assert ranges(case) == [("f.py", 3, 5), ("f.py", 9, 11)]
    assert case.input == "Please write line 3 in words\n\nPlease write line 9 in words"


def test_a_lost_commit_is_counted(repo: GitRepo, log: ClaudeLog) -> None:
    work(log, 3)
    log.bash("git commit -m gone", "[main abcdef0] Nothing of the kind\n 1 file changed")
    cases, said = extracted(log)
    assert not cases and "not in the repository" in next(iter(said))
    other = ClaudeLog(repo, log.path.with_name("none.jsonl"), "none")
    other.ask("Only a question about it")
    assert "session that led to no commit" in extracted(log)[1]


@pytest.mark.parametrize("trailer", ["Entire-Checkpoint", "X-Session"])
def test_a_trailer_names_a_session_or_its_checkpoint(trailer: str, repo: GitRepo, log: ClaudeLog) -> None:
    work(log, 3)
    repo.commit(message=f"Three\n\n{trailer}: 12ab34cd56ef\nSigned-off-by: Ada <a@b.c>")
    stranger = ClaudeLog(repo, log.path.parent / "a" / "full.jsonl", "s-2")
    stranger.read("g.py", 2, 2)
    stranger.read("f.py", 7, 1)
    noted = {"checkpoint_id": "12ab34cd56ef", "created_at": "2026-01-02T03:30:00Z"}
    stranger.path.with_name("metadata.json").write_text(json.dumps(noted))
    (case,), _ = extracted(log, AgentRules(trailers=(trailer,)))
    assert case.metadata["sessions"] == ["s-1", "s-2"]
    assert ranges(case) == [("f.py", 3, 5), ("g.py", 2, 3), ("f.py", 7, 7)]


def test_a_commit_that_only_names_a_session_is_none_of_its_own(repo: GitRepo, log: ClaudeLog) -> None:
    work(log, 3, "g.py")
    repo.git("checkout", "-q", "g.py")
    repo.commit({"f.py": numbered(40, l1="one")}, "Unrelated\n\nClaude-Session: s-1")
    cases, said = extracted(log)
    assert not cases and "edited and looked at none of its files" in next(iter(said))


def test_merges(repo: GitRepo, log: ClaudeLog) -> None:
    repo.branch("side")
    log.branch = "side"
    work(log, 3)
    own = log.commit("Line three")
    repo.switch("main")
    repo.commit({"g.py": numbered(9, l1="theirs")}, "Work of somebody else")
    repo.switch("side")
    repo.merge("main", "--no-ff")
    log.bash("git merge main", "Merge made by the 'ort' strategy.")
    repo.switch("main")
    repo.merge("side", "--no-ff")
    log.bash("git checkout main && git merge side", "Merge made by the 'ort' strategy.")
    cases, said = extracted(log)
    assert [case.id for case in cases] == [own]
    assert dict(said) == {"a merge of work from elsewhere": 1, "a merge whose commits are cases themselves": 1}


def test_a_squashed_pull_request_is_a_case(repo: GitRepo, log: ClaudeLog) -> None:
    log.branch = "feature"
    work(log, 3)
    merged = repo.commit(message="Line three in words (#17)")
    log.bash("gh pr merge 17 --squash", "✓ Squashed and merged pull request #17")
    (case,), _ = extracted(log)
    assert (case.id, case.metadata["boundary"]) == (merged, "pull request")


def test_root_commits_and_shallow_clones(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "new")
    log = ClaudeLog(repo, tmp_path / "logs" / "s.jsonl")
    log.ask("Begin a project here")
    repo.write({"f.py": numbered(9)})
    log.commit("Start")
    assert "root commit: nothing to retrieve from" in extracted(log)[1]
    work(log, 2)
    log.commit("Line two")
    repo.git("clone", "-q", "--depth=1", f"file://{repo.path}", str(tmp_path / "shallow"))
    log.repo = GitRepo(tmp_path / "shallow")
    cases, said = extracted(log)
    assert not cases and "edge of a shallow clone: its parent is missing" in said
